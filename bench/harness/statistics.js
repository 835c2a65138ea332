/** Order statistics. None of these functions changes its argument. */

const sorted = (values) => Float64Array.from(values).sort();

/** The nearest-rank percentile. pre: at least one value; 0 <= share <= 1 */
export function percentile(values, share) {
  const order = sorted(values);
  return order[Math.min(order.length - 1, Math.floor(share * order.length))];
}

/** The figures among the parts of samples: a part may be absent, or a text that says why it failed. */
export const figures = (values) => values.filter((value) => typeof value === 'number');

export function median(values) {
  const order = sorted(values);
  const middle = order.length >> 1;
  return order.length % 2 === 1 ? order[middle] : (order[middle - 1] + order[middle]) / 2;
}

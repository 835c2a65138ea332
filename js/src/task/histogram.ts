/** Histograms of times: four buckets for each doubling, from one microsecond to more than an hour. */

/** The bucket of a histogram for a time in microseconds: four for each doubling. */
export function bucketOf(microseconds: number): number {
  if (microseconds < 4) return microseconds < 0 ? 0 : microseconds | 0;
  const bounded = microseconds < 0xffffffff ? microseconds >>> 0 : 0xffffffff;
  const exponent = 31 - Math.clz32(bounded);
  return (exponent - 1) * 4 + ((bounded >>> (exponent - 2)) & 3);
}

/** The time, in microseconds, in the middle of a bucket. */
export function timeOfBucket(bucket: number): number {
  if (bucket < 4) return bucket + 0.5;
  const width = 2 ** (Math.floor(bucket / 4) - 1);
  return width * (4 + (bucket & 3)) + width / 2;
}

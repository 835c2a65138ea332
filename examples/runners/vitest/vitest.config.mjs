/** Vitest as it is. */
export default { test: { globals: false } };

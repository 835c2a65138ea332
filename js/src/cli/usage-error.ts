/** The arguments are wrong; the message names the wrong one. */
export class UsageError extends Error {}

/**
 * Of what type the module is: that of node:fs where the types of Node are known, and of our own declarations elsewhere.
 * A program for node:fs compiles as it is then, and one for browsers needs no types of Node.
 */

// biome-ignore lint/suspicious/noTsIgnore: whether there is such a module, the user's compiler knows
/** @ts-ignore where it is not, this is `any` */
type NodeFs = typeof import('node:fs');

/** Node's type for what it has, and ours for the rest. */
type Over<Own, Theirs> = { [Key in keyof Own]: Key extends keyof Theirs ? Theirs[Key] : Own[Key] };

/** The type that users see of what has the type `Own`. */
export type ApiType<Own extends { promises: object }> =
  // Of `any` this is true. The brackets keep the compiler from giving up where the module is missing.
  [NodeFs] extends [string]
    ? Own
    : Over<Omit<Own, 'promises'>, NodeFs> & { readonly promises: Over<Own['promises'], NodeFs['promises']> };

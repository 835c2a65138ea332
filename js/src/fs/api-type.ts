/**
 * The type of the API. Where the types of Node are known, it is that of node:fs; elsewhere it is our own declarations.
 * So a program for node:fs compiles unchanged, and one for browsers needs no types of Node.
 */

// biome-ignore lint/suspicious/noTsIgnore: only the user's compiler knows whether there is such a module
/** @ts-ignore where it is not, this is `any` */
type NodeFs = typeof import('node:fs');

/** Node's type of each member that Node has, and ours of the others. */
type Over<Own, Theirs> = { [Key in keyof Own]: Key extends keyof Theirs ? Theirs[Key] : Own[Key] };

/** The type that users see of an object of type `Own`. */
export type ApiType<Own extends { promises: object }> =
  // True if NodeFs is `any`. Without the brackets the compiler reports an error where the module is missing.
  [NodeFs] extends [string]
    ? Own
    : Over<Omit<Own, 'promises'>, NodeFs> & { readonly promises: Over<Own['promises'], NodeFs['promises']> };

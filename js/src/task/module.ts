/**
 * Loading the user's module in a worker, and finding a function in it. Errors say what was looked for and what there is.
 */

import { PlaitError } from '../core/errors.ts';

type TaskFunction = (input: unknown) => unknown;

/** Imports a module by its URL. */
export async function loadModule(url: string): Promise<Record<string, unknown>> {
  return (await import(/* @vite-ignore */ /* webpackIgnore: true */ url)) as Record<string, unknown>;
}

/**
 * The function that a module exports as `name`. A CommonJS module's exports are found too, below its default export.
 *
 * @throws {PlaitError} ERR_PLAIT_NO_SUCH_EXPORT
 */
export function findExport(namespace: Record<string, unknown>, name: string, module: string): TaskFunction {
  const inner = namespace.default;
  let found: unknown = Object.hasOwn(namespace, name) ? namespace[name] : undefined;
  if (typeof found !== 'function' && isObject(inner) && Object.hasOwn(inner, name)) found = inner[name];
  if (typeof found === 'function') return found as TaskFunction;
  throw new PlaitError('ERR_PLAIT_NO_SUCH_EXPORT', describe(namespace, name, module, found));
}

function describe(namespace: Record<string, unknown>, name: string, module: string, found: unknown): string {
  const names = new Set(Object.keys(namespace));
  if (isObject(namespace.default)) for (const key of Object.keys(namespace.default)) names.add(key);
  const functions = [...names].filter(
    (key) => typeof (namespace[key] ?? (namespace.default as Record<string, unknown>)?.[key]) === 'function',
  );
  const offer = functions.length > 0 ? `it exports the functions ${functions.join(', ')}` : 'it exports no function';
  const what = found === undefined ? `no export "${name}"` : `an export "${name}" that is not a function`;
  return `${module} has ${what}; ${offer}`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

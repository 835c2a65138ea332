/**
 * Loading the user's module in a worker, and finding its functions. Errors say what was looked for, what exists, and
 * what to do if a bundler or a missing loader is the likely reason.
 */

import { codeFor, PlaitError } from '../../core/errors.ts';
import { host } from '../../core/host.ts';
import { exposedFunctions } from '../expose.ts';
import { type NameForm, partsOf } from '../function-name.ts';

type TaskFunction = (input: unknown) => unknown;

const BUNDLERS = 'see "Bundlers" in the documentation of Plait';

type Namespace = Record<string, unknown>;

/** Imports a module by its URL. */
export async function loadModule(url: string): Promise<Namespace> {
  return (await host.importModule(url)) as Namespace;
}

/** The modules that a worker has loaded: the pool's, and those that tasks named. */
export class Modules {
  readonly #own: string;
  readonly #loaded = new Map<string, Namespace>();

  /** `own`: the URL of the pool's module. */
  constructor(own: string, namespace: Namespace) {
    this.#own = own;
    this.#loaded.set(own, namespace);
  }

  /**
   * The function of that name; undefined if its module is not loaded yet.
   *
   * @throws {PlaitError} ERR_PLAIT_NO_SUCH_EXPORT
   */
  find(name: string, form: NameForm): TaskFunction | undefined {
    const [url, own] = form === 'module' ? partsOf(name) : [this.#own, name];
    const namespace = this.#loaded.get(url);
    return namespace && findExport(namespace, own, url);
  }

  /**
   * As find(), but loads the module first.
   *
   * @throws {PlaitError} also ERR_PLAIT_MODULE_LOAD
   */
  async load(name: string, form: NameForm): Promise<TaskFunction> {
    const [url] = form === 'module' ? partsOf(name) : [this.#own];
    if (!this.#loaded.has(url)) {
      try {
        this.#loaded.set(url, await loadModule(url));
      } catch (cause) {
        throw loadError(url, cause);
      }
    }
    return this.find(name, form) as TaskFunction;
  }
}

/** The error for a module that could not be loaded. */
export function loadError(url: string, cause: unknown): PlaitError {
  const reason = String((cause as Error)?.message ?? cause).replaceAll(url, shorten(url));
  const message = `cannot load ${shorten(url)}: ${reason}${adviceOn(url, cause)}`;
  return new PlaitError(codeFor(cause, 'ERR_PLAIT_MODULE_LOAD'), message, { cause });
}

/** A data: URL contains the whole module. */
function shorten(url: string): string {
  return url.length > 200 && /^data:/i.test(url) ? `${url.slice(0, 60)}…` : url;
}

function adviceOn(url: string, cause: unknown): string {
  const { code, url: missing, message } = Object(cause) as { code?: unknown; url?: unknown; message?: unknown };
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION' && /\.[cm]?tsx?$/.test(url)) {
    return '. Node loads TypeScript by itself from 22.18 on; before, run the program with tsx';
  }
  if (/^(data|blob):/i.test(url)) {
    return `. A bundler has put the module into a URL, without what it imports; ${BUNDLERS}`;
  }
  if (code === 'ERR_MODULE_NOT_FOUND' || /dynamically imported module/i.test(String(message))) {
    const what = code === undefined || missing === url ? 'the module' : 'what the module imports';
    return `. If a bundler made this program, it has left ${what} behind; ${BUNDLERS}`;
  }
  return '';
}

/**
 * The function that a module exports or exposes as `name`. Exports of a CommonJS module are found too, below its
 * default export.
 *
 * @throws {PlaitError} ERR_PLAIT_NO_SUCH_EXPORT
 */
function findExport(namespace: Record<string, unknown>, name: string, module: string): TaskFunction {
  const inner = namespace.default;
  let found: unknown = Object.hasOwn(namespace, name) ? namespace[name] : undefined;
  if (typeof found !== 'function' && isObject(inner) && Object.hasOwn(inner, name)) found = inner[name];
  if (typeof found !== 'function') found = exposedFunctions().get(name) ?? found;
  if (typeof found === 'function') return found as TaskFunction;
  throw new PlaitError('ERR_PLAIT_NO_SUCH_EXPORT', describe(namespace, name, shorten(module), found));
}

function describe(namespace: Record<string, unknown>, name: string, module: string, found: unknown): string {
  const names = new Set(Object.keys(namespace));
  if (isObject(namespace.default)) for (const key of Object.keys(namespace.default)) names.add(key);
  const functions = [...names].filter(
    (key) => typeof (namespace[key] ?? (namespace.default as Record<string, unknown>)?.[key]) === 'function',
  );
  functions.push(...exposedFunctions().keys());
  const what = found === undefined ? `no export "${name}"` : `an export "${name}" that is not a function`;
  // A bundled worker exports nothing, or a function of the bundler.
  const bundled = functions.length === 0 || functions.every((key) => key.startsWith('__'));
  const offer = bundled
    ? `it exports no function. If a bundler has dropped its exports, call expose({ ${name === 'default' ? 'default: …' : name} }) of 'plait/task' in it; ${BUNDLERS}`
    : `it exports the functions ${[...new Set(functions)].join(', ')}`;
  return `${module} has ${what}; ${offer}`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/**
 * Resolves MODULE[#EXPORT] to a file and an export.
 *
 * Invariant: the resulting file exists. Only a worker checks that it is a module with this export, because loading it
 * here would run user code on this thread.
 */

import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { UsageError } from './usage-error.ts';

export interface ModuleName {
  readonly url: URL;
  readonly export: string;
}

/** Finds the module; throws a UsageError if there is no such file. */
export function locateModule(text: string): ModuleName {
  if (/^file:/i.test(text)) return fromUrl(text);
  if (isFile(text)) return { url: pathToFileURL(resolve(text)), export: 'default' };
  const at = text.lastIndexOf('#');
  const path = at < 0 ? text : text.slice(0, at);
  if (!isFile(path)) throw notFound(path);
  return { url: pathToFileURL(resolve(path)), export: at < 0 ? 'default' : exportName(text, text.slice(at + 1)) };
}

function fromUrl(text: string): ModuleName {
  let url: URL;
  let name: string;
  let path: string;
  try {
    url = new URL(text);
    name = decodeURIComponent(url.hash.slice(1));
    path = fileURLToPath(url);
  } catch (error) {
    throw new UsageError(`'${text}' is not the URL of a file: ${(error as Error).message}; see plait --help`);
  }
  if (!isFile(path)) throw notFound(path);
  const named = text.includes('#');
  url.hash = '';
  return { url, export: named ? exportName(text, name) : 'default' };
}

function exportName(text: string, name: string): string {
  if (name === '') throw new UsageError(`'${text}' names no export after the #; see plait --help`);
  return name;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

function notFound(path: string): UsageError {
  const what = statSync(path, { throwIfNoEntry: false })?.isDirectory() ? 'a folder, not a module' : 'no such module';
  return new UsageError(`${what}: ${resolve(path)}`);
}

/**
 * The script of Plait's threads as a file of its own, in the form that Vite and webpack look for in their input.
 *
 * Its own file, because the script itself must be without it (tools/thread.js): it would contain itself.
 */

/** Starts the thread script from beside this module, or from wherever a bundler has put it. */
export function startFromFile(): Worker {
  return new Worker(new URL('./plait-thread.js', import.meta.url), { type: 'module' });
}

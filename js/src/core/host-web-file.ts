/**
 * The script of Plait's threads as a separate file, in the form that Vite and webpack search for in their input.
 *
 * It is separate because the script itself must not include it (tools/thread.js): it would contain itself.
 */

/** Starts the thread script from beside this module, or from where a bundler has put it. */
export function startFromFile(): Worker {
  return new Worker(new URL('./plait-thread.js', import.meta.url), { type: 'module' });
}

/**
 * The peers. An adapter exports one function:
 *
 *     create({ threads, file, workerData }) -> { run(name, payload, transfer?), close(), map?(name, inputs) }
 *
 * `file` is the URL of work.js. Every peer runs with its own defaults and a fixed number of workers.
 */

export const PEERS = ['plait', 'bare', 'piscina', 'tinypool', 'workerpool', 'poolifier'];

/** One entrant a peer, under its own name. */
export const entrants = PEERS.map((peer) => ({ name: peer, peer }));

export const WORK = new URL('./work.js', import.meta.url);

/** Loads a peer's library. */
export function loadPeer(peer) {
  return import(`./${peer}.js`);
}

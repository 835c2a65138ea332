/** The functions that the workers of smoke.js run. */
import { readFileSync, writeFileSync } from 'plait/fs';
import { task } from 'plait/task';

export default (x) => x * x;

export const echo = (value) => value;

export function fails(message) {
  throw new RangeError(message, { cause: new TypeError('the reason') });
}

export async function reports(n) {
  for (let i = 0; i < n; i++) task.progress(i);
  return 'end';
}

export function writes(n) {
  for (let i = 0; i < n; i++) console.log(`line ${i}`);
  process.stdout.write('and a piece\n');
  console.error('to stderr');
  return n;
}

export function copies({ from, to }) {
  writeFileSync(to, `${readFileSync(from, 'utf8')} and back`);
}

export const waits = () =>
  new Promise((_resolve, reject) => {
    task.signal.addEventListener('abort', () => reject(task.signal.reason));
  });

export function spins() {
  for (;;);
}

export const exits = (code) => process.exit(code);

export const nested = async (inputs) => task.pool.runMany(inputs);

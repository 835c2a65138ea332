/**
 * Asks one question of all its entrants: in each round every entrant once, each time in a fresh process.
 *
 * A question's default export has
 *
 *     title
 *     entrants                    [{ name, ... }]; looked at after prepare()
 *     needs?                      names of entrants without which there is no answer; Plait's are always needed
 *     columns                     [{ key, label, digits, ratio? }]: the parts of a sample; `ratio`: compare with plait
 *     prepare(options)            -> context, as JSON can carry it
 *     measure(entrant, context)   -> sample; it throws if the entrant answers wrongly. A part of a sample is a
 *                                 number, absent (the entrant does not do that), or a text: why it failed. A peer
 *                                 that throws fails in all parts.
 *     env?                        added to the environment of the measuring processes
 *     conclude?(rows, context)    -> { rows, notes, ... }; what else it gives replaces what is stored otherwise
 *     cleanup?(context)
 */

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { mayFail, reasonOf } from './failure.js';

const CHILD = fileURLToPath(new URL('./child.js', import.meta.url));
/** Long enough for the slowest entrant on a busy machine. */
const TIME_LIMIT_MS = 180_000;

const execute = promisify(execFile);

/** @returns what belongs into the results, for one question */
export async function compare(url, { rounds, threads }) {
  const { default: question } = await import(url);
  const context = await question.prepare({ threads });
  const rows = question.entrants.map(({ name }) => ({ name, samples: [] }));
  try {
    for (let round = 0; round < rounds; round++) {
      if (process.stderr.isTTY) process.stderr.write(`  round ${round + 1} of ${rounds}\r`);
      for (let i = 0; i < rows.length; i++) {
        // Each round begins with another entrant: none is always the one that follows the heaviest.
        const at = (i + round) % rows.length;
        rows[at].samples.push(await sample(url, question, question.entrants[at], context));
      }
    }
  } finally {
    await question.cleanup?.(context);
  }
  const concluded = question.conclude?.(rows, context) ?? { rows, notes: [] };
  return { title: question.title, threads, rounds, columns: question.columns, ...concluded };
}

async function sample(url, { env, needs, columns }, entrant, context) {
  const parameters = [CHILD, url, JSON.stringify(entrant), JSON.stringify(context)];
  const options = { timeout: TIME_LIMIT_MS, env: { ...process.env, ...env } };
  let answer;
  try {
    const { stdout } = await execute(process.execPath, parameters, options);
    answer = JSON.parse(stdout.trimEnd().split('\n').at(-1));
  } catch (error) {
    const end = error.killed ? `no end within ${TIME_LIMIT_MS / 1000} s` : error.signal && `ended by ${error.signal}`;
    answer = { failed: end ?? reasonOf(error) };
  }
  if (answer.failed === undefined) return answer;
  if (!mayFail(entrant, needs)) throw new Error(`${entrant.name} failed: ${answer.failed}`);
  console.error(`  ${entrant.name} failed: ${answer.failed}`);
  return Object.fromEntries(columns.map(({ key }) => [key, answer.failed]));
}

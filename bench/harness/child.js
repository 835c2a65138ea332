/**
 * One measurement in a process of its own: no entrant leaves its heap, its compiled code or its threads to the next.
 *
 * argv: the question's URL and, as JSON, the entrant and what prepare() gave. The last line of the output is the
 * sample, or `{ failed }`, which says why there is none.
 */

import { reasonOf } from './failure.js';

const [url, entrant, context] = process.argv.slice(2);
const { default: question } = await import(url);
let sample;
try {
  sample = await question.measure(JSON.parse(entrant), JSON.parse(context));
} catch (error) {
  sample = { failed: reasonOf(error) };
}
process.stdout.write(`\n${JSON.stringify(sample)}\n`, () => process.exit(0));

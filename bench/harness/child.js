/**
 * One measurement in a process of its own: no entrant leaves its heap, its compiled code or its threads to the next.
 *
 * argv: the question's URL and, as JSON, the entrant and what prepare() gave. The last line of the output is the sample.
 */

const [url, entrant, context] = process.argv.slice(2);
const { default: question } = await import(url);
const sample = await question.measure(JSON.parse(entrant), JSON.parse(context));
process.stdout.write(`\n${JSON.stringify(sample)}\n`, () => process.exit(0));

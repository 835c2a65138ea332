/**
 * The report that Node prints for an uncaught error of a task: its first source line is not one of Plait.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../../js/test/fixtures/uncaught.js', import.meta.url));

function report(...args: string[]): string[] {
  const { status, stderr } = spawnSync(process.execPath, [PROGRAM, ...args], { encoding: 'utf8', timeout: 30000 });
  assert.equal(status, 1);
  return stderr.split('\n').filter((line) => line !== '');
}

/** The place and the line of the source that come first; then the error, and the first line of its stack. */
function parts(lines: string[]): { place: string; source: string; error: string; stack: string } {
  const [place = '', source = '', ...rest] = lines;
  const [error = '', stack = ''] = rest.filter((line) => !/^ *\^+$/.test(line));
  return { place, source, error, stack };
}

const OWN = /dist[/\\]|plait-thread|new PlaitError|globalThis\[name\]/;

for (const [kind, expected] of [
  ['type', /^TypeError: as asked$/],
  ['own', /^OutOfPaper: as asked$/],
  ['several', /^AggregateError: as asked$/],
  ['dom', /^DOMException \[AbortError\]: as asked$/],
] as const) {
  test(`an error of a task that the program awaits, forgets, throws again (${kind})`, { timeout: 60000 }, () => {
    for (const program of ['awaited', 'forgotten', 'sync', 'thrown again']) {
      const { place, source, error, stack } = parts(report(program, kind));
      assert.doesNotMatch(`${place}\n${source}`, OWN, program);
      assert.match(error, expected, program);
      assert.match(stack, /^ +at /, program);
    }
  });
}

test('errors of listeners show where they were thrown', { timeout: 60000 }, () => {
  const { place, source, error } = parts(report('listener', 'type'));
  assert.match(place, /uncaught\.js:\d+$/);
  assert.match(source, /new TypeError\('as asked'\)|here/);
  assert.equal(error, 'TypeError: as asked');
});

for (const [program, message] of [
  ['exit', 'ended with code 2'],
  ['not loaded', 'cannot load'],
] as const) {
  test(`errors of Plait itself show no line of its source (${program})`, { timeout: 60000 }, () => {
    const { place, source, error } = parts(report(program));
    assert.doesNotMatch(`${place}\n${source}`, OWN);
    assert.match(error, /^PlaitError: /);
    assert.ok(error.includes(message), error);
  });
}

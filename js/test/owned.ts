/** Ends a test's resources with the test, also if an assertion has failed. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** What {@link owned} knows how to end: pools, connections, workers, processes, watchers, servers. */
interface Thing {
  terminate?(): unknown;
  kill?(signal: 'SIGKILL'): unknown;
  close?(options: { force: true }): unknown;
  [Symbol.dispose]?(): void;
}

/** Ends `thing` when the test has ended. What has ended before is left alone. */
export function owned<T>(context: Pick<TestContext, 'after'>, thing: T): T {
  const { terminate, kill, close, [Symbol.dispose]: dispose } = thing as Thing;
  context.after(async () => {
    try {
      if (terminate !== undefined) await terminate.call(thing);
      else if (kill !== undefined) kill.call(thing, 'SIGKILL');
      else if (close !== undefined) await close.call(thing, { force: true });
      else dispose?.call(thing);
    } catch {
      // The test has said what there is to say of it.
    }
  });
  return thing;
}

/** A folder of the test's own. */
export function ownFolder(context: Pick<TestContext, 'after'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'plait-test-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The shared cases in headless Chromium, in a page with isolation headers and in one without. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { seed } from '../seed.ts';
import { ISOLATION, launchChromium } from './chromium.ts';
import type { Driven } from './page.ts';

const root = new URL('../../../', import.meta.url);
const TYPES: Record<string, string> = { '.js': 'text/javascript', '.html': 'text/html' };
const HTML = `<!doctype html><title>Plait</title>
<script type="importmap">{ "imports": { "plait": "/dist/index.js", "plait/fs": "/dist/fs/index.js" } }</script>`;

/** A program that imports Plait statically, and says what its first use throws. */
const PROGRAM = `<script type="module">
import { heap, isSupported, Pool, PlaitError } from 'plait';
import fs from 'plait/fs';
const reported = [isSupported()];
for (const use of [() => new Pool('/work.js'), () => heap.alloc(8), () => fs.writeFileSync('/a', ''), () => fs.promises.stat('/')]) {
  try { await use(); reported.push('nothing'); } catch (error) { reported.push(error instanceof PlaitError && error.code + ': ' + error.message); }
}
globalThis.reported = reported;
</script>`;

/** Pages in which Plait cannot run. */
const NO_WASM = "script-src 'self' 'unsafe-inline'";
const PAGES: Record<string, { headers: Record<string, string>; html: string }> = {
  '/bare.html': { headers: {}, html: HTML + PROGRAM },
  '/policy.html': { headers: { ...ISOLATION, 'Content-Security-Policy': NO_WASM }, html: HTML + PROGRAM },
  '/shareless.html': {
    headers: ISOLATION,
    html: `${HTML}<script>delete globalThis.SharedArrayBuffer;</script>${PROGRAM}`,
  },
};

const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost');
  const special = PAGES[pathname];
  const headers = { 'Content-Type': TYPES[extname(pathname)] ?? 'text/plain', ...(special?.headers ?? ISOLATION) };
  try {
    const body = pathname.endsWith('.html') ? (special?.html ?? HTML) : await readFile(new URL(`.${pathname}`, root));
    response.writeHead(200, headers).end(body);
  } catch {
    response.writeHead(404, headers).end();
  }
});

let browser: Browser;
let page: Page;
let origin: string;

/** What the page offers; the functions that use it run there. */
type PageGlobal = typeof globalThis & { driven: Driven };

before(async () => {
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  browser = await launchChromium();
  page = await browser.newPage();
  page.on('pageerror', (error) => console.error('in the page:', error));
  page.on('console', (message) => message.type() === 'error' && console.error('in the page:', message.text()));
  await page.goto(`${origin}/page.html?seed=${seed}`);
  const entry = fileURLToPath(new URL('./page.js', import.meta.url)).slice(fileURLToPath(root).length - 1);
  await page.addScriptTag({ type: 'module', content: `import '${entry}';` });
  await page.waitForFunction(() => 'driven' in globalThis);
});

after(async () => {
  await browser?.close();
  server.close();
});

test(`the shared cases, in a page with isolation headers (seed ${seed})`, { timeout: 240000 }, async (t) => {
  const names = await page.evaluate(() => (globalThis as PageGlobal).driven.names);
  assert.ok(names.length > 20, 'the page offers its cases');
  for (const [index, name] of names.entries()) {
    await t.test(name, { timeout: 60000 }, async () => {
      const failure = await page.evaluate((number) => (globalThis as PageGlobal).driven.run(number), index);
      assert.equal(failure, undefined);
    });
  }
});

/** The reports of the program in a page. */
async function reportedIn(name: string): Promise<unknown[]> {
  const bare = await browser.newPage();
  try {
    await bare.goto(`${origin}${name}`);
    const reported = await bare.waitForFunction(() => Reflect.get(globalThis, 'reported'), undefined, {
      timeout: 10000,
    });
    return (await reported.jsonValue()) as unknown[];
  } finally {
    await bare.close();
  }
}

const REASONS: Record<string, RegExp> = {
  '/bare.html': /^ERR_PLAIT_NOT_ISOLATED: .*Cross-Origin-Opener-Policy.*Cross-Origin-Embedder-Policy/,
  '/policy.html': /^ERR_PLAIT_UNSUPPORTED: .*Content-Security-Policy.*'wasm-unsafe-eval'/,
  '/shareless.html': /^ERR_PLAIT_UNSUPPORTED: this page is cross-origin isolated.*no SharedArrayBuffer/,
};

test('a page in which Plait cannot run can import it, and the first use reports what is missing', async () => {
  for (const [name, reason] of Object.entries(REASONS)) {
    const [supported, ...reported] = await reportedIn(name);
    assert.equal(supported, false, name);
    assert.equal(reported.length, 4);
    for (const said of reported) assert.match(String(said), reason, name);
  }
});

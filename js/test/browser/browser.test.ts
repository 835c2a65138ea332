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
const TYPES: Record<string, string> = { '.js': 'text/javascript', '.html': 'text/html', '.map': 'application/json' };
const HTML = `<!doctype html><title>Plait</title>
<script type="importmap">{ "imports": { "plait": "/dist/index.js", "plait/fs": "/dist/fs/index.js" } }</script>`;

const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost');
  const isolated = pathname !== '/bare.html';
  const headers = { 'Content-Type': TYPES[extname(pathname)] ?? 'text/plain', ...(isolated && ISOLATION) };
  try {
    const body = pathname.endsWith('.html') ? HTML : await readFile(new URL(`.${pathname}`, root));
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

test('a page without isolation headers is told what is missing', async () => {
  const bare = await browser.newPage();
  await bare.goto(`${origin}/bare.html`);
  const message = await bare.evaluate<string>(
    "import('/dist/index.js').then(() => 'it loaded', (error) => error.code + ': ' + error.message)",
  );
  assert.match(message, /^ERR_PLAIT_NOT_ISOLATED: .*Cross-Origin-Opener-Policy.*Cross-Origin-Embedder-Policy/);
  await bare.close();
});

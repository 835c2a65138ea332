/**
 * The programs of examples/bundlers, built by each bundler with only its folder's configuration, and run in Node and in
 * Chromium. All print the same words and counts, which are compared with an independent count here.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { ISOLATION, launchChromium } from '../browser/chromium.ts';
import { installPacked } from '../packed.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const examples = join(root, 'examples', 'bundlers');
const run = promisify(execFile);
/** Node loads TypeScript by itself. */
const STRIPS_TYPES = Boolean(Reflect.get(process.features, 'typescript'));

/** Runs a program of the examples with Node. */
async function node(...args: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, args, { cwd: examples, timeout: 60000 });
  return stdout;
}

/** The command of an installed tool, by its script. */
const tool = (path: string): string => join(examples, 'node_modules', path);

let expected: string;
let browser: Browser;

before(async () => {
  await installPacked(examples);
  const { makeTexts } = (await import(pathToFileURL(join(examples, 'texts.js')).href)) as {
    makeTexts(count: number, length: number): string[];
  };
  const words = makeTexts(50, 2000).join(' ').split(' ').sort();
  const runs = words.join('\n').match(/^(.+)(\n\1$)*/gm) as string[];
  const top = runs.map((same) => [same.split('\n')[0], same.split('\n').length] as [string, number]);
  top.sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  expected = JSON.stringify({ words: words.length, top: top.slice(0, 5) });
  assert.ok(words.length === 100_000 && top.length > 10, 'there is something to count');
  browser = await launchChromium();
});

after(() => browser?.close());

function serve(folder: string, headers: Record<string, string>): Promise<Server> {
  const types: Record<string, string> = { '.js': 'text/javascript', '.mjs': 'text/javascript', '.html': 'text/html' };
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const path = [join(folder, pathname), join(folder, '..', '..', pathname)].find((name) => existsSync(name));
    if (path === undefined) return response.writeHead(404, headers).end();
    const body = await readFile(path);
    return response.writeHead(200, { ...headers, 'Content-Type': types[extname(path)] ?? 'text/plain' }).end(body);
  });
  server.listen(0, '127.0.0.1');
  return new Promise((resolve) => server.once('listening', () => resolve(server)));
}

/** What the page shows in the end, and what it loaded. */
async function show(address: string): Promise<{ text: string; loaded: string[] }> {
  const page = await browser.newPage();
  const errors: unknown[] = [];
  page.on('pageerror', (error) => errors.push(error));
  const loaded: string[] = [];
  page.on('request', (request) => loaded.push(request.url()));
  try {
    await page.goto(address);
    // Not by a script in the page: its policy may forbid that.
    const text = await page.locator('pre:not(:empty)').textContent({ timeout: 10000 });
    return { text: String(text), loaded };
  } catch (error) {
    throw new Error(`the page shows nothing; it says: ${errors.join('; ') || 'nothing'}`, { cause: error });
  } finally {
    await page.close();
  }
}

/** The page of a folder that a bundler has written. */
async function showFolder(folder: string, headers: Record<string, string> = ISOLATION) {
  const server = await serve(join(examples, folder), headers);
  try {
    return await show(`http://127.0.0.1:${(server.address() as AddressInfo).port}/index.html`);
  } finally {
    server.close();
  }
}

/** Whether a page started Plait's threads from a file, or had to make one up. */
const fromFile = (loaded: string[]): boolean => !loaded.some((url) => url.startsWith('blob:'));

async function step(t: TestContext, name: string, body: () => Promise<void>): Promise<void> {
  await t.test(name, { timeout: 90000 }, body);
}

test('Vite', async (t) => {
  const vite = [tool('vite/bin/vite.js'), 'build', 'vite', '--config', 'vite/vite.config.js', '--logLevel', 'warn'];
  await step(t, 'a page', async () => {
    await node(...vite);
    const { text, loaded } = await showFolder('vite/dist/page');
    assert.equal(text, expected);
    assert.ok(fromFile(loaded), loaded.join('\n'));
  });
  await step(t, 'a page that allows no scripts but its own', async () => {
    const policy = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'";
    const { text } = await showFolder('vite/dist/page', { ...ISOLATION, 'Content-Security-Policy': policy });
    assert.equal(text, expected);
  });
  await step(t, 'a program for Node', async () => {
    await node(...vite, '--ssr');
    assert.equal(await node('vite/dist/node/server.js'), `${expected}\n`);
  });
  await step(t, 'the development server', async () => {
    const { createServer } = await import(pathToFileURL(tool('vite/dist/node/index.js')).href);
    await rm(tool('.vite'), { recursive: true, force: true });
    const server = await createServer({
      configFile: join(examples, 'vite', 'vite.config.js'),
      logLevel: 'error',
      server: { port: 0, host: '127.0.0.1' },
    });
    try {
      await server.listen();
      const { text, loaded } = await show(server.resolvedUrls.local[0]);
      assert.equal(text, expected);
      assert.ok(fromFile(loaded), loaded.join('\n'));
    } finally {
      await server.close();
    }
  });
});

test('webpack', async (t) => {
  await step(t, 'the build', async () => {
    await node(tool('webpack/bin/webpack.js'), '--config', 'webpack/webpack.config.js', '--stats', 'errors-warnings');
  });
  await step(t, 'a page', async () => {
    const { text, loaded } = await showFolder('webpack/dist/page');
    assert.equal(text, expected);
    assert.ok(fromFile(loaded), loaded.join('\n'));
  });
  await step(t, 'a program for Node, as CommonJS', async () => {
    assert.equal(await node('webpack/dist/node/main.cjs'), `${expected}\n`);
  });
  await step(t, 'a program for Node, as a module', async () => {
    assert.equal(await node('webpack/dist/module/main.mjs'), `${expected}\n`);
  });
});

test('esbuild', async (t) => {
  await step(t, 'the build', async () => void (await node('esbuild/build.js')));
  await step(t, 'a program for Node', async () => {
    assert.equal(await node('esbuild/dist/node/main.js'), `${expected}\n`);
  });
  await step(t, 'a program for Node, as CommonJS', async () => {
    assert.equal(await node('esbuild/dist/common/main-common.cjs'), `${expected}\n`);
  });
  await step(t, 'a page', async () => {
    const { text, loaded } = await showFolder('esbuild/dist/page');
    assert.equal(text, expected);
    assert.ok(fromFile(loaded), loaded.join('\n'));
  });
  await step(t, 'a page without the script beside it', async () => {
    rmSync(join(examples, 'esbuild/dist/page/plait-thread.js'));
    const { text, loaded } = await showFolder('esbuild/dist/page');
    assert.equal(text, expected);
    assert.ok(!fromFile(loaded), loaded.join('\n'));
  });
  await step(t, 'a page without that script, whose policy forbids another', async () => {
    const policy = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'";
    const showing = showFolder('esbuild/dist/page', { ...ISOLATION, 'Content-Security-Policy': policy });
    await assert.rejects(
      showing,
      /coordinator .* does not start it, neither from the file plait-thread\.js .* "Bundlers"/,
    );
  });
});

test('rollup', async (t) => {
  await step(t, 'a program for Node', async () => {
    await node(tool('rollup/dist/bin/rollup'), '-c', 'rollup/rollup.config.js', '--silent');
    assert.equal(await node('rollup/dist/node/main.js'), `${expected}\n`);
  });
  await step(t, 'a page', async () => {
    const { text, loaded } = await showFolder('rollup/dist/page');
    assert.equal(text, expected);
    assert.ok(fromFile(loaded), loaded.join('\n'));
  });
});

test('TypeScript and CommonJS without a bundler', async (t) => {
  await step(t, 'TypeScript in Node', async () => {
    const running = node('typescript/main.ts');
    if (STRIPS_TYPES) assert.equal(await running, `${expected}\n`);
    else await assert.rejects(running, /ERR_UNKNOWN_FILE_EXTENSION/);
  });
  await step(t, 'TypeScript by tsx', async () => {
    assert.equal(await node(tool('tsx/dist/cli.mjs'), 'typescript/main.ts'), `${expected}\n`);
    assert.equal(await node('--import', 'tsx', 'typescript/main.ts'), `${expected}\n`);
  });
  await step(t, 'TypeScript by tsx, in a CommonJS package', async () => {
    assert.equal(await node('--import', 'tsx', 'commonjs/main.ts'), `${expected}\n`);
  });
  await step(t, 'CommonJS', async () => {
    assert.equal(await node('commonjs/main.cjs'), `${expected}\n`);
  });
});

/** The contract of files, on any host. `module(name)` gives the URL of a fixture. */

import { openSpace, Pool } from 'plait';
import { createFs, type Fs, type FsError } from 'plait/fs';
import { type Case, ok, same } from './check.ts';
import { opened } from './pool-setup.ts';

// biome-ignore lint/suspicious/noExplicitAny: Node's streams, or ours
type AnyStream = any;

function refused(action: () => unknown): FsError {
  try {
    action();
  } catch (error) {
    return error as FsError;
  }
  throw new Error('it was not refused');
}

/** Cases over the common space's files. */
export function fsCases(fs: Fs, module: (name: string) => string): Case[] {
  return [
    {
      name: 'files are written, read, and listed',
      run() {
        fs.mkdirSync('/cases/a', { recursive: true });
        fs.writeFileSync('/cases/a/f', 'grün');
        same(fs.readFileSync('/cases/a/f', 'utf8'), 'grün');
        same([...fs.readFileSync('/cases/a/f')].join(), '103,114,195,188,110');
        same(fs.readFileSync('/cases/a/f', 'hex'), '6772c3bc6e');
        same(fs.readFileSync('/cases/a/f', 'base64'), 'Z3LDvG4=');
        fs.appendFileSync('/cases/a/f', new Uint8Array([33]));
        same(fs.statSync('/cases/a/f').size, 6);
        ok(fs.statSync('/cases/a').isDirectory() && fs.statSync('/cases/a/f').isFile(), 'kinds');
        same(fs.readdirSync('/cases/a').join(), 'f');
        fs.renameSync('/cases/a/f', '/cases/a/g');
        fs.symlinkSync('g', '/cases/a/s');
        same(fs.realpathSync('/cases/a/s'), '/cases/a/g');
        same(fs.readdirSync('/cases/a', { withFileTypes: true }).filter((entry) => entry.isSymbolicLink()).length, 1);
        const large = new Uint8Array(300000).map((_, i) => i * 7);
        fs.writeFileSync('/cases/large', large);
        ok(
          fs.readFileSync('/cases/large').every((byte, i) => byte === large[i]),
          'many bytes',
        );
        fs.rmSync('/cases', { recursive: true });
        same(fs.existsSync('/cases'), false);
      },
    },
    {
      name: "errors look like Node's",
      run() {
        const error = refused(() => fs.readFileSync('/cases/none'));
        same(error.message, "ENOENT: no such file or directory, open '/cases/none'");
        same([error.code, error.errno, error.syscall, error.path].join(), 'ENOENT,-2,open,/cases/none');
        same(refused(() => fs.rmdirSync('/')).code, 'EBUSY');
        same(refused(() => fs.closeSync(5.5)).code, 'ERR_OUT_OF_RANGE');
      },
    },
    {
      name: 'promises and file handles',
      async run() {
        await fs.promises.writeFile('/handle', 'one two');
        const handle = await fs.promises.open('/handle', 'r+');
        await handle.write('TWO', 4);
        same(await handle.readFile('utf8'), 'one TWO');
        let text = '';
        const again = await fs.promises.open('/handle');
        for (const reader = again.readableWebStream().getReader(); ; ) {
          const { done, value } = await reader.read();
          if (done) break;
          text += new TextDecoder().decode(value);
        }
        same(text, 'one TWO');
        await handle.close();
        await again.close();
        await fs.promises.unlink('/handle');
      },
    },
    {
      name: 'the event loop turns while one call after another is awaited',
      async run() {
        fs.writeFileSync('/turns', 'text');
        const calls: Record<string, () => unknown> = {
          'a promise': () => fs.promises.stat('/turns'),
          'a refusal': () => fs.promises.stat('/none').catch(() => {}),
          'a callback': () => new Promise((resolve) => fs.readFile('/turns', resolve)),
          'a stream': async () => {
            for await (const _ of fs.createReadStream('/turns', { highWaterMark: 1 }) as AnyStream);
          },
        };
        for (const [name, call] of Object.entries(calls)) {
          let came = false;
          setTimeout(() => {
            came = true;
          });
          for (let i = 0; i < 1e5 && !came; i++) await call();
          ok(came, `no timer came through beside ${name}`);
        }
        fs.unlinkSync('/turns');
      },
    },
    {
      name: 'a filter of cp may take its time',
      async run() {
        fs.mkdirSync('/filtered/from', { recursive: true });
        for (const name of ['a', '.env']) fs.writeFileSync(`/filtered/from/${name}`, name);
        const filter = async (from: string): Promise<boolean> => !from.endsWith('.env');
        await fs.promises.cp('/filtered/from', '/filtered/to', { recursive: true, filter });
        same(fs.readdirSync('/filtered/to').join(), 'a');
        fs.rmSync('/filtered', { recursive: true });
      },
    },
    {
      name: 'streams write, read, stop, fail and pipe',
      async run() {
        const reported: string[] = [];
        const note = (stream: AnyStream, name: string, ...events: string[]): Promise<void> => {
          for (const event of events) stream.on(event, () => reported.push(`${name} ${event}`));
          return new Promise((resolve) => stream.on('close', resolve));
        };
        const writer = fs.createWriteStream('/stream', { highWaterMark: 1000 }) as AnyStream;
        const written = note(writer, 'writer', 'open', 'ready', 'finish', 'close');
        const lines = Array.from({ length: 500 }, (_, i) => `line ${i}, grün\n`);
        for (const line of lines)
          if (!writer.write(line)) await new Promise((resolve) => writer.once('drain', resolve));
        writer.end('the end');
        await written;
        same(reported.splice(0).join(), 'writer open,writer ready,writer finish,writer close');
        const text = `${lines.join('')}the end`;
        same(fs.readFileSync('/stream', 'utf8'), text);
        same(writer.bytesWritten, new TextEncoder().encode(text).length);

        const reader = fs.createReadStream('/stream', { highWaterMark: 7, encoding: 'utf8' }) as AnyStream;
        const read = note(reader, 'reader', 'open', 'ready', 'end', 'close');
        let found = '';
        reader.on('data', (chunk: string) => {
          found += chunk;
          if (found.length > 100 && found.length < 108) {
            reader.pause();
            ok(reader.isPaused(), 'it is paused');
            setTimeout(() => reader.resume(), 5);
          }
        });
        await read;
        same(found, text);
        same(reported.splice(0).join(), 'reader open,reader ready,reader end,reader close');

        const part = async (options: object): Promise<string> => {
          let all = '';
          for await (const chunk of fs.createReadStream('/stream', options) as AnyStream) {
            all += typeof chunk === 'string' ? chunk : new TextDecoder('latin1').decode(chunk);
          }
          return all;
        };
        same(
          await part({ start: 5, end: 20 }),
          new TextDecoder('latin1').decode(fs.readFileSync('/stream').subarray(5, 21)),
        );
        same(await part({ highWaterMark: 4, encoding: 'base64', end: 30 }), btoa(await part({ end: 30 })));
        same(await part({ start: 1e6 }), '');

        for await (const _ of fs.createReadStream('/stream', { highWaterMark: 1 }) as AnyStream) break;
        const stopped = fs.createReadStream('/stream') as AnyStream;
        const over = note(stopped, 'stopped', 'end', 'error', 'close');
        stopped.on('data', () => stopped.destroy(new Error('enough')));
        await over;
        same(reported.splice(0).join(), 'stopped error,stopped close');

        const missing = fs.createReadStream('/nowhere') as AnyStream;
        const failed = note(missing, 'missing', 'open', 'end', 'close');
        const error = await new Promise<FsError>((resolve) => missing.on('error', resolve));
        await failed;
        same([error.code, error.syscall, ...reported.splice(0)].join(), 'ENOENT,open,missing close');
        let thrown = '';
        try {
          for await (const _ of fs.createReadStream('/nowhere') as AnyStream);
        } catch (reason) {
          thrown = (reason as FsError).code;
        }
        same(thrown, 'ENOENT');
        const late = fs.createWriteStream('/late') as AnyStream;
        late.end();
        const refusal = new Promise<FsError>((resolve) => late.on('error', resolve));
        late.write('x');
        same((await refusal).code, 'ERR_STREAM_WRITE_AFTER_END');

        const target = fs.createWriteStream('/copy', { flags: 'a', highWaterMark: 10 }) as AnyStream;
        const copied = note(target, 'target', 'close');
        (fs.createReadStream('/stream', { highWaterMark: 64 }) as AnyStream).pipe(target);
        await copied;
        same(fs.readFileSync('/copy', 'utf8'), text);
        const patch = fs.createWriteStream('/copy', { flags: 'r+', start: 5 }) as AnyStream;
        await new Promise<void>((resolve) => patch.end('XY', resolve));
        same(fs.readFileSync('/copy', 'utf8').slice(0, 9), 'line XY g');

        const handle = await fs.promises.open('/copy', 'w+');
        const through = handle.createWriteStream() as AnyStream;
        await new Promise<void>((resolve) => {
          through.on('close', resolve);
          through.end('one\r\ntwo\n\nthree\rfour');
        });
        same(handle.fd, -1);
        const all: string[] = [];
        for await (const line of (await fs.promises.open('/copy')).readLines()) all.push(line);
        same(all.join('|'), 'one|two||three|four');
        const aborted = fs.createReadStream('/copy', { signal: AbortSignal.abort() }) as AnyStream;
        same((await new Promise<Error>((resolve) => aborted.on('error', resolve))).name, 'AbortError');
        for (const name of ['stream', 'copy', 'late']) fs.rmSync(`/${name}`, { force: true });
        fs.check();
      },
    },
    {
      name: 'workers have the same files',
      async run() {
        fs.mkdirSync('/shared');
        fs.writeFileSync('/shared/from', new Uint8Array(100000).fill(9));
        fs.writeFileSync('/shared/log', '');
        const pool = opened(new Pool(module('fs-tasks.js'), { threads: 2 }));
        const sizes = Array.from({ length: 8 }, (_, i) =>
          pool.run({ from: '/shared/from', to: `/shared/to-${i}` }, { name: 'copy' }),
        );
        same((await Promise.all(sizes)).join(), Array(8).fill(100000).join());
        ok(
          fs.readFileSync('/shared/to-7').every((byte) => byte === 9),
          'the bytes',
        );
        const append = { path: '/shared/log', text: 'line\n', count: 500 };
        await Promise.all([pool.run(append, { name: 'append' }), pool.run(append, { name: 'append' })]);
        same(fs.readFileSync('/shared/log', 'utf8'), 'line\n'.repeat(1000));
        const fd = fs.openSync('/shared/log', 'r+');
        await pool.run('/shared/log', { name: 'hold' });
        same(refused(() => fs.lockSync(fd, { wait: false })).code, 'EAGAIN');
        await pool.close();
        fs.lockSync(fd, { wait: false }); // it went with its thread
        fs.closeSync(fd);
        fs.rmSync('/shared', { recursive: true });
      },
    },
    {
      name: 'a private space has files of its own, and reports that it is full',
      run() {
        const space = openSpace({ maximum: 4 * 2 ** 20 });
        const own = createFs(() => space);
        same(own.readdirSync('/').length, 0);
        own.writeFileSync('/a', new Uint8Array(1000).fill(1));
        same(refused(() => own.writeFileSync('/b', new Uint8Array(8 * 2 ** 20))).code, 'ENOSPC');
        const fill = (): number => {
          for (let i = 0; ; i++) {
            try {
              own.writeFileSync(`/file-${i}`, new Uint8Array(50000));
            } catch (error) {
              same((error as FsError).code, 'ENOSPC');
              return i;
            }
          }
        };
        const room = fill();
        ok(room > 30, `${room} files`);
        ok(
          own.readFileSync('/a').every((byte) => byte === 1),
          'what was there stays',
        );
        for (const name of own.readdirSync('/')) own.unlinkSync(name);
        own.check();
        ok(fill() >= room, 'there is room for as many once more');
        for (const name of own.readdirSync('/')) own.unlinkSync(name);
        own.check();
        space.check(true);
      },
    },
  ];
}

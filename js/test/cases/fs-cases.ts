/** What files promise, on any host. `module(name)` gives the URL of a fixture. */

import { openSpace, Pool } from 'plait';
import { createFs, type Fs, type FsError } from 'plait/fs';
import { type Case, ok, same } from './check.ts';

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
      name: 'files are written, read, and told of',
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
      name: 'workers have the same files',
      async run() {
        fs.mkdirSync('/shared');
        fs.writeFileSync('/shared/from', new Uint8Array(100000).fill(9));
        fs.writeFileSync('/shared/log', '');
        const pool = new Pool(module('fs-tasks.js'), { threads: 2 });
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
      name: 'a private space has files of its own, and a full one says so',
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

/**
 * Calls of files as programs for node:fs write them. `the-fs` is plait/fs, with and without the types of Node, and
 * node:fs itself (tsconfig.*.json here): what compiles with the one compiles with the other. Nothing here runs.
 */

import fs, { type Dirent, readFileSync, type Stats, statSync } from 'the-fs';

/** What the types of Node and ours both say of bytes. */
const length = (bytes: Uint8Array): number => bytes.byteLength;

export function synchronous(path: string, fd: number): void {
  const text: string = fs.readFileSync(path, 'utf8').trim() + readFileSync(path, { encoding: 'utf8' }).trim();
  const stats: Stats = statSync(path);
  const kinds: boolean[] = [stats.isFile(), fs.lstatSync(path).isDirectory(), fs.fstatSync(fd).isSymbolicLink()];
  const size: bigint = fs.statSync(path, { bigint: true }).size + fs.fstatSync(fd, { bigint: true }).mtimeNs;
  const maybe: number | undefined = fs.statSync(path, { throwIfNoEntry: false })?.size;
  const names: string[] = fs.readdirSync(path).concat(fs.readdirSync(path, { recursive: true, encoding: 'utf8' }));
  const entries: Dirent[] = fs.readdirSync(path, { withFileTypes: true });
  const raw: number = fs.readdirSync(path, 'buffer').map(length).length;
  const first: string | undefined = fs.mkdirSync(path, { recursive: true });
  const made: string = fs.mkdtempSync(path).trim() + fs.readlinkSync(path).trim() + fs.realpathSync.native(path).trim();
  const opened: number = fs.openSync(path, 'wx', 0o600) + fs.openSync(path, 'r');
  const buffer = new Uint8Array(8);
  const counts: number[] = [
    fs.readSync(fd, buffer, 0, 8, null),
    fs.readSync(fd, buffer, { position: 5 }),
    fs.writeSync(fd, buffer, 0, 8, 3),
    fs.writeSync(fd, 'text', null, 'utf8'),
    fs.readvSync(fd, [buffer], 5),
    fs.writevSync(fd, [buffer]),
    fs.statfsSync(path).bsize,
  ];
  fs.writeFileSync(path, buffer, { mode: 0o600, flag: 'a' });
  fs.appendFileSync(path, 'text', 'utf8');
  fs.accessSync(path, fs.constants.R_OK | fs.constants.W_OK);
  fs.copyFileSync(path, path, fs.constants.COPYFILE_EXCL);
  fs.cpSync(path, path, { recursive: true, filter: (from, to) => from.endsWith('a') || to.endsWith('b') });
  fs.rmSync(path, { recursive: true, force: true });
  fs.utimesSync(path, new Date(), 5);
  fs.symlinkSync(path, path, 'dir');
  fs.chmodSync(path, '755');
  const dir = fs.opendirSync(path);
  for (let entry = dir.readSync(); entry !== null; entry = dir.readSync()) void entry.name.trim();
  dir.closeSync();
  stats.mtime = new Date(stats.mtimeMs);
  void [text, kinds, size, maybe, names, entries, raw, first, made, opened, counts, fs.existsSync(path)];
}

export function callbacks(path: string, fd: number): void {
  fs.readFile(path, (error, data) => void [error?.code?.trim(), error?.message, length(data)]);
  fs.readFile(path, 'utf8', (error, text) => void [error, text.trim()]);
  fs.readFile(path, { encoding: 'utf8', flag: 'r' }, (_error, text) => void text.trim());
  fs.writeFile(path, 'text', (error) => void error?.code);
  fs.writeFile(path, 'text', { mode: 0o600 }, (error) => void error?.code);
  fs.writeFile(path, 'text', 'utf8', (error) => void error?.code);
  fs.appendFile(path, 'text', (error) => void error?.code);
  fs.appendFile(path, 'text', { flag: 'a', encoding: 'latin1' }, (error) => void error?.code);
  fs.readdir(path, 'utf8', (_error, names) => void names.map((name) => name.trim()));
  fs.readdir(path, { withFileTypes: false, recursive: true }, (_error, names) => void names.length);
  fs.symlink(path, path, 'file', (error) => void error?.code);
  fs.copyFile(path, path, fs.constants.COPYFILE_EXCL, (error) => void error?.code);
  fs.mkdir(path, 0o700, (error) => void error?.code);
  fs.ftruncate(fd, (error) => void error?.code);
  fs.read(fd, (_error, count, buffer) => void [count.toFixed(), length(buffer)]);
  fs.read(fd, { buffer: new Uint8Array(8), position: 5 }, (_error, count) => void count.toFixed());
  fs.stat(path, (_error, stats) => void stats.size.toFixed());
  fs.stat(path, { bigint: true }, (_error, stats) => void stats.mtimeNs);
  fs.lstat(path, (_error, stats) => void stats.isFile());
  fs.fstat(fd, (_error, stats) => void stats.mtime.getTime());
  fs.readdir(path, (_error, names) => void names.map((name) => name.trim()));
  fs.readdir(path, { withFileTypes: true }, (_error, entries) => void entries.map((entry) => entry.name.trim()));
  fs.mkdir(path, (error) => void error?.code);
  fs.mkdir(path, { recursive: true }, (_error, first) => void first?.trim());
  fs.mkdtemp(path, (_error, made) => void made.trim());
  fs.open(path, 'r', (_error, opened) => void opened.toFixed());
  fs.open(path, 'w', 0o600, (_error, opened) => void opened.toFixed());
  fs.close(fd, (error) => void error?.code);
  fs.close(fd);
  fs.read(fd, new Uint8Array(8), 0, 8, null, (_error, count, buffer) => void [count.toFixed(), length(buffer)]);
  fs.write(fd, new Uint8Array(8), (_error, count, buffer) => void [count.toFixed(), length(buffer)]);
  fs.write(fd, new Uint8Array(8), 0, 8, null, (_error, count) => void count.toFixed());
  fs.write(fd, 'text', (_error, count, text) => void [count.toFixed(), text.trim()]);
  fs.readv(fd, [new Uint8Array(8)], (_error, count, buffers) => void [count.toFixed(), buffers.length]);
  fs.writev(fd, [new Uint8Array(8)], 5, (_error, count, buffers) => void [count.toFixed(), buffers.length]);
  fs.readlink(path, (_error, target) => void target.trim());
  fs.realpath(path, (_error, real) => void real.trim());
  fs.realpath.native(path, (_error, real) => void real.trim());
  fs.exists(path, (exists) => void (exists === true));
  fs.access(path, fs.constants.F_OK, (error) => void error?.code);
  fs.opendir(path, (_error, dir) => void dir.path.trim());
  fs.cp(path, path, { recursive: true }, (error) => void error?.code);
  fs.rm(path, { force: true }, (error) => void error?.code);
  fs.statfs(path, (_error, stats) => void stats.bfree.toFixed());
  for (const call of [fs.unlink, fs.rmdir]) call(path, (error) => void error?.code);
  for (const call of [fs.rename, fs.link, fs.copyFile, fs.symlink]) call(path, path, (error) => void error?.code);
  fs.utimes(path, 5, 5, (error) => void error?.code);
  fs.truncate(path, 5, (error) => void error?.code);
  fs.fsync(fd, (error) => void error?.code);
}

export async function promises(path: string, signal: AbortSignal): Promise<void> {
  const stats: Stats = await fs.promises.stat(path);
  const time: Date = (await fs.promises.lstat(path)).mtime;
  const size: bigint = (await fs.promises.stat(path, { bigint: true })).size;
  const names: string[] = await fs.promises.readdir(path);
  const entries: Dirent[] = await fs.promises.readdir(path, { withFileTypes: true });
  const text: string = (await fs.promises.readFile(path, 'utf8')).trim();
  const count: number = length(await fs.promises.readFile(path, { signal }));
  const first: string | undefined = await fs.promises.mkdir(path, { recursive: true });
  const made: string = (await fs.promises.mkdtemp(path)) + (await fs.promises.readlink(path));
  const real: string = (await fs.promises.realpath(path)).trim();
  const free: number = (await fs.promises.statfs(path)).bfree;
  await fs.promises.mkdir(path);
  await fs.promises.writeFile(path, ['a', 'b'], { signal, encoding: 'utf8' });
  await fs.promises.appendFile(path, new Uint8Array(8));
  await fs.promises.writeFile(path, 'text', 'utf8');
  await fs.promises.appendFile(path, 'text', { encoding: 'utf8', mode: 0o600 });
  await fs.promises.symlink(path, path, 'dir');
  await fs.promises.utimes(path, new Date(), '5');
  const raw: number = (await fs.promises.readdir(path, { encoding: 'buffer' })).map(length).length;
  const target: number = length(await fs.promises.readlink(path, 'buffer'));
  await fs.promises.cp(path, path, { recursive: true, filter: async (from) => !from.endsWith('.env') });
  await fs.promises.rm(path, { recursive: true, force: true });
  await fs.promises.access(path, fs.constants.R_OK);
  for await (const { name } of await fs.promises.opendir(path)) void name.trim();
  for await (const { eventType, filename } of fs.promises.watch(path, { signal })) void [eventType, filename?.trim()];
  const handle = await fs.promises.open(path, 'r+');
  const { bytesRead, buffer } = await handle.read(new Uint8Array(8), 0, 8, 0);
  const { bytesWritten } = await handle.write(new Uint8Array(8));
  const whole: string = await handle.readFile('utf8');
  const modified: number = (await handle.stat()).mtimeMs;
  for await (const line of handle.readLines()) void line.trim();
  await handle.writeFile('text', 'utf8');
  await handle.appendFile('text', { encoding: 'utf8' });
  await handle.read({ buffer: new Uint8Array(8), position: 5 });
  await handle.write('text', 5, 'utf8');
  for await (const chunk of handle.createReadStream({ start: 5 })) void chunk.length;
  await handle.truncate(5);
  await handle.close();
  void [stats, time, size, names, entries, text, count, first, made, real, free, bytesRead, length(buffer)];
  void [bytesWritten, whole, modified, raw, target];
}

export async function streams(path: string): Promise<void> {
  const output = fs.createWriteStream(path, { flags: 'w', mode: 0o600 });
  fs.createReadStream(path, { start: 5, end: 8, highWaterMark: 16 }).pipe(output);
  output.on('finish', () => void output.bytesWritten.toFixed()).on('error', (error) => void error.message);
  const input = fs.createReadStream(path, 'utf8');
  input.on('data', (chunk) => void chunk.length).once('end', () => input.destroy());
  for await (const chunk of input) void chunk.length;
  output.write('text');
  output.end();
}

export function watchers(path: string): void {
  const watcher = fs.watch(path, (event, name) => void [event.trim(), name?.trim()]);
  watcher.on('change', (event, name) => void [event, name]).close();
  fs.watch(path, { recursive: true }, (_event, name) => void name?.length);
  fs.watchFile(path, (now, before) => void (now.mtimeMs - before.mtimeMs));
  fs.unwatchFile(path);
}

/** Callbacks, promises and streams of plait/fs compared with node:fs. */
import { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type Any, attempt, both, checkAtEnd } from './fs-compare.ts';

both('callbacks', async (fs, root, note) => {
  const call = (name: string, ...args: unknown[]): Promise<unknown[]> =>
    new Promise((resolve) => (fs as Any)[name](...args, (...results: unknown[]) => resolve([name, ...results])));
  const file = `${root}/f`;
  let early = true;
  const written = new Promise((resolve) => fs.writeFile(file, 'abc', (error: unknown) => resolve([error, early])));
  early = false;
  note(await written);
  note(await call('readFile', file, 'utf8'));
  note(await call('readFile', `${root}/none`));
  note(await call('stat', file));
  note(await call('appendFile', file, 'def'));
  const [, , fd] = await call('open', file, 'r+');
  const buffer = Buffer.alloc(4);
  note(await call('read', fd, buffer, 0, 4, 1));
  note(await call('write', fd, Buffer.from('XY'), 0, 2, 2));
  note(await call('write', fd, 'Z', 4));
  note(await call('fstat', fd));
  note(await call('close', fd));
  note(await call('close', fd));
  note(await call('mkdir', `${root}/d/e`, { recursive: true }));
  note(await call('readdir', `${root}/d`, { withFileTypes: true }));
  note(await call('rename', file, `${root}/g`));
  note(await call('rm', `${root}/d`, { recursive: true }));
  note(await new Promise((resolve) => fs.exists(`${root}/g`, resolve)));
  note(await call('realpath', `${root}/g`));
  note(await call('unlink', `${root}/none`));
});

both('promises', async (fs, root, note) => {
  const { promises } = fs;
  const file = `${root}/f`;
  const outcome = (action: Promise<unknown>): Promise<unknown> => action.catch((error: unknown) => error);
  await promises.writeFile(file, 'abc');
  note(await promises.readFile(file, 'utf8'));
  note(await outcome(promises.readFile(`${root}/none`)));
  note(await outcome(promises.readFile(undefined as Any)));
  note(await outcome(promises.readFile(file, { signal: AbortSignal.abort() })));
  await promises.writeFile(
    file,
    (async function* () {
      yield 'x';
      yield Buffer.from('y');
    })() as Any,
  );
  note(await promises.readFile(file, { encoding: 'utf8' }));
  await promises.appendFile(file, ['é', new Uint8Array([65, 66])] as Any, 'latin1');
  note(await promises.readFile(file));
  await promises.writeFile(file, new Set(['00', 'ff']) as Any, { flag: 'a', encoding: 'hex' });
  note(await promises.readFile(file));
  await promises.writeFile(`${root}/made`, Readable.from(['one ', 'two']) as Any, { mode: 0o600 });
  note(await promises.readFile(`${root}/made`, 'utf8'));
  note((await promises.stat(`${root}/made`)).mode);
  note(await outcome(promises.writeFile(`${root}/made`, ['x'] as Any, { flag: 'wx' })));
  note(await outcome(promises.appendFile(`${root}/none/f`, ['x'] as Any)));
  note(await outcome(promises.writeFile(file, ['x'] as Any, { signal: AbortSignal.abort() })));
  const broken = async function* (): AsyncGenerator<string> {
    yield 'kept';
    throw new RangeError('no more');
  };
  note(await outcome(promises.writeFile(file, broken() as Any)));
  note(await promises.readFile(file, 'utf8'));
  const parts = await promises.open(file, 'r+');
  await parts.read(Buffer.alloc(1), 0, 1);
  await parts.writeFile(['E', 'P'] as Any);
  await parts.appendFile(broken() as Any).catch(() => {});
  await parts.close();
  note(await promises.readFile(file, 'utf8'));
  await promises.writeFile(file, 'xy');
  await promises.unlink(`${root}/made`);
  note(await promises.mkdir(`${root}/a/b`, { recursive: true }));
  note((await promises.readdir(root)).sort());
  note(await promises.stat(file));
  const handle = await promises.open(file, 'r+');
  note(await handle.read(Buffer.alloc(3), 0, 3, 0));
  note(await handle.write('more', 1));
  note(await handle.write(Buffer.from('zz'), 0, 1, 0));
  note(await handle.readFile('utf8'));
  note(await handle.stat());
  await handle.truncate(2);
  await handle.appendFile('!');
  await handle.sync();
  note(typeof handle.fd);
  await handle.close();
  note(handle.fd);
  note(await outcome(handle.read(Buffer.alloc(1))));
  const lines = await promises.open(file, 'w+');
  await lines.writeFile('one\ntwo\r\nthree');
  await lines.close();
  const read: string[] = [];
  for await (const line of (await promises.open(file)).readLines()) read.push(line);
  note(read);
  const entries: string[] = [];
  for await (const entry of await promises.opendir(root)) entries.push(entry.name);
  note(entries.sort());
  await promises.rm(`${root}/a`, { recursive: true });
  note(await outcome(promises.access(`${root}/a`)));
  await promises.copyFile(file, `${root}/copy`);
  await promises.symlink('f', `${root}/s`);
  note(await promises.readlink(`${root}/s`));
  note(await promises.lstat(`${root}/s`));
});

both('streams', async (fs, root, note) => {
  const file = `${root}/f`;
  const writer = fs.createWriteStream(file);
  for (let i = 0; i < 1000; i++) writer.write(`line ${i} of the file\n`);
  writer.end('the end');
  await new Promise((resolve) => writer.on('close', resolve));
  note(writer.bytesWritten);
  const whole = await text(fs.createReadStream(file));
  note(whole.length);
  note(await text(fs.createReadStream(file, { start: 10, end: 30 })));
  note(await text(fs.createReadStream(file, { highWaterMark: 7, encoding: 'latin1', start: 5, end: 50 })));
  note(await text(fs.createReadStream(`${root}/none`)).catch((error: unknown) => error));
  const appender = fs.createWriteStream(file, { flags: 'a' });
  appender.end('!');
  await new Promise((resolve) => appender.on('close', resolve));
  note(fs.readFileSync(file, 'utf8').slice(-9));
  const handle = await fs.promises.open(file);
  note((await text(handle.createReadStream({ end: 5 }))) as string);
  note(await new Promise((resolve) => fs.createWriteStream(`${root}/none/x`).on('error', resolve)));
});

both('classes of streams', async (fs, root, note) => {
  const file = `${root}/f`;
  fs.writeFileSync(file, 'what is in the file');
  const { ReadStream, WriteStream } = fs;
  const made = [fs.createReadStream(file), fs.createWriteStream(`${root}/w`)];
  note([ReadStream.name, WriteStream.name, made[0] instanceof ReadStream, made[1] instanceof WriteStream]);
  for (const stream of made) await new Promise((resolve) => stream.on('close', resolve).destroy());
  note(await text(new ReadStream(file, { end: 3 })));
  note(await text(ReadStream(file, 'latin1')));
  const Own: Any = class extends ReadStream {};
  note(await text(new Own(file)));
  // As programs make their own of it that are older than classes.
  function Older(this: object, path: string): object {
    if (!(this instanceof Older)) return new (Older as Any)(path);
    ReadStream.call(this, path);
    return this;
  }
  Object.setPrototypeOf(Older.prototype, ReadStream.prototype);
  const older = new (Older as Any)(file);
  note([older instanceof Older, older instanceof ReadStream, older instanceof Readable]);
  note(await text(older));
  const writer = new WriteStream(`${root}/x`, { fs: undefined });
  note(writer instanceof Writable);
  writer.end('written');
  await new Promise((resolve) => writer.on('close', resolve));
  note(fs.readFileSync(`${root}/x`, 'utf8'));
  const handle = await fs.promises.open(file);
  const stream = handle.createReadStream();
  note(stream instanceof ReadStream);
  note(await text(stream));
});

both('what is written from an iterator goes where the flag says', async (fs, root, note) => {
  const file = `${root}/f`;
  fs.writeFileSync(file, 'before');
  const { writeFile } = fs.promises;
  for (const flag of ['a', 'wx', 'r+', 'w', undefined])
    note([
      await writeFile(file, ['pa', 'rt'], { flag }).catch((error: Any) => error.code),
      fs.readFileSync(file, 'utf8'),
    ]);
});

both('signals that are aborted already', async (fs, root, note) => {
  const file = `${root}/f`;
  fs.writeFileSync(file, 'before');
  const signal = AbortSignal.abort('why');
  const handle = await fs.promises.open(file, 'r+');
  const calls: ((done: (error: unknown) => void) => void)[] = [
    (done) => fs.readFile(file, { signal }, done),
    (done) => fs.writeFile(file, 'after', { signal }, done),
    (done) => fs.appendFile(file, 'after', { signal }, done),
    (done) => fs.promises.readFile(file, { signal }).then(done, done),
    (done) => fs.promises.writeFile(`${root}/new`, 'after', { signal }).then(done, done),
    (done) => fs.promises.appendFile(file, 'after', { signal }).then(done, done),
    (done) => handle.readFile({ signal }).then(done, done),
    (done) => handle.writeFile('after', { signal }).then(done, done),
  ];
  for (const call of calls) {
    const error: Any = await new Promise(call);
    note([error.name, error.code, error.cause, fs.readFileSync(file, 'utf8'), fs.existsSync(`${root}/new`)]);
  }
  await handle.close();
});

both('options of streams', async (fs, root, note) => {
  const file = `${root}/f`;
  fs.writeFileSync(file, 'what is in the file');
  for (const options of [5, true, 1n, Symbol('options')]) note(attempt(() => fs.createReadStream(file, options)));
  for (const options of [null, () => {}, [], '']) note(await text(fs.createReadStream(file, options)));
  note(await text(fs.createReadStream(file, Object.create({ start: 5 }))));
  note(
    await text(
      fs.createReadStream(
        file,
        Object.assign(() => {}, { start: 5 }),
      ),
    ),
  );
  for (const own of [false, 0, '', null]) {
    // not the host's files
    const writer = fs.createWriteStream(`${root}/own`, { fs: own });
    await new Promise((resolve) => writer.on('close', resolve).end('written'));
    note(fs.readFileSync(`${root}/own`, 'utf8'));
    fs.unlinkSync(`${root}/own`);
  }
  const fd = fs.openSync(file);
  note(await text(fs.createReadStream({}, { fd })));
  const reading = await fs.promises.open(file);
  note(await text(fs.createReadStream(null, { fd: reading, start: 5 })));
  note(reading.fd);
  const writing = await fs.promises.open(file, 'r+');
  const writer = new fs.WriteStream(null, { fd: writing });
  await new Promise((resolve) => writer.on('close', resolve).end('WHAT'));
  note([writing.fd, fs.readFileSync(file, 'utf8')]);
  const closed = await fs.promises.open(file);
  const stream = closed.createReadStream();
  const events: string[] = [];
  for (const event of ['open', 'data', 'end', 'error']) stream.on(event, () => events.push(event));
  const over = new Promise((resolve) => stream.on('close', resolve));
  await closed.close();
  await over;
  note([events, closed.fd]);
});

checkAtEnd();

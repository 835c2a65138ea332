/** Trees, and archives made header by header, for the tests of import and export as tar. */
import * as nodeFs from 'node:fs';
import { tmpdir } from 'node:os';
import { after } from 'node:test';
import { openSpace } from 'plait';
import { createFs, type Fs } from 'plait/fs';

export const scratch = nodeFs.mkdtempSync(`${tmpdir()}/plait-fs-tar-`);
after(() => nodeFs.rmSync(scratch, { recursive: true, force: true }));
export const space = openSpace({ maximum: 2 ** 28 });
export const fs = createFs(() => space);
let count = 0;
export const fresh = (): string => `/case-${count++}`;
export const archive = (path: string): Buffer => Buffer.concat([...fs.exportTar(path)]);

/** A tree with one of everything. */
export function plant(where: Fs, top: string): void {
  where.mkdirSync(`${top}/d/deep`, { recursive: true });
  where.writeFileSync(`${top}/d/f`, 'hello\n', { mode: 0o640 });
  where.writeFileSync(`${top}/empty`, '');
  where.writeFileSync(`${top}/exact`, Buffer.alloc(512, 65));
  where.writeFileSync(`${top}/large`, Buffer.from(Array.from({ length: 2500000 }, (_, i) => (i * 7) & 255)));
  where.linkSync(`${top}/d/f`, `${top}/hard`);
  where.symlinkSync('d/f', `${top}/soft`);
  where.symlinkSync(`${'../'.repeat(1)}d/${'x'.repeat(150)}`, `${top}/d/long-link`);
  where.writeFileSync(`${top}/${'n'.repeat(180)}`, 'long name');
  const folder = `${top}/${'p'.repeat(90)}/${'q'.repeat(90)}`;
  where.mkdirSync(folder, { recursive: true });
  where.writeFileSync(`${folder}/${'r'.repeat(90)}`, 'deep name');
  where.writeFileSync(`${top}/grün ☃`, 'utf-8');
  where.writeFileSync(Buffer.concat([Buffer.from(`${top}/raw`), Buffer.from([255, 254])]), 'bytes');
  where.writeFileSync(Buffer.concat([Buffer.from(`${top}/${'l'.repeat(150)}`), Buffer.from([255])]), 'long bytes');
  where.utimesSync(`${top}/d/f`, 1600000000.123456, 1500000000.654321);
  where.utimesSync(`${top}/empty`, -5.5, -5.5);
  where.chmodSync(`${top}/d/deep`, 0o700);
  where.utimesSync(`${top}/d`, 1000, 2000);
}

/** A tree as text: names, kinds, modes, sizes, times in a unit (0: without), contents, and which names are one file. */
export function describe(where: Fs | typeof nodeFs, top: string, unit = 1n): string[] {
  const files = where as unknown as typeof nodeFs;
  const lines: string[] = [];
  const walk = (path: Buffer, name: string): void => {
    const stats = files.lstatSync(path, { bigint: true });
    const kind = stats.isDirectory() ? 'd' : stats.isSymbolicLink() ? 'l' : 'f';
    const links = kind === 'f' ? stats.nlink : '';
    const mode = kind === 'l' ? '' : (stats.mode & 0o7777n).toString(8);
    const inside =
      kind === 'f'
        ? Buffer.from(files.readFileSync(path)).toString('base64').slice(-60)
        : kind === 'l'
          ? files.readlinkSync(path, 'buffer').toString('latin1')
          : '';
    lines.push(
      [
        name,
        kind,
        mode,
        links,
        kind === 'f' ? stats.size : '',
        unit === 0n ? '' : (stats.mtimeNs + unit / 2n) / unit,
        inside,
      ].join(' '),
    );
    if (kind !== 'd') return;
    const names = (files.readdirSync(path, 'buffer') as unknown as Buffer[]).map((each) => Buffer.from(each));
    for (const one of names.sort(Buffer.compare)) {
      walk(Buffer.concat([path, Buffer.from('/'), one]), `${name}/${one.toString('latin1')}`);
    }
  };
  walk(Buffer.from(top), '.');
  return lines;
}

export interface Made {
  name?: string;
  type?: string;
  size?: number | string;
  data?: Buffer | string;
  link?: string;
  mode?: string;
  prefix?: string;
  magic?: string;
}

/** A header, and data, that say what we want. */
export function entry({
  name = 'f',
  type = '0',
  size,
  data = '',
  link = '',
  mode = '0000644',
  prefix = '',
  magic = 'ustar\x0000',
}: Made): Buffer {
  const bytes = Buffer.from(data);
  const block = Buffer.alloc(512);
  const length = size ?? bytes.length;
  block.write(name, 0, 100, 'latin1');
  block.write(mode, 100);
  block.write('0000000\x000000000', 108);
  block.write(typeof length === 'string' ? length : length.toString(8).padStart(11, '0'), 124, 12, 'latin1');
  block.write('00000000000', 136);
  block.write('        ', 148);
  block.write(type, 156);
  block.write(link, 157, 100, 'latin1');
  block.write(magic, 257, 'latin1');
  block.write(prefix, 345);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return Buffer.concat([block, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)]);
}
export const END = Buffer.alloc(1024);
export const pax = (...records: [string, string][]): Buffer => paxOf('x', ...records);
export const paxOf = (type: 'x' | 'g', ...records: [string, string][]): Buffer =>
  entry({
    type,
    data: records
      .map(([key, value]) => {
        const rest = ` ${key}=${value}\n`;
        const length = Buffer.byteLength(rest);
        const digits = String(length + String(length + 3).length).length;
        return `${length + digits}${rest}`;
      })
      .join(''),
  });

/**
 * Every operation that takes a path, for tests of the places that paths behind a mount point can reach. `/host` is a
 * mount with a file `f`.
 */
import type { Fs } from 'plait/fs';

/** Every way of reaching a file by its path. */
export const REACHING: Record<string, (fs: Fs, path: string) => unknown> = {
  read: (fs, path) => fs.readFileSync(path),
  write: (fs, path) => fs.writeFileSync(path, 'stolen'),
  append: (fs, path) => fs.appendFileSync(path, 'stolen'),
  open: (fs, path) => fs.closeSync(fs.openSync(path, 'r+')),
  create: (fs, path) => fs.closeSync(fs.openSync(path, 'a+')),
  truncate: (fs, path) => fs.truncateSync(path, 0),
  stat: (fs, path) => fs.statSync(path),
  access: (fs, path) => fs.accessSync(path),
  chmod: (fs, path) => fs.chmodSync(path, 0o777),
  chown: (fs, path) => fs.chownSync(path, 12345, 12345),
  utimes: (fs, path) => fs.utimesSync(path, 1, 1),
  copyFrom: (fs, path) => fs.copyFileSync(path, '/stolen'),
  copyTo: (fs, path) => fs.copyFileSync('/host/f', path),
  realpath: (fs, path) => fs.realpathSync(path),
  statfs: (fs, path) => fs.statfsSync(path),
  watch: (fs, path) => fs.watch(path).close(),
};
/** Every way of reaching a directory, or a name in it. */
export const REACHING_IN: Record<string, (fs: Fs, path: string) => unknown> = {
  readdir: (fs, path) => fs.readdirSync(path),
  opendir: (fs, path) => fs.opendirSync(path).closeSync(),
  mkdir: (fs, path) => fs.mkdirSync(`${path}/made`),
  mkdirAll: (fs, path) => fs.mkdirSync(`${path}/made/deep`, { recursive: true }),
  mkdtemp: (fs, path) => fs.mkdtempSync(`${path}/temp`),
  unlink: (fs, path) => fs.unlinkSync(`${path}/secret`),
  rmdir: (fs, path) => fs.rmdirSync(`${path}/`),
  renameFrom: (fs, path) => fs.renameSync(`${path}/secret`, '/host/stolen'),
  renameTo: (fs, path) => fs.renameSync('/host/f', `${path}/put`),
  linkFrom: (fs, path) => fs.linkSync(`${path}/secret`, '/host/stolen'),
  linkTo: (fs, path) => fs.linkSync('/host/f', `${path}/put`),
  symlink: (fs, path) => fs.symlinkSync('x', `${path}/put`),
  lstat: (fs, path) => fs.lstatSync(`${path}/secret`),
  readlink: (fs, path) => fs.readlinkSync(`${path}/secret`),
  lutimes: (fs, path) => fs.lutimesSync(`${path}/secret`, 1, 1),
  create: (fs, path) => fs.writeFileSync(`${path}/put`, 'put'),
};

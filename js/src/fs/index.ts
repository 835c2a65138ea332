/**
 * plait/fs: files in shared memory with the API of node:fs, at the same speed for every thread.
 *
 * Importing this module attaches the calling thread to the common space; all threads of the space have the same files.
 * Paths start at the root of these files, with or without a leading slash: there is no working directory.
 */

import { commonSpace, isSupported } from '../core/boot.ts';
import { threadWide } from '../core/thread-wide.ts';
import { createFs, type Fs } from './files.ts';
import type { BigIntStats as OwnBigIntStats } from './stats.ts';
import { FsWatcher as OwnFsWatcher } from './watch.ts';

export { PlaitError, type PlaitErrorCode } from '../core/errors.ts';
export type { MappedFile, ReadFileOptions, ReadOptions, WriteFileOptions } from './contents.ts';
export type { AsyncCopyOptions, CopyOptions } from './cp.ts';
export type { DirOptions } from './dir.ts';
export type { FsError } from './errors.ts';
export { createFs, type Fs } from './files.ts';
export type { GlobOptions } from './glob.ts';
export type { Lines } from './handle.ts';
export type { MountInfo, MountOptions } from './mount-table.ts';
export type { StatsFs } from './stats.ts';
export type { ReadStreamClass, WriteStreamClass } from './streams.ts';
export type { RmdirOptions, StatOptions } from './sync.ts';
export type { ExportTarOptions } from './tar-export.ts';
export type { AsyncTarSource, ImportTarOptions, ImportTarResult, TarSource } from './tar-import.ts';
export type { ReaddirOptions, RmOptions } from './tree.ts';
export type { FsEncoding, PathLike, TimeLike } from './values.ts';
export type { WatchEvent, WatchOptions } from './watch.ts';

isSupported(); // importing attaches the thread if possible, and lets threads started from here find the space

/**
 * All functions in one object, for programs that take a file system. A thread has one, even if it loads several copies
 * of this module.
 */
export const fs: Fs = threadWide('fs', () => createFs(commonSpace));
export default fs;

// The classes are those of the copy that made `fs`, so that `instanceof` says the same in each. Where the types of Node
// are known, so are their types.
type Instance<Class> = Class extends { readonly prototype: infer Type } ? Type : never;
export const Dir: Fs['Dir'] = fs.Dir;
export type Dir = Instance<Fs['Dir']>;
export const FileHandle: Fs['FileHandle'] = fs.FileHandle;
export type FileHandle = Awaited<ReturnType<Fs['promises']['open']>>;
export const Stats: Fs['Stats'] = fs.Stats;
export type Stats = Instance<Fs['Stats']>;
export const BigIntStats: Fs['BigIntStats'] = fs.BigIntStats;
export type BigIntStats = OwnBigIntStats;
export const Dirent: Fs['Dirent'] = fs.Dirent;
export type Dirent = NonNullable<ReturnType<Dir['readSync']>>; // not the class's: that is one of names of any kind
export const ReadStream: Fs['ReadStream'] = fs.ReadStream;
export type ReadStream = Instance<Fs['ReadStream']>;
export const WriteStream: Fs['WriteStream'] = fs.WriteStream;
export type WriteStream = Instance<Fs['WriteStream']>;
export const FsWatcher: typeof OwnFsWatcher = threadWide('FsWatcher', () => OwnFsWatcher);
export type FsWatcher = OwnFsWatcher;

export const access: Fs['access'] = fs.access;
export const accessSync: Fs['accessSync'] = fs.accessSync;
export const appendFile: Fs['appendFile'] = fs.appendFile;
export const appendFileSync: Fs['appendFileSync'] = fs.appendFileSync;
export const chmod: Fs['chmod'] = fs.chmod;
export const chmodSync: Fs['chmodSync'] = fs.chmodSync;
export const chown: Fs['chown'] = fs.chown;
export const chownSync: Fs['chownSync'] = fs.chownSync;
export const close: Fs['close'] = fs.close;
export const closeSync: Fs['closeSync'] = fs.closeSync;
export const constants: Fs['constants'] = fs.constants;
export const copyFile: Fs['copyFile'] = fs.copyFile;
export const copyFileSync: Fs['copyFileSync'] = fs.copyFileSync;
export const cp: Fs['cp'] = fs.cp;
export const cpSync: Fs['cpSync'] = fs.cpSync;
export const createReadStream: Fs['createReadStream'] = fs.createReadStream;
export const createWriteStream: Fs['createWriteStream'] = fs.createWriteStream;
export const exists: Fs['exists'] = fs.exists;
export const existsSync: Fs['existsSync'] = fs.existsSync;
export const exportTar: Fs['exportTar'] = fs.exportTar;
export const fchmod: Fs['fchmod'] = fs.fchmod;
export const fchmodSync: Fs['fchmodSync'] = fs.fchmodSync;
export const fchown: Fs['fchown'] = fs.fchown;
export const fchownSync: Fs['fchownSync'] = fs.fchownSync;
export const fdatasync: Fs['fdatasync'] = fs.fdatasync;
export const fdatasyncSync: Fs['fdatasyncSync'] = fs.fdatasyncSync;
export const fstat: Fs['fstat'] = fs.fstat;
export const fstatSync: Fs['fstatSync'] = fs.fstatSync;
export const fsync: Fs['fsync'] = fs.fsync;
export const fsyncSync: Fs['fsyncSync'] = fs.fsyncSync;
export const ftruncate: Fs['ftruncate'] = fs.ftruncate;
export const ftruncateSync: Fs['ftruncateSync'] = fs.ftruncateSync;
export const futimes: Fs['futimes'] = fs.futimes;
export const futimesSync: Fs['futimesSync'] = fs.futimesSync;
export const glob: Fs['glob'] = fs.glob;
export const globSync: Fs['globSync'] = fs.globSync;
export const importTar: Fs['importTar'] = fs.importTar;
export const lchown: Fs['lchown'] = fs.lchown;
export const lchownSync: Fs['lchownSync'] = fs.lchownSync;
export const link: Fs['link'] = fs.link;
export const linkSync: Fs['linkSync'] = fs.linkSync;
export const lockSync: Fs['lockSync'] = fs.lockSync;
export const lstat: Fs['lstat'] = fs.lstat;
export const lstatSync: Fs['lstatSync'] = fs.lstatSync;
export const lutimes: Fs['lutimes'] = fs.lutimes;
export const lutimesSync: Fs['lutimesSync'] = fs.lutimesSync;
export const mapSync: Fs['mapSync'] = fs.mapSync;
export const mkdir: Fs['mkdir'] = fs.mkdir;
export const mkdirSync: Fs['mkdirSync'] = fs.mkdirSync;
export const mkdtemp: Fs['mkdtemp'] = fs.mkdtemp;
export const mkdtempSync: Fs['mkdtempSync'] = fs.mkdtempSync;
export const mount: Fs['mount'] = fs.mount;
export const mounts: Fs['mounts'] = fs.mounts;
export const open: Fs['open'] = fs.open;
export const openSync: Fs['openSync'] = fs.openSync;
export const opendir: Fs['opendir'] = fs.opendir;
export const opendirSync: Fs['opendirSync'] = fs.opendirSync;
export const promises: Fs['promises'] = fs.promises;
export const read: Fs['read'] = fs.read;
export const readFile: Fs['readFile'] = fs.readFile;
export const readFileSync: Fs['readFileSync'] = fs.readFileSync;
export const readSync: Fs['readSync'] = fs.readSync;
export const readdir: Fs['readdir'] = fs.readdir;
export const readdirSync: Fs['readdirSync'] = fs.readdirSync;
export const readlink: Fs['readlink'] = fs.readlink;
export const readlinkSync: Fs['readlinkSync'] = fs.readlinkSync;
export const readv: Fs['readv'] = fs.readv;
export const readvSync: Fs['readvSync'] = fs.readvSync;
export const realpath: Fs['realpath'] = fs.realpath;
export const realpathSync: Fs['realpathSync'] = fs.realpathSync;
export const rename: Fs['rename'] = fs.rename;
export const renameSync: Fs['renameSync'] = fs.renameSync;
export const rm: Fs['rm'] = fs.rm;
export const rmSync: Fs['rmSync'] = fs.rmSync;
export const rmdir: Fs['rmdir'] = fs.rmdir;
export const rmdirSync: Fs['rmdirSync'] = fs.rmdirSync;
export const setLimits: Fs['setLimits'] = fs.setLimits;
export const stat: Fs['stat'] = fs.stat;
export const statSync: Fs['statSync'] = fs.statSync;
export const statfs: Fs['statfs'] = fs.statfs;
export const statfsSync: Fs['statfsSync'] = fs.statfsSync;
export const symlink: Fs['symlink'] = fs.symlink;
export const symlinkSync: Fs['symlinkSync'] = fs.symlinkSync;
export const truncate: Fs['truncate'] = fs.truncate;
export const truncateSync: Fs['truncateSync'] = fs.truncateSync;
export const unmount: Fs['unmount'] = fs.unmount;
export const unlink: Fs['unlink'] = fs.unlink;
export const unlinkSync: Fs['unlinkSync'] = fs.unlinkSync;
export const unlockSync: Fs['unlockSync'] = fs.unlockSync;
export const unwatchFile: Fs['unwatchFile'] = fs.unwatchFile;
export const utimes: Fs['utimes'] = fs.utimes;
export const utimesSync: Fs['utimesSync'] = fs.utimesSync;
export const watch: Fs['watch'] = fs.watch;
export const watchFile: Fs['watchFile'] = fs.watchFile;
export const write: Fs['write'] = fs.write;
export const writeFile: Fs['writeFile'] = fs.writeFile;
export const writeFileSync: Fs['writeFileSync'] = fs.writeFileSync;
export const writeSync: Fs['writeSync'] = fs.writeSync;
export const writev: Fs['writev'] = fs.writev;
export const writevSync: Fs['writevSync'] = fs.writevSync;
export const check: Fs['check'] = fs.check;

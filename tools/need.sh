#!/bin/sh
# need.sh COMMAND PACKAGE [PROBE PACKAGE]: makes sure that a command (and what PROBE asks for) is there.
# Installs the Debian package where it is missing and this user may; else says in one line what to install, and fails.
set -u

provide() { # package
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing the Debian package $1" >&2
    exec 9>/run/plait-apt.lock && flock 9 # make -j may install several packages at a time
    { apt-get install -y -qq "$1" || { apt-get update -qq && apt-get install -y -qq "$1"; }; } >/dev/null 2>&1 && return
  fi
  echo "missing: $1. Install it, for example: sudo apt-get install $1" >&2
  exit 1
}

command -v "$1" >/dev/null 2>&1 || provide "$2"
if [ $# -ge 4 ]; then
  sh -c "$3" >/dev/null 2>&1 || provide "$4"
fi

#!/usr/bin/env bash
# run.sh BUILD: installs BUILD into a new folder, builds the consumer against it, runs it and the installed command.
set -euo pipefail
build=$1 here=$(cd "$(dirname "$0")" && pwd) work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >/dev/null
# The compiler and flags of BUILD: a sanitized library links only into a sanitized program.
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
cmake -S "$here" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DCMAKE_CXX_COMPILER="$(cached CMAKE_CXX_COMPILER)" -DCMAKE_CXX_FLAGS="$(cached CMAKE_CXX_FLAGS)" >/dev/null
cmake --build "$work/consumer" >/dev/null
cd "$work"
env -u SERVEGRID_DATA SERVEGRID_DATA="$work/prefix/share/servegrid" "$work/consumer/consumer"
# The command finds its data from where it is installed, and its SimGrid plugin too.
env -u SERVEGRID_DATA "$work/prefix/bin/servegrid" size --model llama-3.1-8b --gpu h100-sxm --quiet >/dev/null
env -u SERVEGRID_DATA "$work/prefix/bin/servegrid" run --model llama-3.1-8b --gpu h100-sxm --isl 100 --osl 10 \
  --concurrency 2 --quiet >/dev/null
echo "install: find_package, the library, the command and its data work from a new prefix"

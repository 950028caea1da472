#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The benchmark tables. usage: run.sh BUILD_FOLDER [options of table.py]
#                              run.sh BUILD_FOLDER --catalogue [its options]
# First the hand-written kernel and the bandwidths alone, then every table.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1
shift
if [ "${1:-}" = --catalogue ]; then
  shift
  exec python3 "$here/catalogue.py" "$build/bin/torsor" "$@"
fi
[ $# -gt 0 ] || "$build/bin/bench-yardstick"
python3 "$here/table.py" "$build/bin/torsor" "$@"

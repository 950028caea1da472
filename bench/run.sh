#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The benchmark tables. usage: run.sh BUILD_FOLDER [options of table.py]
# First the hand-written kernel and the bandwidths alone, then every table.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1
shift
[ $# -gt 0 ] || "$build/bin/bench-yardstick"
python3 "$here/table.py" "$build/bin/torsor" "$@"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The benchmark tables. usage: run.sh BUILD_FOLDER [--json]
# Ratios are to peaks measured in the same process; the first table shows those
# peaks and the hand-written kernel.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1
shift
scheme=$here/../examples/llama31.torsor
torsor=$build/bin/torsor

"$build/bin/bench-yardstick"
for width in 64 128; do
  for length in 512 2048; do
    "$torsor" bench "$here/full.torsor" --set width=$width --kernel prefill \
      --heads 2/1 --queries "$length" --keys "$length" "$@"
    "$torsor" bench "$scheme" --set width=$width --kernel prefill \
      --heads 2/1 --queries "$length" --keys "$length" "$@"
  done
done
for dtype in bf16 f16; do
  "$torsor" bench "$scheme" --kernel prefill --dtype "$dtype" --heads 2/1 \
    --queries 2048 --keys 2048 "$@"
done
for group in 1 4 8; do
  for dtype in f32 bf16; do
    "$torsor" bench "$scheme" --kernel decode --dtype "$dtype" \
      --heads "$((2 * group))/2" --queries 1 --keys 32768 "$@"
  done
done
"$torsor" bench "$scheme" --kernel prefill --heads 8/2 --queries 2048 \
  --keys 2048 --threads 2 "$@"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The main job from end to end. usage: demo.sh BUILD_FOLDER
set -eu
here=$(cd "$(dirname "$0")" && pwd)
torsor=$1/bin/torsor
data=$here/../test/data
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

echo
echo "1. The scheme, as a user writes it ($here/llama31.torsor):"
sed 's/^/     /' "$here/llama31.torsor"
echo
echo "2. What the compiler makes of it:"
"$torsor" explain "$here/llama31.torsor" | sed 's/^/     /'
echo
echo "3. Compiled ahead of time:"
"$torsor" compile "$here/llama31.torsor" -o "$out/llama31"
ls -l "$out" | sed 1d | awk '{print "     " $5 " bytes  " $NF}'
echo
echo "4. On real queries, keys and values (SmolLM2-135M, layer 14), against the exact reference:"
"$torsor" run "$here/llama31.torsor" --set width=64 --kernel prefill \
  --q "$data/smollm2-l14-q.npy" --k "$data/smollm2-l14-k.npy" \
  --v "$data/smollm2-l14-v.npy" --out "$out/o.npy" --compare
echo
echo "5. SmolLM2's own scheme against what the model computed:"
"$torsor" run "$here/smollm2.torsor" --kernel prefill \
  --q "$data/smollm2-l14-q.npy" --k "$data/smollm2-l14-k.npy" \
  --v "$data/smollm2-l14-v.npy" --out "$out/o.npy" --lse "$out/lse.npy" \
  --expect "$data/smollm2-l14-o.npy"
echo
echo "6. Its speed on this machine, one thread, as a share of the measured peak:"
"$torsor" bench "$here/llama31.torsor" --kernel prefill --dtype f32 \
  --heads 8/2 --batch 1 --queries 2048 --keys 2048 --threads 1

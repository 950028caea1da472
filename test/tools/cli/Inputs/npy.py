# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: npy.py FILE TYPE SHAPE [SEED [FIRST]]: writes an array, without NumPy.

TYPE is f4, f8, i4, i8 or b1; SHAPE as 1,2,3. Reals are pseudo-random in -1 … 1
by SEED; integers count FIRST (0), … along the last axis, divided by SEED, and
are -1 below 0.
"""
import random
import struct
import sys

path, kind, shape = sys.argv[1:4]
seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
first = int(sys.argv[5]) if len(sys.argv) > 5 else 0
shape = [int(n) for n in shape.split(",")]
count = 1
for n in shape:
    count *= n
if kind[0] == "f":
    rng = random.Random(seed)
    values = [rng.uniform(-1, 1) for _ in range(count)]
else:
    values = [max((first + n % shape[-1]) // seed, -1) for n in range(count)]
code = {"f4": "f", "f8": "d", "i4": "i", "i8": "q", "b1": "?"}[kind]
descr = ("|" if kind == "b1" else "<") + kind
header = "{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }" % (
    descr, ", ".join(map(str, shape)))
header += " " * (63 - (10 + len(header)) % 64) + "\n"
with open(path, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    file.write(struct.pack(f"<{count}{code}", *values))

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: newcomer.py TORSOR FOLDER: schemes that stand in no example are checked,
explained, compiled, and run on drawn tensors against the reference."""
import array
import itertools
import os
import random
import struct
import subprocess
import sys

torsor, folder = sys.argv[1:]
os.chdir(folder)
draw = random.Random(1)
BATCH, HEADS, GROUPS, LENGTH = 2, 4, 2, 70
CODES = {"<f4": "f", "<f8": "d", "<i4": "i", "|b1": "b"}


def save(name, shape, kind, values):
    header = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (
        kind, "".join(f"{n}, " for n in shape))
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(name + ".npy", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                   header.encode() + array.array(CODES[kind], values).tobytes())


def size(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count


def normal(name, *shape):
    save(name, shape, "<f4", [draw.gauss(0, 1) for _ in range(size(shape))])


# Of each scheme: width of heads and of values, its params (shapes), values per
# token (a function of the token's number and the draw), and the text.
SCHEMES = {
    "partial": (128, 128, {}, {}, """
      action split(rope(32, base = 10_000)) + zero(96)
      bias   if h mod 2 == 1 then -alibi_slope(h, heads = H) * age else 0
      softcap 30
      mask   causal"""),
    "turns": (64, 64, {"w": (3, 3)},
              {"turn_id": ("<i4", lambda n: n // 9), "role": ("<i4", lambda n: n * n % 3)}, """
      head   64
      input  turn_id: i32 per token
      input  role: i32 per token in 0 .. 2
      param  w: f32[3, 3]
      bias   w[role[i], role[j]]
      mask   causal and (turn_id[i] - turn_id[j] <= 2 or role[j] == 0)"""),
    "capped": (64, 64, {}, {}, """
      let r = rope(32, base = 1e5)
      action split(if age < 40 then r else r at (q = 40, k = 0)) + zero(32)
      scale  log_n(16) / sqrt(D)
      mask   window(50)"""),
    "beats": (16, 16, {}, {"beat": ("<f8", lambda n: 0.6 * n + 0.2 * (n % 3))}, """
      clock  beat: f64 rising
      action split(rotation([1, 0.5, 0.25, 0.125])) + decay(8, rate = 0.01) at beat
      mask   causal"""),
    "spectra": (32, 32, {"f": (HEADS, 16), "level": (HEADS,)}, {}, """
      param  f: f32[H, 16] in -9 .. 9
      param  level: f32[H]
      norm   rms(eps = 1e-6)
      action split(sum p < 16: turn(f[h, p]))
      sink   level[h]
      mask   causal and i - j < 30"""),
    "gated": (32, 32, {}, {"gate": ("<f4", lambda n: (n * 37 % 101) / 101)}, """
      head   32
      input  gate: f32 per token in 0 .. 1
      clock  c = sum l <= j: 0.1 * (1 + h) * gate[l]
      bias   -age(c)
      mask   causal"""),
    "near_rows": (16, 16, {"e": (21, 16)}, {}, """
      head   16
      param  e: f32[21, 16]
      bias   dot(q[i], e[clamp(j - i, -10, 10) + 10]) / 4
      value_bias e[clamp(j - i, -10, 10) + 10]
      mask   all"""),
    "squared": (24, 24, {}, {}, """
      head   24
      logit  max(score / sqrt(D), 0) ^ 2
      mask   causal
      readout linear / max(total, 1)"""),
    "teeth": (40, 24, {}, {}, """
      head   40
      value  24
      bias   -0.3 * ((i - j) mod 7) / 7 - 0.001 * age
      mask   last(60)"""),
    "plane_of_two": (8, 8, {}, {}, """
      let u = [1, 0, 0, 0, 0, 0, 0, 0]
      let v = [0, 1, 1, 0, 0, 0, 0, 0]
      action plane(0.3, a = u, b = v)
      mask   causal"""),
    "turned_values": (32, 32, {}, {}, """
      action split(rope(32, base = 1e4))
      value_action split(rope(32, base = 1e4))
      mask   causal and chunk(32)"""),
    "two_axes": (64, 64, {},
                 {"row": ("<i4", lambda n: n // 10), "col": ("<i4", lambda n: n % 10)}, """
      clock  row, col
      action adjacent(sum p < 8: turn(2 * pi * 2 ^ p / 640) at (if p mod 2 == 0 then row else col)) + zero(48)
      mask   abs(row[i] - row[j]) <= 2"""),
    "chat": (64, 64, {"slope": (HEADS,)},
             {"seconds": ("<f8", lambda n: 40.0 * n + 0.5 * (n % 3))}, """
      clock  seconds: f64 rising
      param  slope: f32[H]
      action split(rope(64, base = 10_000))
      bias   -0.001 * exp(slope[h]) * age(seconds)
      mask   causal and age(seconds) < 1800"""),
    "video": (128, 128, {}, {"frame": ("<i4", lambda n: n // 12),
                             "row": ("<i4", lambda n: n % 12 // 4),
                             "col": ("<i4", lambda n: n % 4)}, """
      clock  frame
      clock  row
      clock  col
      norm   l2
      action adjacent(rope(32, base = 1e4)) at frame + adjacent(rope(48, base = 1e3)) at row + adjacent(rope(48, base = 1e3)) at col
      scale  10
      mask   frame[j] <= frame[i]"""),
    "code": (96, 96, {"near": (HEADS, 32, 32)},
             {"depth": ("<i4", lambda n: n * n % 7)}, """
      head   96
      input  depth: i32 per token in 0 .. 31
      param  near: f32[H, 32, 32]
      bias   near[h, depth[i], depth[j]] - 0.01 * log1p(age)
      mask   causal and (i - j < 25 or depth[j] == 0)"""),
    "warped": (64, 64, {}, {}, """
      let r = rope(64, base = 10_000)
      action split(if age < 20 then r else r at (q = floor(20 * log2(s + 1)), k = floor(20 * log2(t + 1))))
      mask   causal"""),
    "odd_tokens": (32, 32, {}, {}, """
      head   32
      bias   (sum l in j + 1 .. i: -0.01 * (l mod 2))
      mask   causal and j mod 5 != 3"""),
}


def run(*command):
    ran = subprocess.run([torsor, *command], text=True, capture_output=True)
    assert ran.returncode == 0, (command, ran.stdout, ran.stderr)
    return ran.stdout


for name, (head, value, params, tokens, text) in SCHEMES.items():
    with open(name + ".torsor", "w", encoding="utf-8") as file:
        file.write(f"torsor 1\nscheme {name} {{{text}\n}}\n")
    assert run("check", name + ".torsor") == ""
    assert f"scheme {name}: heads {head} wide" in run("explain", name + ".torsor")
    run("compile", name + ".torsor", "-o", name, "--target", "native")
    normal("k", BATCH, GROUPS, LENGTH, head)
    normal("v", BATCH, GROUPS, LENGTH, value)
    for param, shape in params.items():
        normal(param, *shape)
    for kernel, queries in (("prefill", LENGTH), ("decode", 3)):
        normal("q", BATCH, HEADS, queries, head)
        options = itertools.chain(*(["--bind", f"{p}={p}.npy"] for p in params))
        options = list(options)
        for token, (kind, value_of) in tokens.items():
            values = [value_of(n) for n in range(LENGTH)]
            save(token, (BATCH, LENGTH), kind, values * BATCH)
            save("of_q", (BATCH, queries), kind, values[LENGTH - queries:] * BATCH)
            os.replace("of_q.npy", f"q_{token}.npy")
            both = token != "gate"  # a sum is over keys
            options += ["--clock" if f"clock  {token}" in text or token == "col" else "--bind",
                        f"{token}={f'q_{token}.npy,' if both else ''}{token}.npy"]
        said = run("run", name + ".torsor", "--kernel", kernel, "--q", "q.npy", "--k",
                   "k.npy", "--v", "v.npy", "--compare", *options)
        assert "within the bound" in said and "ABOVE" not in said, (name, said)

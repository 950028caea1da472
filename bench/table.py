#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of speeds: floor, goal, measured, hand-written kernel, error.

usage: table.py TORSOR [--section NAME]... [--seconds S] [--list]

Every row is a run of `torsor bench --check`, which measures the kernel, the
machine's peak and the hand-written kernel in turn; shares are of that peak.
Rows that compare two kernels run both, and give the ratio of their times for
each useful flop.
"""
import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = os.path.join(HERE, "cases.torsor")


class Table:
    def __init__(self, torsor, seconds, sections):
        self.torsor, self.seconds, self.sections = torsor, seconds, sections
        self.failed = []

    def bench(self, scheme, width, heads, keys, queries=None,
              kernel="prefill", **options):
        command = [self.torsor, "bench", CASES, "--scheme", scheme,
                   "--set", f"width={width}", "--kernel", kernel,
                   "--heads", heads, "--keys", str(keys),
                   "--queries", str(queries or keys), "--json",
                   "--seconds", str(options.pop("seconds", self.seconds))]
        for name, value in options.items():
            command.append(f"--{name}")
            if value is not True:
                command.append(str(value))
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        return json.loads(done.stdout)

    def section(self, title, columns):
        wanted = not self.sections or any(s in title for s in self.sections)
        if wanted:
            print(f"\n### {title}\n")
            print("| " + " | ".join(columns) + " |")
            print("|" + "---|" * len(columns), flush=True)
        return wanted

    def row(self, *cells):
        print("| " + " | ".join(cells) + " |", flush=True)

    def share(self, label, floor, goal, result, of="fraction_of_peak"):
        """One row of a share of the peak, in percent."""
        measured = 100 * result[of]
        self.judge(label, measured >= floor)
        ratio = result.get("ratio_to_yardstick")
        self.row(label, f"{floor}", f"{goal}" if goal else "",
                 f"{measured:.1f}" + ("" if measured >= floor else " *"),
                 f"{ratio:.2f}" if ratio else "",
                 f"{result['largest_error']:.1e}")

    def cost(self, label, most, goal, ratio):
        """One row of a ratio that must not be more than `most`."""
        self.judge(label, ratio <= most)
        self.row(label, f"{most}", f"{goal}" if goal else "",
                 f"{ratio:.3f}" + ("" if ratio <= most else " *"))

    def judge(self, label, holds):
        if not holds:
            self.failed.append(label)


SHARE = ["% of the FMA peak", "floor", "goal", "measured", "hand-written",
         "largest error"]
COST = ["ratio", "at most", "goal", "measured"]


def work(result):
    """The time in units of the peak, so that the clock's rate does not count:
    it drifts from run to run."""
    return result["seconds"] * result["peak_gflops"]


def pair_work(result, pairs):
    """The same for each pair that the mask shows."""
    return work(result) / (pairs * result["heads"] * result["batch"])


def causal(length):
    return length * (length + 1) / 2


def lengths(t):
    goals = {("full", 128): [(85, 90), (88, 92), (90, 93)],
             ("full", 64): [(83, 88), (86, 90), (87, 91)],
             ("rotary", 128): [(74, 83), (83, 89), (86, 91)],
             ("rotary", 64): [(74, 82), (82, 87), (85, 89)]}
    for (scheme, width), rows in goals.items():
        name = "full" if scheme == "full" else "causal"
        if not t.section(f"Lengths, f32 {name}, D={width}, heads 2/1", SHARE):
            continue
        for length, (floor, goal) in zip((512, 1024, 2048), rows):
            # A longer run meets fewer quiet moments in the same time.
            t.share(f"L={length}", floor, goal,
                    t.bench(scheme, width, "2/1", length, check=True,
                            seconds=t.seconds * length / 512))


def widths(t):
    if not t.section("Widths, f32 causal, heads 2/1, L=1024", SHARE):
        return
    base = t.bench("rotary", 128, "2/1", 1024, check=True)
    floor = round(100 * base["fraction_of_peak"] - 6, 1)
    t.share("D=128 (the rest within 6 points)", floor, 0, base)
    for width in (80, 96, 112, 192, 256):
        t.share(f"D={width}", floor, 0,
                t.bench("rotary", width, "2/1", 1024, check=True))


def values(t):
    if not t.section("Values of another width, f32 causal, heads 2/1, L=1024",
                     SHARE):
        return
    for width, value in ((128, 64), (64, 128), (192, 128), (128, 72)):
        t.share(f"D={width}, V={value}", 74, 0,
                t.bench("uneven", width, "2/1", 1024, set=f"values={value}",
                        check=True))


def small(t):
    if not t.section("Small and grouped, f32, D=128, heads 8/2", SHARE):
        return
    t.share("full, L=128", 80, 0, t.bench("full", 128, "8/2", 128, check=True))
    t.share("causal, L=128", 62, 72,
            t.bench("rotary", 128, "8/2", 128, check=True))
    t.share("32 queries, 4096 keys", 80, 0,
            t.bench("full", 128, "8/2", 4096, 32, check=True))


def types(t):
    if not t.section("Types, causal, D=128, L=1024, heads 2/1", COST):
        return
    f32 = t.bench("rotary", 128, "2/1", 1024)
    for dtype in ("f16", "bf16"):
        other = t.bench("rotary", 128, "2/1", 1024, dtype=dtype)
        same = other["peak_of"] == f32["peak_of"]
        t.cost(f"time of {dtype} / f32", 1.0, 0,
               work(other) / work(f32) if same
               else other["seconds"] / f32["seconds"])


def dots(t):
    """Only where the machine multiplies bf16 in pairs."""
    if t.sections and not any(s in "bf16" for s in t.sections):
        return
    level = "x86-64-v4+avx512bf16"
    with open("/proc/cpuinfo") as cpu:
        if "avx512_bf16" not in cpu.read():
            return
    goals = {("full", 128): [(80, 87), (83, 89), (85, 90)],
             ("full", 64): [(77, 83), (79, 85), (80, 86)],
             ("rotary", 128): [(70, 80), (78, 86), (81, 88)]}
    t.section("bf16, of the peak of dpbf16, heads 2/1", SHARE)
    for (scheme, width), rows in goals.items():
        for length, (floor, goal) in zip((512, 1024, 2048), rows):
            name = "full" if scheme == "full" else "causal"
            t.share(f"{name}, D={width}, L={length}", floor, goal,
                    t.bench(scheme, width, "2/1", length, dtype="bf16",
                            target=level, check=True))


def decode(t):
    columns = ["% of the read bandwidth"] + SHARE[1:]
    if not t.section("Decode of 32768 keys, D=128", columns):
        return
    for dtype in ("f32", "bf16"):
        for group in (1, 2, 4):
            t.share(f"{dtype}, {group} queries a key head", 85, 95,
                    t.bench("rotary", 128, f"{2 * group}/2", 32768, 1,
                            kernel="decode", dtype=dtype, check=True),
                    "fraction_of_bandwidth")
        t.share(f"{dtype}, 8 queries a key head, of the roofline", 55, 80,
                t.bench("rotary", 128, "16/2", 32768, 1, kernel="decode",
                        dtype=dtype, check=True), "fraction_of_roofline")


def masks(t):
    if not t.section("Masks, f32, D=128, heads 2/1, per visible pair", COST):
        return
    full = t.bench("full", 128, "2/1", 4096)
    base = pair_work(full, 4096 * 4096)
    window = t.bench("window", 128, "2/1", 16384)
    t.cost("window 1024 of 16384 / full", 1.25, 1.15,
           pair_work(window, causal(1024) + 1024 * (16384 - 1024)) / base)
    pairs = causal(512) * 16
    chunks = t.bench("chunks", 128, "2/1", 8192)
    t.cost("chunks of 512 of 8192 / full", 1.3, 0,
           pair_work(chunks, pairs) / base)
    documents = t.bench("documents", 128, "2/1", 8192, segment=512)
    t.cost("documents of 512 of 8192 / full", 1.3, 0,
           pair_work(documents, pairs) / base)


def positions(t):
    if not t.section("Positions, f32 causal, heads 2/1, L=1024, "
                     "against none", COST):
        return
    for width, most in ((64, 1.04), (128, 1.02)):
        plain = t.bench("plain", width, "2/1", 1024)
        for scheme, name, limit in (("rotary", "RoPE", 1.02),
                                    ("line", "ALiBi", most),
                                    ("curve", "log of the distance", most)):
            t.cost(f"{name}, D={width}", limit, 0,
                   work(t.bench(scheme, width, "2/1", 1024)) / work(plain))


def batches(t):
    if not t.section("Batches and threads, f32 causal, D=128", COST):
        return
    one = t.bench("rotary", 128, "8/2", 128)
    many = t.bench("rotary", 128, "8/2", 128, batch=32)
    t.cost("32 sequences of 128 / 32 times one", 1.1, 0,
           work(many) / (32 * work(one)))
    for length, least in ((128, 1.6), (512, 1.85), (2048, 1.85)):
        # By wall clock both: two threads cannot be timed by CPU time.
        single = t.bench("rotary", 128, "8/2", length, wall=True)
        double = t.bench("rotary", 128, "8/2", length, threads=2)
        speedup = single["seconds"] / double["seconds"]
        t.judge(f"two threads, L={length}", speedup >= least)
        t.row(f"two threads, L={length}: times as fast, at least {least}", "",
              "1.95" if length > 128 else "",
              f"{speedup:.2f}" + ("" if speedup >= least else " *"))


def growth(t):
    if not t.section("Growth, f32 causal, D=64, heads 1/1, per visible pair "
                     "against L=1024", COST):
        return
    first = pair_work(t.bench("rotary", 64, "1/1", 1024), causal(1024))
    for length in (4096, 16384, 65536):
        result = t.bench("rotary", 64, "1/1", length, rounds=3)
        t.cost(f"L={length}", 1.1, 0,
               pair_work(result, causal(length)) / first)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("torsor")
    parser.add_argument("--section", action="append", default=[],
                        help="only sections whose title holds this text")
    parser.add_argument("--seconds", type=float, default=1)
    options = parser.parse_args()
    table = Table(options.torsor, options.seconds, options.section)
    for part in (lengths, widths, values, small, types, dots, masks, positions,
                 batches, growth, decode):
        part(table)
    if table.failed:
        print("\n\\* floor not reached: " + "; ".join(table.failed))


if __name__ == "__main__":
    main()

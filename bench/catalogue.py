#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each scheme of examples/schemes costs beside plain rotary positions.

usage: catalogue.py TORSOR [--only REGEX] [--kernel prefill|decode]
                    [--rounds N] [--seconds S] [--target LEVEL]

Every cell is the time of a kernel over that of rotary positions of the same
shape and mask (bench/cases.torsor), f32, one thread: both are timed in turn, a
few rounds, each by the peak of its own run, and the fastest of each counts. The
limit is 1.05 where the bias depends on the age alone or the work is done for
each key, 1.15 where a bias is gathered or pairs lie in two regions. At the end
decode from pages beside decode from rows.
"""
import argparse
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = os.path.join(HERE, "cases.torsor")
SCHEMES = os.path.join(HERE, "..", "examples", "schemes")

ONCE = 1.05  # by age, or for each key
PAIRS = 1.15  # gathered, or in two regions


class Row:
    """A scheme and the plain one that it is held against."""

    def __init__(self, file, scheme, limit=ONCE, like="rotary", width=None,
                 value=None, length=1024, heads="2/1", kernels=("prefill",
                 "decode"), **options):
        self.file, self.scheme, self.limit = file, scheme, limit
        self.like, self.width, self.value = like, width, value
        self.length, self.heads = length, heads
        self.kernels, self.options = kernels, options

    def own(self):
        command = [os.path.join(SCHEMES, self.file + ".torsor"), "--scheme",
                   self.scheme]
        if self.options.get("open"):
            command += ["--head-width", str(self.width)]
        for name, value in self.options.get("set", {}).items():
            command += ["--set", f"{name}={value}"]
        return command

    def plain(self):
        command = [CASES, "--set", f"width={self.width}"]
        scheme = self.like
        if self.value:
            scheme = "uneven"
            command += ["--set", f"values={self.value}"]
        return command + ["--scheme", scheme]

    def shape(self, kernel):
        if kernel == "prefill":
            return ["--heads", self.heads, "--keys", str(self.length)]
        return ["--kernel", "decode", "--heads", "8/2", "--keys", "4096"]


def rows():
    yield Row("b1_shaw", "shaw", PAIRS, "full", 64)
    yield Row("b2_t5", "encoder", PAIRS, "full", 64, open=True)
    yield Row("b2_t5", "decoder", PAIRS, width=64, open=True)
    for scheme in ("alibi", "mpt", "split_heads"):
        yield Row("b3_alibi", scheme, width=128, open=True,
                  like="full" if scheme == "split_heads" else "rotary")
    yield Row("b3_alibi", "symmetric", like="full", width=128, open=True)
    yield Row("b3_alibi", "asymmetric", like="full", width=128, open=True)
    yield Row("b4_kerple", "kerple_log", width=128, open=True)
    yield Row("b4_kerple", "kerple_power", width=128, open=True)
    yield Row("b5_sandwich", "sandwiched", width=128, open=True)
    yield Row("b6_fire", "fire", PAIRS, width=128, open=True)
    yield Row("b7_cope", "cope", PAIRS, width=64, kernels=("prefill",))
    yield Row("b8_content_position", "transformer_xl", PAIRS, width=64)
    yield Row("b8_content_position", "deberta", PAIRS, "full", 64)
    yield Row("c1_rope", "llama2", width=128)
    yield Row("c2_partial", "gptj", width=256)
    yield Row("c3_prope", "gemma4_global", width=512)
    yield Row("c4_mla", "mla", width=192, value=128)
    yield Row("c4_mla", "deepseek_v3", width=192, value=128)
    yield Row("c5_axial", "pixtral", like="full", width=64)
    yield Row("c5_axial", "mixed", like="full", width=64)
    yield Row("c6_mrope", "mrope", width=128)
    yield Row("c7_shared_kv", "shared_kv", width=512)
    yield Row("c8_timestamps", "events", width=64)
    yield Row("c9_spectra", "learned", width=64)
    yield Row("d3_dynamic_ntk", "dynamic", width=128)
    yield Row("d5_yarn", "yarn_hf", width=128)
    yield Row("d6_llama3", "llama31", width=128)
    yield Row("d7_longrope", "longrope", width=32)
    yield Row("e1_xpos", "xpos64", width=64)
    yield Row("e4_gates", "wall", width=64)
    yield Row("e6_fox", "fox", width=128, open=True)
    yield Row("f1_grape_m", "one_plane", width=64)
    yield Row("f1_grape_m", "learned_basis", width=64)
    yield Row("f1_grape_m", "contextual", width=64)
    yield Row("f2_grape_a", "grape_a", width=64)
    yield Row("f3_grape_ap", "grape_ap", PAIRS, width=64, open=True,
              kernels=("prefill",))
    yield Row("f5_jordan", "jordan_complex", width=64)
    yield Row("f5_jordan", "jordan_real", width=24)
    yield Row("g1_rerope", "rerope", PAIRS, width=128, length=4096)
    yield Row("g2_leaky_rerope", "leaky", PAIRS, width=128, length=4096)
    yield Row("g3_self_extend", "self_extend", PAIRS, width=128, length=4096)
    yield Row("g4_dual_chunk", "dual_chunk", PAIRS, width=128, length=4096,
              set={"size": 512, "trained": 2048})
    yield Row("i2_sinks", "learned_sink", width=64)
    yield Row("i2_sinks", "key_zero", like="full", width=64)
    yield Row("i3_softcap", "capped", PAIRS, width=128)
    yield Row("i3_softcap", "capped_last", PAIRS, width=64)
    yield Row("i4_qk_norm", "qk_norm", width=128)
    yield Row("i5_query_gains", "ministral3", width=128)
    yield Row("i5_query_gains", "logn", width=128)


class Timer:
    def __init__(self, torsor, rounds, seconds, target):
        self.torsor, self.rounds, self.seconds = torsor, rounds, seconds
        self.target = ["--target", target] if target else []

    def work(self, source, shape):
        """Time in units of the peak: the clock drifts from run to run."""
        command = [self.torsor, "bench", *source, *shape, *self.target, "--json",
                   "--rounds", "3", "--seconds", str(self.seconds)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return None, done.stderr.strip().splitlines()[:1]
        result = json.loads(done.stdout)
        return result["seconds"] * result["peak_gflops"], None

    def beside(self, *subjects):
        """The ratio of the fastest of each, timed in turn; or why not."""
        best = [float("inf"), float("inf")]
        for _ in range(self.rounds):
            for n, (source, shape) in enumerate(subjects):
                time, why = self.work(source, shape)
                if why is not None:
                    return why
                best[n] = min(best[n], time)
        return best[0] / best[1]

    def ratio(self, row, kernel):
        shape = row.shape(kernel)
        return self.beside((row.own(), shape), (row.plain(), shape))


def pages(timer):
    print("\n| decode from pages in a random order / from rows, D=128, heads 8/2"
          " | at most | 4096 keys | 32768 keys |")
    print("|---|---|---|---|", flush=True)
    missed = []
    source = Row("", "", width=128).plain()
    for dtype in ("f32", "bf16"):
        for page in (16, 64, 256):
            cells = []
            for keys in (4096, 32768):
                shape = ["--kernel", "decode", "--heads", "8/2", "--dtype",
                         dtype, "--keys", str(keys)]
                ratio = timer.beside((source, shape + ["--page", str(page)]),
                                     (source, shape))
                holds = isinstance(ratio, float) and ratio <= ONCE
                cells.append(f"{ratio:.3f}" + ("" if holds else " *"))
                if not holds:
                    missed.append(f"{dtype}, pages of {page} ({keys} keys)")
            print(f"| {dtype}, pages of {page} keys | {ONCE} | " +
                  " | ".join(cells) + " |", flush=True)
    return missed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("torsor")
    parser.add_argument("--only", default="")
    parser.add_argument("--kernel", choices=("prefill", "decode"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--target", help="a machine level, as of 'torsor bench'")
    options = parser.parse_args()
    timer = Timer(options.torsor, options.rounds, options.seconds,
                  options.target)
    kernels = [options.kernel] if options.kernel else ["prefill", "decode"]
    print("| scheme | shape | at most | " + " | ".join(kernels) + " |")
    print("|" + "---|" * (3 + len(kernels)), flush=True)
    missed = []
    for row in rows():
        name = f"{row.file}: {row.scheme}"
        if not re.search(options.only, name):
            continue
        cells = []
        for kernel in kernels:
            if kernel not in row.kernels:
                cells.append("")
                continue
            ratio = timer.ratio(row, kernel)
            if not isinstance(ratio, float):
                cells.append(" ".join(ratio))
                continue
            holds = ratio <= row.limit
            cells.append(f"{ratio:.3f}" + ("" if holds else " *"))
            if not holds:
                missed.append(f"{row.scheme} ({kernel})")
        shape = f"D={row.width}" + (f", V={row.value}" if row.value else "")
        print(f"| {name} | {shape}, L={row.length} | {row.limit} | " +
              " | ".join(cells) + " |", flush=True)
    if options.kernel != "prefill" and re.search(options.only, "pages"):
        missed += pages(timer)
    if missed:
        print("\n\\* above the limit: " + "; ".join(missed))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times what else a user could run for attention, beside Torsor's kernels.

usage: peers.py BUILD [--ggml FOLDER] [--lengths N,N] [--seconds S] [--decode]

One thread, thread CPU time, the least of many runs, each in turn with a
measurement of the machine's peak of multiply-adds; shares are of that peak and
count useful flops only: 4 D for each visible pair. Peers turn nothing; Torsor's
full kernel has no position either, its causal one turns by Llama 3.1.

Peers that are missing are left out. torch: `pip install torch` in a virtual
environment. ggml: the shared libraries of its CPU back end, as they lie in an
installed llama-cpp-python or come from a build of the sources in its package:
`cmake -S vendor/llama.cpp/ggml -B build -DBUILD_SHARED_LIBS=ON
-DGGML_NATIVE=ON -DGGML_OPENMP=OFF`. oneDNN: the target bench-peer-composed.
"""
import argparse
import ctypes
import functools
import json
import math
import os
import subprocess
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
HERE = os.path.dirname(os.path.abspath(__file__))


class Clock:
    """Shares of the peak, measured in turn with what is timed."""

    def __init__(self, build, seconds):
        self.library = ctypes.CDLL(os.path.join(build, "lib",
                                                "libtorsor_peak.so"))
        self.library.torsorPeakFlops.restype = ctypes.c_double
        self.library.torsorReadBandwidth.restype = ctypes.c_double
        self.seconds = seconds

    def measure(self, work, meter):
        """Seconds of the fastest run, and the best of the meter."""
        work()
        best, ceiling, begin, rounds = math.inf, 0, time.monotonic(), 0
        while rounds < 5 or time.monotonic() - begin < self.seconds:
            ceiling = max(ceiling, meter())
            start = time.thread_time_ns()
            work()
            best = min(best, 1e-9 * (time.thread_time_ns() - start))
            rounds += 1
        return best, ceiling

    def share(self, work, flops):
        best, peak = self.measure(work, self.library.torsorPeakFlops)
        return flops / best / peak

    def of_f32(self, own):
        """The share of the f32 peak of a run that may be one of another."""
        share = own["fraction_of_peak"]
        if own["peak_of"] != "dpbf16":
            return share
        return (share * own["peak_gflops"] * 1e9 /
                self.library.torsorPeakFlops())

    def bandwidth(self, work, size):
        best, rate = self.measure(work, self.library.torsorReadBandwidth)
        return size / best / rate


def flops_of(queries, keys, width, causal):
    pairs = queries * (queries + 1) / 2 if causal else queries * keys
    return 4 * width * pairs


class Torch:
    def __init__(self):
        import torch
        self.torch = torch
        torch.set_num_threads(1)
        torch.manual_seed(1)
        self.version = torch.__version__

    def tensors(self, queries, keys, width, dtype, heads=1):
        kind = {"f32": self.torch.float32, "bf16": self.torch.bfloat16}[dtype]
        return [self.torch.randn(1, heads, n, width).to(kind)
                for n in (queries, keys, keys)]

    def sdpa(self, queries, keys, width, causal, dtype="f32", heads=1):
        attend = self.torch.nn.functional.scaled_dot_product_attention
        q, k, v = self.tensors(queries, keys, width, dtype, heads)

        def work():
            with self.torch.inference_mode():
                attend(q, k, v, is_causal=causal)
        return work

    def flex(self, queries, keys, width, causal, dtype="f32"):
        from torch.nn.attention import flex_attention as flex
        mask = None
        if causal:
            mask = flex.create_block_mask(lambda b, h, i, j: i >= j, None, None,
                                          queries, keys, device="cpu")
        attend = self.torch.compile(flex.flex_attention)
        q, k, v = self.tensors(queries, keys, width, dtype)

        def work():
            with self.torch.inference_mode():
                attend(q, k, v, block_mask=mask)
        return work


class Ggml:
    """ggml_flash_attn_ext on one thread through its C interface."""

    class Parameters(ctypes.Structure):
        _fields_ = [("size", ctypes.c_size_t), ("memory", ctypes.c_void_p),
                    ("no_alloc", ctypes.c_bool)]

    def __init__(self, folder):
        load = functools.partial(ctypes.CDLL, mode=ctypes.RTLD_GLOBAL)
        self.base = load(os.path.join(folder, "libggml-base.so"))
        self.cpu = load(os.path.join(folder, "libggml-cpu.so"))
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        base = self.base
        base.ggml_init.restype, base.ggml_init.argtypes = (
            pointer, [self.Parameters])
        base.ggml_new_tensor_4d.restype = pointer
        base.ggml_new_tensor_4d.argtypes = [pointer, ctypes.c_int] + [number] * 4
        base.ggml_get_data.restype = pointer
        base.ggml_get_data.argtypes = [pointer]
        base.ggml_nbytes.restype = ctypes.c_size_t
        base.ggml_nbytes.argtypes = [pointer]
        base.ggml_flash_attn_ext.restype = pointer
        base.ggml_flash_attn_ext.argtypes = [pointer] * 5 + [ctypes.c_float] * 3
        base.ggml_new_graph.restype = pointer
        base.ggml_new_graph.argtypes = [pointer]
        base.ggml_build_forward_expand.argtypes = [pointer] * 2
        base.ggml_free.argtypes = [pointer]
        self.cpu.ggml_graph_compute_with_ctx.argtypes = [pointer, pointer,
                                                         ctypes.c_int]
        self.cpu.ggml_cpu_init()

    def attention(self, queries, keys, width, causal, half=True):
        """Keys and values in f16, as ggml's users have them, or f32."""
        import numpy
        base = self.base
        size = 64 * (queries + keys) * width + 8 * queries * keys + (64 << 20)
        context = base.ggml_init(self.Parameters(size, None, False))
        random = numpy.random.default_rng(1)

        def tensor(kind, *extents):
            made = base.ggml_new_tensor_4d(context, kind, *extents)
            values = random.standard_normal(math.prod(extents))
            return made, fill(made, values.astype(
                numpy.float16 if kind else numpy.float32))

        def fill(made, values):
            data = values.tobytes()
            assert len(data) == base.ggml_nbytes(made)
            ctypes.memmove(base.ggml_get_data(made), data, len(data))

        q, _ = tensor(0, width, queries, 1, 1)
        k, _ = tensor(int(half), width, keys, 1, 1)
        v, _ = tensor(int(half), width, keys, 1, 1)
        mask = None
        if causal:
            padded = -(-queries // 64) * 64
            mask = base.ggml_new_tensor_4d(context, 1, keys, padded, 1, 1)
            fill(mask, numpy.triu(numpy.full((padded, keys), -numpy.inf), 1)
                 .astype(numpy.float16))
        out = base.ggml_flash_attn_ext(context, q, k, v, mask,
                                       1 / math.sqrt(width), 0, 0)
        graph = base.ggml_new_graph(context)
        base.ggml_build_forward_expand(graph, out)
        return lambda: self.cpu.ggml_graph_compute_with_ctx(context, graph, 1)


def torsor(build, scheme, width, heads, queries, keys, kernel, dtype, seconds):
    command = [os.path.join(build, "bin", "torsor"), "bench",
               os.path.join(HERE, "..", "..", scheme), "--set",
               f"width={width}", "--kernel", kernel, "--heads", heads,
               "--queries", str(queries), "--keys", str(keys), "--dtype", dtype,
               "--seconds", str(seconds), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)


def composed(build, lengths):
    path = os.path.join(build, "bin", "bench-peer-composed")
    if not os.path.exists(path):
        return {}
    lines = subprocess.run([path, *map(str, lengths)], capture_output=True,
                           text=True, check=True).stdout.splitlines()
    return {(r["length"], r["width"], r["causal"]): r["fraction_of_peak"]
            for r in map(json.loads, lines)}


def print_row(label, own, peers, names):
    best = max((peers[name] for name in names if name in peers), default=None)
    cells = [f"{100 * peers[name]:.1f}" if name in peers else ""
             for name in names]
    print(f"| {label} | {100 * own:.1f} | " + " | ".join(cells) +
          f" | {own / best:.2f} |" if best else " | |", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--ggml", metavar="FOLDER")
    parser.add_argument("--lengths", default="512,2048")
    parser.add_argument("--widths", default="64,128")
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--no-flex", action="store_true")
    options = parser.parse_args()
    clock = Clock(options.build, options.seconds)
    lengths = [int(n) for n in options.lengths.split(",")]
    widths = [int(n) for n in options.widths.split(",")]
    torch = ggml = None
    try:
        torch = Torch()
        print(f"torch {torch.version}")
    except ImportError:
        print("no torch in this Python: left out")
    if options.ggml:
        ggml = Ggml(options.ggml)
    onednn = composed(options.build, lengths)

    names = ["oneDNN + softmax", "SDPA", "FlexAttention", "ggml f16 keys",
             "ggml f32 keys"]
    print("\n| one head, % of the peak | torsor | " + " | ".join(names) +
          " | times the best |\n" + "|---" * (len(names) + 3) + "|")
    for dtype in ("f32", "bf16"):
        for width in widths:
            for length in lengths:
                for causal in (False, True):
                    shape = (length, length, width, causal)
                    flops = flops_of(*shape)
                    peers = {}
                    if dtype == "f32" and shape[1:] in onednn:
                        peers[names[0]] = onednn[shape[1:]]
                    if torch:
                        peers["SDPA"] = clock.share(torch.sdpa(*shape, dtype),
                                                    flops)
                        if not options.no_flex:
                            peers["FlexAttention"] = clock.share(
                                torch.flex(*shape, dtype), flops)
                    if ggml and dtype == "f32":
                        for name, half in ((names[3], True), (names[4], False)):
                            peers[name] = clock.share(
                                ggml.attention(*shape, half), flops)
                    scheme = ("examples/llama31.torsor" if causal else
                              "bench/full.torsor")
                    own = torsor(options.build, scheme, width, "1/1", length,
                                 length, "prefill", dtype, options.seconds)
                    print_row(f"{dtype} {'causal' if causal else 'full'}, L = "
                              f"{length}, D = {width}",
                              clock.of_f32(own), peers, names)

    print("\n| decode of 32768 keys, D = 128, 2 key heads, % of the read "
          "bandwidth | torsor | SDPA | times the best |\n|---|---|---|---|")
    for dtype, size in (("f32", 4), ("bf16", 2)):
        for group in (1, 4):
            peers = {}
            if torch:
                peers["SDPA"] = clock.bandwidth(
                    torch.sdpa(group, 32768, 128, False, dtype, 2),
                    2 * 2 * 32768 * 128 * size)
            own = torsor(options.build, "examples/llama31.torsor", 128,
                         f"{2 * group}/2", 1, 32768, "decode", dtype,
                         options.seconds)
            print_row(f"{dtype}, {group} quer{'y' if group == 1 else 'ies'} a "
                      "key head", own["fraction_of_bandwidth"], peers, ["SDPA"])


if __name__ == "__main__":
    main()

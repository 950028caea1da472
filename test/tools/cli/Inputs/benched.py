# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: benched.py PREFILL DECODE DOCUMENTS: checks the JSON of bench."""
import json
import math
import sys

prefill, decode, documents = (json.load(open(path)) for path in sys.argv[1:4])
for said in (prefill, decode, documents):
    for key in ("seconds", "gflops", "peak_gflops", "fraction_of_peak", "compile_ms"):
        assert said[key] > 0, (key, said)
    assert math.isclose(said["fraction_of_peak"], said["gflops"] / said["peak_gflops"], rel_tol=1e-9)
    assert said["fraction_of_peak"] < 1, said
    assert said["seconds"] <= said["median_seconds"]
# 32 queries, the last of 48 keys, causal; 4 heads; 2 (8 + 8) flops a pair.
pairs = sum(i + 1 for i in range(16, 48))
flops = prefill["gflops"] * 1e9 * prefill["seconds"]
assert math.isclose(flops, pairs * 4 * 2 * 16, rel_tol=1e-6), flops
assert "read_bandwidth" not in prefill
for key in ("gbytes_per_second", "read_bandwidth", "fraction_of_bandwidth", "fraction_of_roofline"):
    assert decode[key] > 0, (key, decode)
# Two groups of 300 keys and values, 8 lanes of two bytes.
read = decode["gbytes_per_second"] * 1e9 * decode["seconds"]
assert math.isclose(read, 2 * 300 * 16 * 2, rel_tol=1e-6), read
assert decode["queries"] == 1 and decode["dtype"] == "bf16"
assert documents["threads"] == 2 and documents["batch"] == 2

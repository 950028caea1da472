# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: explained.py FILE.json: checks what explain --json says of rope8."""
import json
import math
import sys

whole = json.load(open(sys.argv[1]))
assert whole["producer"].startswith("torsor "), whole["producer"]
assert len(whole["schemes"]) == 1 and whole["stacks"] == []
for said in (whole, whole["schemes"][0]):
    assert said["name"] == "rope8" and said["head"] == 8 and said["value"] == 8
    # Doubles, not their first digits.
    assert said["frequencies"] == [10000.0 ** (-2 * p / 8) for p in range(4)] \
        or all(math.isclose(f, 10000.0 ** (-2 * p / 8), rel_tol=3e-16)
               for p, f in enumerate(said["frequencies"])), said["frequencies"]
    assert said["scale"] == 1 / math.sqrt(8), said["scale"]
    (block,) = said["blocks"]
    assert block["kind"] == "turn" and block["clock"] == "pos"
    assert block["lanes"] == {"first": 0, "second": 4, "step": 1, "count": 4}
    assert block["gain_q"] == 1 and block["gain_k"] == 1
    assert said["mask"]["visible"] == ["0 … min(i1, N - 1)"], said["mask"]
    assert said["mask"]["full"] == ["0 … min(i0, N - 1)"], said["mask"]
    assert said["mask"]["causal"] and said["mask"]["exact"]
    assert said["legality"] == {"isometric": True, "relative": True, "bounded": True}
    assert said["bias"] is None and said["sink"] is None
    assert 3.6e-10 < said["phase"]["error_bound_radians"] < 3.7e-10
    assert said["counts"]["pairs"] == 4096 * 4097 / 2
    assert "prefill" in said["operations"] and "decode" in said["operations"]
    assert said["cache"]["keys"] == "acted" and said["cache"]["contract"]

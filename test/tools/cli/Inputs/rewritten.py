# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: rewritten.py FILE.json: checks the rewrites of refusals.torsor."""
import json
import sys

schemes = {s["name"]: s for s in json.load(open(sys.argv[1]))["schemes"]}


def rewrite(scheme, name, applied):
    found = [r for r in schemes[scheme]["rewrites"]
             if r["name"] == name and r["applied"] == applied]
    assert len(found) == 1, (scheme, name, applied, found)
    assert found[0]["where"].split(".")[0] == scheme and found[0]["text"]
    return found[0]


assert rewrite("sunk", "BiasStarts", True)["line"] == 4
assert "sink" in rewrite("sunk", "RowShift", False)["text"]
assert rewrite("capped", "BaseInQuery", False)["pass"] == "form-kernels"
assert "another function" in rewrite("capped", "BiasStarts", False)["text"]
assert "contents" in rewrite("read", "BiasStarts", False)["text"]
rewrite("read", "NormBehindAction", False)
rewrite("read", "GainInScale", False)
rewrite("read", "MaskInRanges", False)
rewrite("read", "OutputTurnedBack", True)
rewrite("faded", "AnchoredByTile", True)
rewrite("faded", "KeysActed", False)
rewrite("by_head", "KeysByGroup", False)
rewrite("pages", "MaskInRanges", True)

read = schemes["read"]
assert read["norm"] == {"kind": "rms", "eps": 1e-06, "weights_q": True,
                        "weights_k": True}, read["norm"]
assert [b["kind"] for b in read["value_blocks"]] == ["turn"]
names = {a["name"]: a for a in read["arguments"]}
assert names["w"]["per"] == "param" and names["w"]["axes"] == ["8"]
doc = names["doc"]
assert doc["per"] == "token" and doc["at_query"] and doc["at_key"], doc
assert "doc" in [s["name"] for s in read["cache"]["streams"]]
assert schemes["table"]["embedding"] and not read["embedding"]

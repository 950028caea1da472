# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: hybrids.py TORSOR EXAMPLES: every hybrid of the examples has its layer
table, each layer once, and the memory of every cache."""
import glob
import re
import subprocess
import sys

torsor, examples = sys.argv[1:]
files = sorted(glob.glob(examples + "/h2_*.torsor"))
assert len(files) >= 11, files
for path in files:
    said = subprocess.run([torsor, "explain", path], check=True, text=True,
                          capture_output=True).stdout
    stacks = re.findall(r"^stack (\w+): (\d+) layers\n((?:  .*\n)+)", said, re.M)
    assert stacks, path
    for name, count, lines in stacks:
        layers = []
        for runs in re.findall(r"^  layers? ([\d, …]+):", lines, re.M):
            for run in runs.split(", "):
                ends = [int(n) for n in run.split(" … ")]
                layers += range(ends[0], ends[-1] + 1)
        assert sorted(layers) == list(range(int(count))), (path, name, layers)
        groups = len(re.findall(r"^  layer", lines, re.M))
        caches = len(re.findall(r"^    \w+: a (?:cache|state) of ", lines, re.M))
        assert caches >= groups, (path, name, lines)
        assert "all layers together: " in lines, path

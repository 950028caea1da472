#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares generated prefill kernels with the hand-written one.

usage: ratio.py TORSOR CASES

Both run in turn within one process, each piece at its fastest of many; below
0.85 times the hand-written kernel's speed an optimisation has been lost. A busy
machine may lower a ratio, so a low one is measured again, for longer each time.
"""
import json
import subprocess
import sys

LEAST = 0.85
ATTEMPTS = 5


def measure(torsor, cases, scheme, width, length, seconds):
    done = subprocess.run(
        [torsor, "bench", cases, "--scheme", scheme, "--set", f"width={width}",
         "--kernel", "prefill", "--heads", "2/1", "--queries", str(length),
         "--keys", str(length), "--seconds", str(seconds), "--check", "--json"],
        capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"torsor bench fails:\n{done.stderr}")
    return json.loads(done.stdout)


def main():
    torsor, cases = sys.argv[1:]
    failed = 0
    for scheme in ("full", "rotary"):
        for width in (64, 128):
            ratios = []
            for attempt in range(ATTEMPTS):
                result = measure(torsor, cases, scheme, width, 512,
                                 0.3 * (attempt + 1))
                # The speed of a wrong result is none.
                if not result["largest_error"] < 1e-4:
                    sys.exit(f"{scheme}, width {width}: error "
                             f"{result['largest_error']}")
                ratios.append(result["ratio_to_yardstick"])
                if ratios[-1] >= LEAST:
                    break
            verdict = "ok" if ratios[-1] >= LEAST else "TOO SLOW"
            failed += ratios[-1] < LEAST
            print(f"{scheme}, width {width}: "
                  f"{', '.join(f'{r:.2f}' for r in ratios)} times the "
                  f"hand-written kernel: {verdict}")
    sys.exit(1 if failed else 0)


main()

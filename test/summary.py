#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts the test cases of a CTest run: usage: summary.py LastTest.log

A CTest entry may be a whole GoogleTest program or a folder of lit tests; its
own closing lines say how many cases it ran. Anything else counts as one.
"""
import re
import sys


def cases(output, entry_passed):
    """(passed, failed, skipped) of one CTest entry."""
    lit = {word: int(n) for word, n in
           re.findall(r"^\s+(Passed|Failed|Unsupported|Unresolved|Timed Out)\s*:\s*(\d+)", output, re.M)}
    ran = re.search(r"^\[==========\] (\d+) tests? from .* ran\.", output, re.M)
    if sum(lit.values()):
        failed = lit.get("Failed", 0) + lit.get("Unresolved", 0) + lit.get("Timed Out", 0)
        return lit.get("Passed", 0), failed, lit.get("Unsupported", 0)
    if ran:
        failed = re.search(r"^\[  FAILED  \] (\d+) tests?, listed", output, re.M)
        skipped = re.search(r"^\[  SKIPPED \] (\d+) tests?, listed", output, re.M)
        failed, skipped = (int(m.group(1)) if m else 0 for m in (failed, skipped))
        return int(ran.group(1)) - failed - skipped, failed, skipped
    return (1, 0, 0) if entry_passed else (0, 1, 0)


def main(path):
    text = open(path, errors="replace").read()
    passed = failed = skipped = 0
    for entry in re.split(r"^(?=\d+/\d+ Testing: )", text, flags=re.M)[1:]:
        output, _, closing = entry.rpartition("\nTest time =")
        ok = re.search(r"^Test (Passed|Pass Reason)", closing, re.M) is not None
        skipped_entry = not ok and "Skip" in closing
        one = (0, 0, 1) if skipped_entry else cases(output, ok)
        if not ok and not skipped_entry and not one[1]:
            one = (one[0], one[1] + 1, one[2])  # died before it could say so
        passed, failed, skipped = passed + one[0], failed + one[1], skipped + one[2]
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: mistakes.py TORSOR FILE.txt: checks what is said of wrong programs.

A program stands behind "> ", its messages below, without the name of the file;
each is one line, and there are no others. An empty line ends a case."""
import subprocess
import sys

torsor, path = sys.argv[1:]
failed = 0
cases = [c for c in open(path, encoding="utf-8").read().split("\n\n") if c.strip()]
assert len(cases) > 80, len(cases)
for case in cases:
    program, *wanted = case.strip("\n").split("\n")
    assert program.startswith("> "), program
    ran = subprocess.run([torsor, "check", "-"], input=program[2:] + "\n",
                         text=True, capture_output=True)
    said = [line[len("<stdin>:"):] for line in ran.stderr.split("\n")
            if line.startswith("<stdin>:")]
    wrong = any(": error: " in line for line in wanted)
    if said != wanted or ran.returncode != (1 if wrong else 0):
        failed += 1
        print(program, ran.returncode, *said, sep="\n", file=sys.stderr)
sys.exit(failed != 0)

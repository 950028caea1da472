# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a host of instrumented kernels: what is right is silent, and each fault
is reported in the kernel that has it.  check.py address|thread HOST"""
import os
import re
import subprocess
import sys

sanitizer, host = sys.argv[1:]
failures = 0


def run(arguments, expected):
    """`expected`: what the report must match; None: no report."""
    global failures
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0",
                   "TSAN_OPTIONS": "halt_on_error=1"}
    done = subprocess.run([host, *arguments], capture_output=True, text=True,
                          env=environment)
    good = (done.returncode == 0 if expected is None else
            done.returncode != 0 and
            re.search(expected, done.stderr, re.DOTALL) is not None)
    print("ok  " if good else "FAIL", " ".join(arguments) or "all")
    if not good:
        failures += 1
        print(done.returncode, done.stdout, done.stderr, sep="\n")


run([], None)
if sanitizer == "address":
    for kernel, tensors in {"prefill": ["q", "k", "v", "o", "doc"],
                            "decode": ["q", "k", "v", "o", "doc"],
                            "append": ["cached-k", "cached-v", "k", "v"]}.items():
        for tensor in tensors:
            run([kernel, tensor], "heap-buffer-overflow on address.*"
                rf"in kernels\.{kernel}\.run\.")
else:
    run(["race"], r"data race.*kernels\.prefill\.run\.")
sys.exit(failures != 0)

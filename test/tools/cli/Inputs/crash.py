# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: crash.py SIGNAL COMMAND...: sends the signal to the command while it
waits for its standard input; ends with its exit code."""
import signal
import subprocess
import sys
import time

process = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE)
# It waits once it sleeps in a read of the pipe.
for _ in range(600):
    time.sleep(0.05)
    with open(f"/proc/{process.pid}/wchan") as file:
        if "pipe" in file.read():
            break
    with open(f"/proc/{process.pid}/stat") as file:
        if file.read().split(") ")[1][0] == "S":
            time.sleep(0.3)
            break
process.send_signal(getattr(signal, sys.argv[1]))
sys.exit(process.wait())

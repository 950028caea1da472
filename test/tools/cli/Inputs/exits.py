# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: exits.py CODE COMMAND...: fails unless the command ends with CODE."""
import subprocess
import sys

code = subprocess.call(sys.argv[2:])
if code != int(sys.argv[1]):
    sys.exit(f"exit code {code} instead of {sys.argv[1]}: {' '.join(sys.argv[2:])}")

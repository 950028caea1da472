# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds what libtorsor.so exports and what libtorsor.a imports.

usage: exports.py NM LIBTORSOR_SO LIBTORSOR_A HEADER...
"""
import re
import subprocess
import sys


def symbols(nm, *arguments):
    out = subprocess.run([nm, *arguments], check=True, text=True,
                         capture_output=True).stdout
    return {line.split()[-1].split("@")[0] for line in out.splitlines()
            if len(line.split()) > 1}


nm, shared, static, *headers = sys.argv[1:]
declared = set()
for header in headers:
    text = re.sub(r"//.*", "", open(header).read())
    for match in re.finditer(r"TORSOR_API\s[^;{]*?(torsor_\w+)\s*\(", text):
        declared.add(match.group(1))
exported = symbols(nm, "-D", "--defined-only", shared)
bad = []
if declared - exported:
    bad.append(f"declared, not exported: {sorted(declared - exported)}")
if exported - declared:
    bad.append(f"exported, not declared: {sorted(exported - declared)}")
# C programs link the archive with a C compiler: nothing of the C++ library.
# (Sanitizers bring symbols of their own.)
defined = symbols(nm, "--defined-only", static)
for name in sorted(symbols(nm, "-u", static) - defined):
    if re.match(r"_Z(St|Ns|Nk|nw|na|dl|da|TV|TI)|__cxa_|__gxx|_Unwind|LLVM|"
                r"mlir|_ZN(4llvm|4mlir)", name):
        bad.append(f"libtorsor.a needs {name}")
print("\n".join(bad) or
      f"{len(exported)} symbols are exported, all of them declared")
sys.exit(bool(bad))

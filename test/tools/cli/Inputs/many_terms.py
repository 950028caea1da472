# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: many_terms.py TORSOR FOLDER: the code of twice as many terms is no
more than twice as long, before any of it is optimised away."""
import pathlib
import subprocess
import sys

torsor, folder = sys.argv[1], pathlib.Path(sys.argv[2])


def lines(terms):
    path = folder / f"{terms}.torsor"
    path.write_text(f"""scheme fourier {{
  head 64
  param a: f32[{terms}, H]
  param w: f32[{terms}]
  bias sum r < {terms}: a[r, h] * cos(w[r] * age)
  mask causal
}}
""")
    shown = subprocess.run([torsor, "explain", str(path), "--target",
                            "x86-64-v3", "--emit", "emitted"],
                           capture_output=True, text=True, check=True).stdout
    assert "func.func" in shown
    return shown.count("\n")


few, many = lines(16), lines(32)
print(few, many)
sys.exit(many > 2 * few)

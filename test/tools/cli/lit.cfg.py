# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of the command line; CMake passes the paths as parameters."""
import os

import lit.formats

config.name = "torsor-cli"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = lit_config.params["exec_root"]

root = lit_config.params["root"]
inputs = os.path.join(config.test_source_root, "Inputs")
python = lit_config.params["python"]
if lit_config.params.get("sanitized"):
    config.available_features.add("sanitized")
config.environment["PATH"] = os.pathsep.join(
    [lit_config.params["llvm_bin"], os.environ["PATH"]])
config.environment["FILECHECK_OPTS"] = "--enable-var-scope --dump-input=fail"
# Nothing of the user's own cache is used or left behind.
config.environment["XDG_CACHE_HOME"] = os.path.join(config.test_exec_root, "cache")
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions += [
    # Runs a command and fails unless it ends with this code.
    ("%exits", f"{python} {inputs}/exits.py"),
    ("%python", python),
    ("%torsor", lit_config.params["torsor"]),
    ("%inputs", inputs),
    ("%examples", os.path.join(root, "examples")),
    ("%data", os.path.join(root, "test", "data")),
]

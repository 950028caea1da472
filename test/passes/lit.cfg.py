# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of torsor-opt: passes here, the dialect beside. CMake passes the paths
as parameters."""
import os

import lit.formats

config.name = "torsor-" + lit_config.params["suite"]
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.join(os.path.dirname(os.path.dirname(__file__)),
                                       lit_config.params["suite"])
config.test_exec_root = lit_config.params["exec_root"]
config.environment["PATH"] = os.pathsep.join(
    [lit_config.params["bin"], lit_config.params["llvm_bin"], os.environ["PATH"]])
config.substitutions.append(("%mlir_include", os.path.join(
    os.path.dirname(lit_config.params["llvm_bin"]), "include")))
config.environment["FILECHECK_OPTS"] = "--enable-var-scope --dump-input=fail"
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
# Remarks as diagnostics, so that tests see their lines.
config.substitutions.append(
    ("%remarks", "--remarks-filter=torsor-.* --remark-format=emitRemark"))

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os

lit_config.load_config(config, os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "passes", "lit.cfg.py"))

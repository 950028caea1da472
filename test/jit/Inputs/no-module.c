// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An object that shows no module.
int torsor_something(void) { return 1; }

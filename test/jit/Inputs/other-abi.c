// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An object of another version of the interface.
#include "runtime/torsor_kernel.h"

const torsor_module torsor_module_other = {TORSOR_MAGIC,
                                           sizeof(torsor_module),
                                           TORSOR_KERNEL_ABI_MAJOR + 1,
                                           0,
                                           "test",
                                           0,
                                           0,
                                           0,
                                           0,
                                           0,
                                           0};

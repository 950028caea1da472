// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An object that asks for what nobody has.
#include "runtime/torsor_kernel.h"

extern const torsor_descriptor *const not_there[1];
const torsor_module torsor_module_undefined = {TORSOR_MAGIC,
                                               sizeof(torsor_module),
                                               TORSOR_KERNEL_ABI_MAJOR,
                                               0,
                                               "test",
                                               not_there,
                                               1,
                                               0,
                                               0,
                                               0,
                                               0};

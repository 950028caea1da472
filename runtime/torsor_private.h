// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// torsor_private.h: what the compiler's library needs of the runtime core beyond
// torsor.h. Private: hosts include torsor.h only.
#ifndef TORSOR_PRIVATE_H
#define TORSOR_PRIVATE_H

#include "torsor_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/// torsor_library_link for code that lives in memory: `release(context)` is
/// called when the last handle that needs the code is gone. On failure it is
/// not called and the code stays the caller's. `release` may be null.
TORSOR_API torsor_status torsor_library_adopt(
    const torsor_module *module, const torsor_load_options *options,
    void (*release)(void *context), void *context, torsor_library **out);
/// Sets this thread's torsor_error() to a copy of `text` and gives `status`.
TORSOR_API torsor_status torsor_set_error(torsor_status status,
                                          const char *text);
/// Sends a message to the log of torsor_set_log, if it wants this level.
TORSOR_API void torsor_write_log(torsor_level level, const char *text);

#ifdef __cplusplus
}
#endif
#endif

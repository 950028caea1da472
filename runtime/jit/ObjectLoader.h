// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Links a relocatable object into this process.
#ifndef TORSOR_RUNTIME_JIT_OBJECTLOADER_H
#define TORSOR_RUNTIME_JIT_OBJECTLOADER_H

#include "runtime/torsor.h"

#include "llvm/ADT/StringRef.h"

#include <string>

namespace torsor {

/// Links the object and gives it to the runtime core, which keeps the code
/// while a handle needs it. `name` stands for it in messages. On failure the
/// text is this thread's torsor_error().
torsor_status loadObject(llvm::StringRef object, const std::string &name,
                         torsor_library **out);

} // namespace torsor

#endif // TORSOR_RUNTIME_JIT_OBJECTLOADER_H

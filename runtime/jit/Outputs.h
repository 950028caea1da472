// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What `torsor compile` writes.
#ifndef TORSOR_RUNTIME_JIT_OUTPUTS_H
#define TORSOR_RUNTIME_JIT_OUTPUTS_H

#include "runtime/jit/Compilation.h"

#include <string>
#include <vector>

namespace torsor {

/// A C identifier from the stem of a file: what may not stand in one becomes
/// '_', and "_" comes first where it would begin with a digit.
std::string makeModuleName(llvm::StringRef path);

/// <prefix>.json, <prefix>.h and <prefix>.o, or with `shared` <prefix>.so.
std::vector<std::string> listOutputs(const std::string &prefix, bool shared);

/// Compiles and writes the outputs; all of them or, after a failure, none that
/// is half written. None replaces a source, imports among them. The
/// compilation's options must name the module, and ask for the entry of a
/// shared object. False: the compilation's messages or `error` say why.
/// `written` lists the files.
bool compileToFiles(Compilation &compilation, const std::string &prefix,
                    bool shared, std::vector<std::string> &written,
                    std::string &error);

} // namespace torsor

#endif // TORSOR_RUNTIME_JIT_OUTPUTS_H

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The files of a command line, by the options that name them.
#ifndef TORSOR_TOOLS_TORSOR_NAMEDFILES_H
#define TORSOR_TOOLS_TORSOR_NAMEDFILES_H

#include <string>
#include <vector>

namespace torsor {

/// "" or "-" as the path: no file of this option, or a standard stream.
struct NamedFile {
  std::string option, path;
};

/// Throws a usage failure where writing one of `outputs` would replace what is
/// read, or another of them. To be called before anything is computed.
void checkOutputs(const std::vector<NamedFile> &inputs,
                  const std::vector<NamedFile> &outputs);

} // namespace torsor

#endif // TORSOR_TOOLS_TORSOR_NAMEDFILES_H

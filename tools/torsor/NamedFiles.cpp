// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// No output of a command takes the place of an input or of another output.
#include "tools/torsor/NamedFiles.h"

#include "runtime/jit/Files.h"
#include "tools/torsor/Failure.h"

#include <fmt/format.h>

using namespace torsor;

void torsor::checkOutputs(const std::vector<NamedFile> &inputs,
                          const std::vector<NamedFile> &outputs) {
  for (size_t n = 0; n < outputs.size(); ++n) {
    const NamedFile &output = outputs[n];
    for (size_t m = n + 1; m < outputs.size(); ++m)
      if (wouldReplace(output.path, outputs[m].path))
        failUsage(fmt::format("{} {} and {} {} are one file; give each its own",
                              output.option, output.path, outputs[m].option,
                              outputs[m].path));
    for (const NamedFile &input : inputs)
      if (wouldReplace(output.path,
                       input.path == "-" ? "/dev/stdin" : input.path))
        failUsage(fmt::format("{} {} would replace {} {}, which is read; write "
                              "to another file",
                              output.option, output.path, input.option,
                              input.path));
  }
}

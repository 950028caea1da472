// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Options that several commands share.
#ifndef TORSOR_TOOLS_TORSOR_OPTIONS_H
#define TORSOR_TOOLS_TORSOR_OPTIONS_H

#include "runtime/jit/Compilation.h"
#include "tools/torsor/NamedFiles.h"

#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace torsor {

/// The file, and what the command line fixes of it.
struct SourceOptions {
  std::string path;
  std::string scheme;
  std::vector<std::string> settings;
  int64_t head = 0, value = 0, layers = 0;
  std::string prelude;
  std::string color;
  bool remarks = false, warningsAreErrors = false;
  bool f32Reference = false;
  TileSizes tiles;
  bool timing = false; // for Torsor's developers
};

/// Adds FILE, --scheme, --set, --head-width, --value-width and what goes with
/// them.
void addSourceOptions(CLI::App &command, SourceOptions &options);

/// Says that the source has these schemes where one is wanted, and how one is
/// chosen.
[[noreturn]] void failSeveral(const SourceOptions &options,
                              const std::vector<std::string> &names);

/// Adds --f32-reference.
void addArithmeticOption(CLI::App &command, SourceOptions &options);

/// Takes finite numbers above 0 alone, and 0 where it may be.
void setPositive(CLI::Option &option, bool orZero = false);

/// Parses `8/2` or `8`: heads of queries and of keys. Throws a usage failure.
std::pair<int64_t, int64_t> parseHeads(const std::string &text);

/// Adds --target, which takes the name of a machine level, x86-64 for all of
/// them or native for that of this CPU; `text` is its help.
void addTargetOption(CLI::App &command, std::string &target,
                     const std::string &text);

/// Adds --tile and --split.
void addTileOptions(CLI::App &command, SourceOptions &options);

/// Compiles for q, k, v and o of the type an option names. Throws a usage
/// failure.
void setType(CompileOptions &compile, const std::string &text);

/// The element type an option names. Throws a usage failure.
torsor_dtype parseType(const std::string &text);

/// Reads a file, `-` being standard input. Throws a user failure.
std::shared_ptr<const SourceFile> readSource(const std::string &path);

/// The files that startCompilation reads.
std::vector<NamedFile> listSources(const SourceOptions &options);

/// Starts the compilation of what the options name.
std::unique_ptr<Compilation> startCompilation(const SourceOptions &options,
                                              CompileOptions compile = {});

/// Prints the messages so far to standard error, and throws if they, or an
/// internal failure, leave nothing to go on with.
void finishStep(Compilation &compilation, const SourceOptions &options);

} // namespace torsor

#endif // TORSOR_TOOLS_TORSOR_OPTIONS_H

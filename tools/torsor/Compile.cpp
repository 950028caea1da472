// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `torsor compile`: an object, a C header and a manifest.
#include "runtime/jit/Outputs.h"
#include "tools/torsor/Commands.h"
#include "tools/torsor/Failure.h"
#include "tools/torsor/NamedFiles.h"
#include "tools/torsor/Options.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

using namespace torsor;

namespace {
struct CompileCommand {
  SourceOptions source;
  std::string prefix, name, dtype = "f32", target = "x86-64", sanitize;
  std::vector<std::string> operations;
  bool shared = false;
};
} // namespace

static uint32_t parseOperations(const std::vector<std::string> &names) {
  uint32_t bits = 0;
  for (const std::string &name : names) {
    bool known = name.empty();
    for (unsigned op = 0; op <= TORSOR_STEP; ++op)
      if (name == getOperationName(op) ||
          (op == TORSOR_ATTEND && name == "attend") ||
          (op == TORSOR_STEP && name == "step")) {
        known |= !name.empty();
        bits |= name.empty() ? 0 : 1u << op;
      }
    if (!known)
      failUsage(fmt::format("--op {}: write prefill, decode, append, merge, "
                            "rebase, embed, attend or step",
                            name));
  }
  return bits;
}

static void runCompile(const CompileCommand &command) {
  CompileOptions compile;
  setType(compile, command.dtype);
  compile.target = command.target;
  compile.operations = parseOperations(command.operations);
  compile.moduleName = command.name.empty()
                           ? makeModuleName(command.source.path)
                           : makeModuleName(command.name);
  compile.entry = command.shared;
  compile.addressSanitizer = command.sanitize == "address";
  compile.threadSanitizer = command.sanitize == "thread";
  std::string prefix = command.prefix;
  if (prefix.empty())
    prefix = llvm::sys::path::stem(command.source.path).str();
  if (command.shared && llvm::StringRef(prefix).ends_with(".so"))
    prefix.resize(prefix.size() - 3);
  if (!command.shared && llvm::StringRef(prefix).ends_with(".o"))
    prefix.resize(prefix.size() - 2);
  std::vector<NamedFile> outputs;
  for (const std::string &path : listOutputs(prefix, command.shared))
    outputs.push_back({command.prefix.empty() ? "the default -o" : "-o", path});
  checkOutputs(listSources(command.source), outputs);

  auto compilation = startCompilation(command.source, compile);
  std::vector<std::string> written;
  std::string error;
  bool done =
      compileToFiles(*compilation, prefix, command.shared, written, error);
  finishStep(*compilation, command.source);
  if (!done)
    failUser(error);
  fmt::print("{}\n", fmt::join(written, " "));
  uint64_t bytes = 0;
  if (!llvm::sys::fs::file_size(written.back(), bytes))
    fmt::print("{} is {:.1f} kB\n", written.back(), 1e-3 * bytes);
}

void torsor::addCompileCommand(CLI::App &app) {
  auto options = std::make_shared<CompileCommand>();
  CLI::App *command = app.add_subcommand(
      "compile", "Compile schemes ahead of time, for a C or C++ program");
  command->footer(
      "\nWrites PREFIX.o, PREFIX.h (declares torsor_module_NAME for "
      "torsor_library_link) and\nPREFIX.json (what 'torsor explain --json' "
      "says), each whole or not at all, and prints\ntheir names. The object "
      "needs libtorsor and libm, nothing else. See torsor.h.");
  addSourceOptions(*command, options->source);
  addArithmeticOption(*command, options->source);
  addTileOptions(*command, options->source);
  command
      ->add_option("-o,--output", options->prefix,
                   "PREFIX of the files; by default the name of the source "
                   "without its ending, in the current folder")
      ->type_name("PREFIX");
  command->add_flag("--shared", options->shared,
                    "Write PREFIX.so instead, for torsor_library_open");
  command
      ->add_option("--dtype", options->dtype,
                   "Type of q, k, v, o and the cache")
      ->type_name("f32|bf16|f16")
      ->capture_default_str();
  addTargetOption(*command, options->target,
                  "x86-64: every level, the machine picks one when it runs; "
                  "x86-64-v3, x86-64-v4, x86-64-v4+avx512bf16: that level; "
                  "native: the level of this CPU");
  command
      ->add_option("--op", options->operations,
                   "Only these operations: prefill, decode, append, merge, "
                   "rebase, attend, step; can be repeated")
      ->type_name("NAME")
      ->take_all()
      ->allow_extra_args(false);
  command
      ->add_option("--name", options->name,
                   "NAME in torsor_module_NAME; by default from FILE")
      ->type_name("NAME");
  command->add_option("--sanitize", options->sanitize, "")
      ->check(CLI::IsMember({"address", "thread"}))
      ->group(""); // hidden: for Torsor's own tests
  command->callback([options] { runCompile(*options); });
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `torsor check` and `torsor fmt`.
#include "frontend/Format.h"
#include "runtime/jit/Explain.h"
#include "runtime/jit/Files.h"
#include "tools/torsor/Commands.h"
#include "tools/torsor/Failure.h"
#include "tools/torsor/Options.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

using namespace torsor;

/// What was decided of each scheme. What has no kernel is right all the same:
/// only the rewrites that kernels see are not known then.
static void printDecisions(Compilation &compilation,
                           const SourceOptions &options) {
  mlir::ModuleOp schemes = compilation.emitSchemes();
  finishStep(compilation, options);
  mlir::ModuleOp kernels = compilation.formKernels(/*optional=*/true);
  if (!kernels && !compilation.getInternalError().empty())
    finishStep(compilation, options);
  std::vector<SchemeFacts> all =
      gatherAllFacts(compilation, schemes, kernels, defaultExplainLength);
  for (const SchemeFacts &facts : all)
    fmt::print("scheme {}\n{}{}", facts.name, describeLegality(facts),
               describeRewrites(facts));
}

static void runCheck(const SourceOptions &options) {
  auto compilation = startCompilation(options);
  compilation->check();
  finishStep(*compilation, options);
  if (options.remarks)
    printDecisions(*compilation, options);
}

void torsor::addCheckCommand(CLI::App &app) {
  auto options = std::make_shared<SourceOptions>();
  CLI::App *command = app.add_subcommand(
      "check", "Check a file: print what is wrong with it, and where");
  command->footer("\nPrints nothing and ends with 0 if all is right. Checks "
                  "the whole language, also what\nhas no kernel yet. With "
                  "--remarks it says what was decided of each scheme: group, "
                  "bounds,\ngrowth, phases, and which rewrites were applied or "
                  "refused.");
  addSourceOptions(*command, *options);
  command->callback([options] { runCheck(*options); });
}

namespace {
struct FormatOptions {
  std::vector<std::string> paths;
  bool check = false, print = false;
};
} // namespace

static void runFormat(const FormatOptions &options) {
  bool clean = true, failed = false;
  for (const std::string &path : options.paths) {
    auto source = readSource(path);
    DiagnosticList diagnostics;
    std::optional<std::string> text = formatFile(source, diagnostics);
    fmt::print(stderr, "{}", diagnostics.print());
    if (!text) {
      failed = true;
      continue;
    }
    bool same = source->getText() == *text;
    if (options.check) {
      if (!same)
        fmt::print("{}\n", path);
      clean &= same;
    } else if (options.print || path == "-") {
      fmt::print("{}", *text);
    } else if (!same) {
      std::string error;
      if (!writeWholeFile(path, *text, error))
        failUser(fmt::format("cannot write '{}': {}", path, error));
    }
  }
  if (failed)
    throw Failure(exitUser, "");
  if (!clean)
    failUser("the files above are not laid out as 'torsor fmt' would; run it "
             "without --check");
}

void torsor::addFormatCommand(CLI::App &app) {
  auto options = std::make_shared<FormatOptions>();
  CLI::App *command =
      app.add_subcommand("fmt", "Lay out files in the one way; comments stay");
  command->footer("\nFiles are rewritten in place, whole or not at all; a file "
                  "with syntax errors is left as it is.");
  command->add_option("FILE", options->paths, "The files; - is standard input")
      ->required();
  command->add_flag("--check", options->check,
                    "Change nothing; name the files that would be changed, and "
                    "end with 1 if there are any");
  command->add_flag("--print", options->print,
                    "Print the result and leave the files as they are");
  command->callback([options] { runFormat(*options); });
}

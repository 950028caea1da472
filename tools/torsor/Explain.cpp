// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `torsor explain`: what a scheme means and what becomes of it.
#include "runtime/jit/Explain.h"

#include "tools/torsor/Commands.h"
#include "tools/torsor/Failure.h"
#include "tools/torsor/Options.h"

#include "llvm/ADT/STLExtras.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

using namespace torsor;

namespace {
struct ExplainOptions {
  SourceOptions source;
  bool canonical = false, json = false;
  std::string stage, dtype = "f32", target;
  int64_t length = defaultExplainLength, trained = 0;
};
} // namespace

/// Prints the stages that are asked for, each below its name.
static void printStages(const ExplainOptions &options,
                        Compilation &compilation) {
  bool all = options.stage == "all", found = false;
  std::vector<std::string> known;
  compilation.observe([&](llvm::StringRef stage, llvm::StringRef text) {
    if (!llvm::is_contained(known, stage))
      known.push_back(stage.str());
    if (!all && stage != options.stage)
      return;
    found = true;
    if (all)
      fmt::print("// ---- {}\n", stage.str());
    fmt::print("{}{}", text.str(), text.ends_with("\n") ? "" : "\n");
  });
  // Code is made only for those who want to see it.
  bool code = all || options.stage == "emitted" || options.stage == "llvm" ||
              options.stage == "asm";
  std::string object;
  if (options.stage == "scheme")
    compilation.emitSchemes();
  else if (code)
    compilation.makeObject(object);
  else
    compilation.formKernels();
  finishStep(compilation, options.source);
  if (!found)
    failUsage(fmt::format("--emit {}: there is no such stage; there are: "
                          "all {}{}",
                          options.stage, fmt::join(known, " "),
                          code ? "" : " emitted llvm asm"));
}

static void runExplain(const ExplainOptions &options) {
  CompileOptions compile;
  setType(compile, options.dtype);
  compile.target = options.target;
  compile.remarks = true;
  auto compilation = startCompilation(options.source, compile);
  if (!options.stage.empty())
    return printStages(options, *compilation);
  std::string text;
  if (options.canonical)
    compilation->getCanonical(text);
  else
    explain(*compilation, options.json, options.length, text, options.trained);
  finishStep(*compilation, options.source);
  fmt::print("{}", text);
}

void torsor::addExplainCommand(CLI::App &app) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App *command = app.add_subcommand(
      "explain", "Say what a scheme means, and what the compiler makes of it");
  command->footer(
      "\nBlocks and their lanes, legality and stability, precision of phases, "
      "the keys each tile\nof queries sees, where actions are placed and why, "
      "the cache contract, work.");
  addSourceOptions(*command, options->source);
  addArithmeticOption(*command, options->source);
  addTileOptions(*command, options->source);
  command->add_flag("--json", options->json, "The same for programs");
  command->add_flag("--canonical", options->canonical,
                    "The canonical form: the same meaning, spelled out, as a "
                    "program");
  command
      ->add_option("--emit", options->stage,
                   "Print a stage: scheme (IR as the front end makes it), the "
                   "name of a pass (torsor-form-kernels, …), emitted (loops), "
                   "llvm, asm, or all of them")
      ->type_name("STAGE");
  command
      ->add_option("--length", options->length,
                   "Tokens of the sequence that work and tiles are counted for")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
  command
      ->add_option("--trained", options->trained,
                   "Tokens of the model's training, where the scheme does not "
                   "say it: which pairs meet new phases beyond them")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  command->add_option("--dtype", options->dtype, "Type of q, k, v and o")
      ->type_name("f32|bf16|f16")
      ->capture_default_str();
  addTargetOption(*command, options->target,
                  "Machine level for --emit; by default that of this CPU");
  command->callback([options] { runExplain(*options); });
}

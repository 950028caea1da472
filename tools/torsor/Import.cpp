// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `torsor import`: the positional part of a checkpoint's config as a program.
#include "import/Import.h"

#include "frontend/Check.h"
#include "frontend/Format.h"
#include "runtime/jit/Files.h"
#include "tools/torsor/Commands.h"
#include "tools/torsor/Failure.h"
#include "tools/torsor/NamedFiles.h"
#include "tools/torsor/Options.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

using namespace torsor;

namespace {
struct ImportCommand {
  std::string path, output;
  ImportOptions options;
  double gain = 0;
  bool json = false, printed = false;
};
} // namespace

/// The program is checked and laid out before anyone sees it.
static std::string finishProgram(const ImportedModel &model) {
  auto source =
      std::make_shared<SourceFile>("imported.torsor", writeModel(model));
  DiagnosticList diagnostics;
  CheckOptions check;
  check.layers = 1;
  checkFile(source, check, diagnostics);
  if (diagnostics.hasErrors())
    failInternal("the imported program does not check:\n" +
                 diagnostics.print());
  std::optional<std::string> text = formatFile(source, diagnostics);
  return text ? *text : writeModel(model);
}

static void runImport(const ImportCommand &command) {
  checkOutputs({{"CONFIG", command.path}}, {{"-o", command.output}});
  std::string text, error;
  if (!readWholeFile(command.path == "-" ? "/dev/stdin" : command.path, text,
                     error))
    failUser(fmt::format("cannot read '{}': {}", command.path, error));
  ImportOptions options = command.options;
  if (command.gain > 0)
    options.gain = command.gain;
  ImportResult result = importConfig(text, options);
  for (const ImportMessage &message : result.messages)
    if (message.level != ImportMessage::Note)
      fmt::print(stderr, "{}: {}: {}\n", command.path,
                 message.level == ImportMessage::Error ? "error" : "warning",
                 message.text);
  if (result.hasErrors())
    throw Failure(exitUser, "");
  std::string program = finishProgram(result.model);
  if (!command.output.empty() &&
      !writeWholeFile(command.output, program, error))
    failUser(fmt::format("cannot write '{}': {}", command.output, error));
  if (command.json)
    fmt::print("{}", describeModelInJson(result));
  else if (command.output.empty())
    fmt::print("{}", program);
  else
    fmt::print("{}", describeModel(result));
}

void torsor::addImportCommand(CLI::App &app) {
  auto state = std::make_shared<ImportCommand>();
  CLI::App *command = app.add_subcommand(
      "import", "Write the positions of a checkpoint's config.json as schemes");
  command->footer(
      "\nReads the positional part of Hugging Face configs and writes a stack "
      "with a scheme for\neach kind of layer; prints what it understood. A key "
      "that speaks of positions and is\nnot understood is an error, and then "
      "nothing is written; all other keys are passed over.\nWithout -o the "
      "program itself is printed.");
  command
      ->add_option("CONFIG", state->path,
                   "A config.json; - reads standard input")
      ->required();
  command
      ->add_option("-o,--output", state->output,
                   "The .torsor file to write, whole or not at all")
      ->type_name("FILE");
  command->add_flag("--json", state->json,
                    "Print what was understood for programs: frequencies, "
                    "gains, windows and more of each layer");
  command->add_option("--name", state->options.name, "Name of the stack")
      ->type_name("NAME");
  command
      ->add_option("--family", state->options.family,
                   "Read the keys as this family does, whatever model_type "
                   "says")
      ->type_name("TYPE");
  command
      ->add_option("--ignore", state->options.ignore,
                   "Pass over a positional key; can be repeated")
      ->type_name("KEY")
      ->take_all()
      ->allow_extra_args(false);
  setPositive(*command
                   ->add_option("--gain", state->gain,
                                "Factor on the rotated lanes of q and of k, in "
                                "place of the one that the rescaling implies")
                   ->type_name("G"));
  command->add_flag("--documents", state->options.documents,
                    "Calls bring packed documents: adds an input 'doc'");
  command->add_flag("--images", state->options.images,
                    "Calls bring pictures whose tokens see each other: adds an "
                    "input 'image', 0 for text");
  command->add_flag("--absorbed", state->options.absorbed,
                    "Latent attention (MLA) over the latents themselves, for "
                    "decoding: up-projections are folded into q and the "
                    "output");
  command
      ->add_option("--reach", state->options.reach,
                   "Tokens each way of relative tables that the config does "
                   "not limit (XLNet)")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
  command->callback([state] { runImport(*state); });
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The commands of `torsor`. Each adds itself to the command line and leaves
// what it does as the callback of its subcommand.
#ifndef TORSOR_TOOLS_TORSOR_COMMANDS_H
#define TORSOR_TOOLS_TORSOR_COMMANDS_H

namespace CLI {
class App;
}

namespace torsor {

void addCheckCommand(CLI::App &app);
void addFormatCommand(CLI::App &app);
void addExplainCommand(CLI::App &app);
void addImportCommand(CLI::App &app);
void addCompileCommand(CLI::App &app);
void addRunCommand(CLI::App &app);
void addBenchCommand(CLI::App &app);

} // namespace torsor

#endif // TORSOR_TOOLS_TORSOR_COMMANDS_H

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The command line of Torsor: check, fmt, explain, compile,
// import, run, bench.
#include "tools/torsor/Commands.h"
#include "tools/torsor/Failure.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/ErrorHandling.h"

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

using namespace torsor;

static const char description[] =
    R"(Torsor compiles positional schemes of attention into fused kernels.

A scheme is a few lines of text, for example (llama31.torsor):

    torsor 1
    scheme rope { action split(rope(128, base = 10_000))   mask causal }

First steps:
    torsor check   FILE                  is the scheme right?
    torsor explain FILE                  what does it mean, and what becomes of it?
    torsor run     FILE --kernel prefill --q q.npy --k k.npy --v v.npy --out o.npy
    torsor compile FILE -o build/rope    object and C header for your program
    torsor import  config.json -o m.torsor   the schemes of a checkpoint

'torsor COMMAND --help' says more about a command.)";

static const char footer[] = R"(
Exit codes: 0 done; 1 an error in the source, the data or a comparison; 2 a
wrong command line; 70 an internal error of Torsor itself: please report it.)";

static const char internalText[] =
    "torsor: internal error: the compiler crashed; this is a bug in Torsor, "
    "not "
    "in your source: please report it with the file and the command\n";

// A crash is ours, whatever the source was: say so and nothing else. Only
// async-signal-safe calls here.
static void handleCrash(int) {
  [[maybe_unused]] ssize_t n =
      write(STDERR_FILENO, internalText, sizeof internalText - 1);
  _exit(exitInternal);
}

static void handleFatalError(void *, const char *reason, bool) {
  std::fprintf(stderr, "torsor: internal error: %s; please report it\n",
               reason);
  std::fflush(nullptr);
  _exit(exitInternal);
}

static void installHandlers() {
  llvm::install_fatal_error_handler(handleFatalError);
  // On a stack of its own, so that a stack overflow is reported too.
  static char stack[1 << 16];
  stack_t alternate = {};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof stack;
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_handler = handleCrash;
  action.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  for (int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
    sigaction(number, &action, nullptr);
  // A closed pipe (`torsor … | head`) ends the program quietly.
  signal(SIGPIPE, SIG_DFL);
}

/// CLI11 would only say that a command is missing.
static void checkCommand(const CLI::App &app, int argc, char **argv) {
  if (argc < 2 || *argv[1] == '-')
    return;
  llvm::StringRef given = argv[1];
  std::string nearest;
  unsigned least = 3;
  for (const CLI::App *command :
       app.get_subcommands([](const CLI::App *) { return true; })) {
    unsigned distance = given.edit_distance(command->get_name());
    if (distance == 0)
      return;
    if (distance < least) {
      least = distance;
      nearest = command->get_name();
    }
  }
  failUsage(fmt::format("there is no command '{}'; {}", argv[1],
                        nearest.empty() ? "run 'torsor --help'"
                                        : "did you mean '" + nearest + "'?"));
}

/// Not by fmt, which throws where a full or closed standard error would only
/// lose the message.
static void complain(const std::string &text) {
  std::fputs(("torsor: " + text + "\n").c_str(), stderr);
}

static int finishInternally(const char *what) {
  complain(fmt::format("internal error: {}; please report it", what));
  return exitInternal;
}

/// Output that did not arrive is no success.
static int finishUnwritten() {
  complain("error: cannot write the output");
  return exitUser;
}

static int runCommand(CLI::App &app, int argc, char **argv) {
  try {
    checkCommand(app, argc, argv);
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    // Help and version are no errors; all else is a wrong command line.
    if (error.get_exit_code() == 0)
      return app.exit(error);
    auto used = app.get_subcommands();
    complain(fmt::format("error: {}; 'torsor {}--help' says more",
                         used.empty() && argc < 2 ? "a command is missing"
                                                  : error.what(),
                         used.empty() ? "" : used.front()->get_name() + " "));
    return exitUsage;
  } catch (const Failure &failure) {
    std::fflush(stdout); // what was printed comes first
    if (failure.getCode() == exitInternal)
      return finishInternally(failure.what());
    if (*failure.what())
      complain(fmt::format("error: {}", failure.what()));
    return failure.getCode();
  } catch (const std::bad_alloc &) {
    complain("error: there is not enough memory");
    return exitUser;
  } catch (const std::exception &error) {
    // fmt throws where a standard stream takes no more.
    return std::ferror(stdout) || std::ferror(stderr)
               ? finishUnwritten()
               : finishInternally(error.what());
  }
  return exitDone;
}

int main(int argc, char **argv) {
#ifndef TORSOR_SANITIZED
  installHandlers();
#endif
  CLI::App app(description, "torsor");
  app.footer(footer);
  app.get_formatter()->column_width(34);
  app.set_version_flag("--version",
                       fmt::format("torsor {} (LLVM {})", TORSOR_VERSION_TEXT,
                                   LLVM_VERSION_STRING));
  app.require_subcommand(1);
  addCheckCommand(app);
  addFormatCommand(app);
  addExplainCommand(app);
  addCompileCommand(app);
  addImportCommand(app);
  addRunCommand(app);
  addBenchCommand(app);
  int code = runCommand(app, argc, argv);
  bool written = std::fflush(stdout) == 0 && !std::ferror(stdout);
  return code == exitDone && !written ? finishUnwritten() : code;
}

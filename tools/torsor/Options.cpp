// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Options that several commands share, and the steps that all begin with.
#include "tools/torsor/Options.h"

#include "codegen/Target.h"
#include "runtime/jit/Files.h"
#include "tools/torsor/Failure.h"

#include "llvm/Support/Path.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

using namespace torsor;

void torsor::addSourceOptions(CLI::App &command, SourceOptions &options) {
  command
      .add_option("FILE", options.path,
                  "A .torsor file; - reads standard input")
      ->required();
  command
      .add_option("--scheme", options.scheme,
                  "The scheme or stack to take; by default every scheme "
                  "whose arguments have values, and the stacks. 'run' and "
                  "'bench' take one scheme; a layer of a stack by the name "
                  "that 'explain' gives it")
      ->type_name("NAME")
      ->check([](const std::string &name) {
        return name.empty() ? "the name is empty" : "";
      });
  command
      .add_option("--set", options.settings,
                  "Gives an argument of the scheme a value: an expression of "
                  "constants, as --set base=500_000; can be repeated")
      ->type_name("NAME=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  command
      .add_option("--head-width", options.head,
                  "Width of q and k, where the scheme leaves it open")
      ->type_name("D")
      ->check(CLI::Range(int64_t{1}, int64_t{1024}));
  command
      .add_option("--value-width", options.value,
                  "Width of v and o, where the scheme leaves it open")
      ->type_name("V")
      ->check(CLI::Range(int64_t{1}, int64_t{1024}));
  command
      .add_option("--layers", options.layers,
                  "Number of layers of a stack that leaves it open")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, mostLayers));
  command
      .add_option("--prelude", options.prelude,
                  "A standard library to use in place of the one built in")
      ->type_name("FILE");
  command.add_flag("--remarks", options.remarks,
                   "Also print what the compiler decided, and why");
  command.add_flag("--werror", options.warningsAreErrors,
                   "Treat warnings as errors");
  command.add_flag("--timing", options.timing, "")->group(""); // hidden
}

void torsor::failSeveral(const SourceOptions &options,
                         const std::vector<std::string> &names) {
  failUser(fmt::format("{} has several schemes; choose one with --scheme: {}",
                       options.scheme.empty()
                           ? "the file"
                           : "the stack '" + options.scheme + "'",
                       fmt::join(names, ", ")));
}

void torsor::addArithmeticOption(CLI::App &command, SourceOptions &options) {
  command.add_flag(
      "--f32-reference", options.f32Reference,
      "Round phases as other libraries do, for parity with them: the f32 "
      "product of time and frequency, cos, sin and the turned lanes rounded "
      "to the type of q and k. Off by 0.01 radians at 100 000 tokens; a "
      "cache written with it is read with it alone");
}

void torsor::setPositive(CLI::Option &option, bool orZero) {
  option.check([orZero](const std::string &text) {
    double value = 0;
    const char *end = text.data() + text.size();
    auto [rest, code] = std::from_chars(text.data(), end, value);
    bool good = code == std::errc() && rest == end &&
                (value > 0 || (orZero && value == 0)) && std::isfinite(value);
    return good ? std::string()
                : fmt::format("{} is not a number above 0{}", text,
                              orZero ? ", or 0" : "");
  });
}

std::pair<int64_t, int64_t> torsor::parseHeads(const std::string &text) {
  auto parse = [&](llvm::StringRef part) -> int64_t {
    int64_t value = 0;
    if (part.getAsInteger(10, value) || value < 1 || value > 65536)
      failUsage(fmt::format("--heads {}: write the numbers of query heads and "
                            "of key heads, as 8/2, or one number for both",
                            text));
    return value;
  };
  auto [first, second] = llvm::StringRef(text).split('/');
  int64_t heads = parse(first);
  int64_t groups = second.empty() && !llvm::StringRef(text).contains('/')
                       ? heads
                       : parse(second);
  if (heads % groups)
    failUsage(
        fmt::format("--heads {}: {} query heads cannot share {} key heads "
                    "evenly; the first number must be a multiple of the "
                    "second",
                    text, heads, groups));
  return {heads, groups};
}

void torsor::setType(CompileOptions &compile, const std::string &text) {
  parseType(text);
  compile.kernel.q = compile.kernel.k = compile.kernel.v = compile.kernel.o =
      text;
}

torsor_dtype torsor::parseType(const std::string &text) {
  if (text == "f32")
    return TORSOR_F32;
  if (text == "bf16")
    return TORSOR_BF16;
  if (text == "f16")
    return TORSOR_F16;
  failUsage(
      fmt::format("'{}' is no type of tensors; write f32, bf16 or f16", text));
}

void torsor::addTargetOption(CLI::App &command, std::string &target,
                             const std::string &text) {
  command.add_option("--target", target, text)
      ->type_name("LEVEL")
      ->capture_default_str()
      ->check([](const std::string &name) {
        // What GPUs lack is no matter of the command line.
        bool isGpu = llvm::StringRef(name).starts_with("sm_") || name == "cuda";
        if (isGpu || name == "x86-64" || name == "native" || findTarget(name))
          return std::string();
        std::string names = "x86-64 (all levels in one object), native";
        for (const Target &level : getTargets())
          names += ", " + level.name.str();
        return fmt::format("there is no target '{}'; write {}", name, names);
      });
}

void torsor::addTileOptions(CLI::App &command, SourceOptions &options) {
  command
      .add_option_function<std::string>(
          "--tile",
          [&options](const std::string &text) {
            auto [rows, keys] = llvm::StringRef(text).split('x');
            TileSizes &tiles = options.tiles;
            if (rows.getAsInteger(10, tiles.rows) ||
                keys.getAsInteger(10, tiles.keys) || tiles.rows < 1 ||
                tiles.keys < 1 || tiles.rows > mostTileRows ||
                tiles.keys > mostTileKeys)
              failUsage(fmt::format("--tile {}: write ROWSxKEYS, as 96x256, "
                                    "with 1 to {} rows and 1 to {} keys",
                                    text, mostTileRows, mostTileKeys));
          },
          "Tiles of prefill: rows of queries by keys, rounded up to 48 and "
          "64; by default a cost model chooses, and 'explain' prints it. "
          "'torsor bench --tune' measures others")
      ->type_name("ROWSxKEYS");
  command
      .add_option("--split", options.tiles.split,
                  "Keys of one item of decode, rounded up to 64")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, mostSplitKeys));
}

std::shared_ptr<const SourceFile> torsor::readSource(const std::string &path) {
  std::string text, error;
  bool standard = path == "-";
  if (!readWholeFile(standard ? "/dev/stdin" : path, text, error))
    failUser(fmt::format("cannot read '{}': {}", path, error));
  // Imports of standard input are looked up where the user is.
  std::string folder = llvm::sys::path::parent_path(path).str();
  return std::make_shared<SourceFile>(standard ? "<stdin>" : path,
                                      std::move(text),
                                      folder.empty() ? "." : folder);
}

std::vector<NamedFile> torsor::listSources(const SourceOptions &options) {
  return {{"FILE", options.path}, {"--prelude", options.prelude}};
}

std::unique_ptr<Compilation>
torsor::startCompilation(const SourceOptions &options, CompileOptions compile) {
  compile.scheme = options.scheme;
  compile.check.head = compile.kernel.head = options.head;
  compile.check.value = compile.kernel.value = options.value;
  compile.check.layers = options.layers;
  compile.kernel.f32Reference = options.f32Reference;
  compile.remarks |= options.remarks;
  compile.warningsAreErrors = options.warningsAreErrors;
  compile.timing = options.timing;
  compile.tiles = options.tiles;
  if (compile.target == "native")
    compile.target.clear();
  for (const std::string &setting : options.settings) {
    auto [name, value] = llvm::StringRef(setting).split('=');
    if (name.trim().empty() || value.trim().empty())
      failUsage(fmt::format("--set {}: write NAME=VALUE", setting));
    for (const Setting &other : compile.check.settings)
      if (other.name == name.trim())
        failUsage(fmt::format("--set gives '{}' two values, {} and {}; leave "
                              "one out",
                              other.name, other.value, value.trim().str()));
    compile.check.settings.push_back({name.trim().str(), value.trim().str()});
  }
  if (!options.prelude.empty()) {
    auto read = readSource(options.prelude);
    auto prelude = std::make_shared<SourceFile>(
        read->getName().str(), read->getText().str(), read->getFolder().str());
    prelude->setPrelude();
    compile.prelude = prelude;
  }
  return std::make_unique<Compilation>(readSource(options.path),
                                       std::move(compile));
}

void torsor::finishStep(Compilation &compilation,
                        const SourceOptions &options) {
  DiagnosticList &list = compilation.getDiagnostics();
  bool failed = list.hasErrors();
  for (const Diagnostic *diagnostic : list.sorted()) {
    if (diagnostic->level == DiagnosticLevel::Remark && !options.remarks)
      continue;
    failed |= options.warningsAreErrors &&
              diagnostic->level == DiagnosticLevel::Warning;
    if (compilation.isNews(diagnostic))
      fmt::print(stderr, "{}", printDiagnostic(*diagnostic));
  }
  if (!compilation.getInternalError().empty())
    failInternal(compilation.getInternalError());
  if (failed)
    throw Failure(exitUser, "");
}

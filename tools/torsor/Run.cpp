// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `torsor run`: a scheme on arrays from files.
#include "dialect/TorsorDialect.h"
#include "runtime/jit/Files.h"
#include "runtime/jit/ObjectLoader.h"
#include "tools/torsor/Commands.h"
#include "tools/torsor/Compare.h"
#include "tools/torsor/Failure.h"
#include "tools/torsor/Options.h"
#include "tools/torsor/RunKernel.h"
#include "tools/torsor/RunMissing.h"
#include "tools/torsor/RunReference.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

using namespace torsor;

namespace {

struct RunOptions {
  SourceOptions source;
  RunFiles files;
  std::string kernel = "prefill", out, lse, expect, expectLse, target;
  int64_t offset = 0, threads = 1;
  double tolerance = 0;
  bool reference = false, compare = false, noCache = false;
};

struct Libraries {
  torsor_library *library = nullptr;
  ~Libraries() { torsor_library_destroy(library); }
};

/// One run of the command.
class Runner {
public:
  explicit Runner(const RunOptions &options) : options(options) {}
  void run();

private:
  const RunOptions &options;
  RunInputs inputs;
  std::unique_ptr<Compilation> compilation;
  Array o, lse;
  std::vector<double> condition; // of o, once the reference has run
  bool failed = false;

  const Scheme &compileScheme();
  SchemeOp emitScheme();
  void runKernel();
  Exact reference();
  void report(const char *what, const Array &found, const Array &expected,
              const char *against, double factor);
};

} // namespace

/// Checks the file and picks the one scheme that is to run.
const Scheme &Runner::compileScheme() {
  CompileOptions compile;
  setType(compile, getTypeName(inputs.dtype));
  compile.target = options.target;
  compile.operations = options.kernel == "decode"
                           ? 1u << TORSOR_ATTEND | 1u << TORSOR_APPEND
                           : 1u << TORSOR_PREFILL;
  SourceOptions source = options.source;
  if (!source.head)
    source.head = inputs.head;
  if (!source.value)
    source.value = inputs.value;
  compilation = startCompilation(source, compile);
  compilation->check();
  finishStep(*compilation, options.source);
  auto chosen = compilation->getChosen();
  if (chosen.size() != 1) {
    std::vector<std::string> names;
    for (const Scheme *scheme : chosen)
      names.push_back(scheme->name);
    failSeveral(options.source, names);
  }
  const Scheme &scheme = *chosen.front();
  auto expect = [&](const char *what, const char *clause, int64_t width,
                    int64_t given) {
    if (width && width != given)
      failUser(fmt::format("the scheme '{}' has {} {} lanes wide, but the "
                           "arrays have {}; the scheme says it by '{} {}'",
                           scheme.name, what, width, given, clause, given));
  };
  expect("heads", "head", scheme.head, inputs.head);
  bool hasValues = !options.files.v.empty();
  if (scheme.valueLanes && hasValues)
    failUser(fmt::format("the values of the scheme '{}' are lanes {} to {} of "
                         "the key; leave --v out",
                         scheme.name, scheme.valueLanes->first,
                         scheme.valueLanes->second));
  if (!scheme.valueLanes && !hasValues)
    failUser(fmt::format("the scheme '{}' has values of its own; give them "
                         "with --v",
                         scheme.name));
  if (scheme.valueLanes)
    inputs.value = scheme.value;
  expect("values", "value", scheme.value, inputs.value);
  return scheme;
}

void Runner::runKernel() {
  ObjectCache::Options cacheOptions;
  cacheOptions.off = options.noCache;
  ObjectCache cache(cacheOptions);
  std::string object;
  compilation->makeObject(object, &cache);
  finishStep(*compilation, options.source);
  Libraries libraries;
  checkStatus(loadObject(object, options.source.path, &libraries.library),
              "cannot load the compiled code");
  KernelRun kernel(libraries.library, inputs, options.threads);
  o = Array(inputs.dtype,
            {inputs.batch, inputs.heads, inputs.queries, inputs.value});
  bool wantLse =
      !options.lse.empty() || options.compare || !options.expectLse.empty();
  if (wantLse)
    lse = Array(TORSOR_F32, {inputs.batch, inputs.heads, inputs.queries});
  torsor_op op = TORSOR_PREFILL;
  if (options.kernel == "decode") {
    kernel.append();
    op = TORSOR_DECODE;
    if (int64_t most = kernel.getDecodeQueries(); inputs.queries > most) {
      fmt::print(
          stderr,
          "torsor: note: decode takes {} queries a sequence, so these {} "
          "are prefilled from the cache\n",
          most == 0 ? "no" : fmt::format("up to {}", most), inputs.queries);
      op = TORSOR_ATTEND;
    }
  }
  kernel.attend(op, o, wantLse ? &lse : nullptr);
}

SchemeOp Runner::emitScheme() {
  mlir::ModuleOp module = compilation->emitSchemes();
  finishStep(*compilation, options.source);
  return *module.getOps<SchemeOp>().begin();
}

Exact Runner::reference() {
  Exact exact = runReference(emitScheme(), inputs, options.source.f32Reference);
  condition = exact.condition;
  return exact;
}

/// Prints how far `found` is off, and remembers if it is too far. `factor`:
/// of the tolerance that no option gives. A row of o may be farther off where
/// it was divided by a total that nearly cancels.
void Runner::report(const char *what, const Array &found, const Array &expected,
                    const char *against, double factor) {
  if (found.shape != expected.shape)
    failUser(fmt::format("{}: {} has the shape {}, but {} was computed", what,
                         against, formatShape(expected.shape),
                         formatShape(found.shape)));
  double tolerance = options.tolerance > 0
                         ? options.tolerance
                         : getTolerance(inputs.dtype) * factor;
  std::vector<double> scales;
  if (&found == &o && !condition.empty())
    scales = getScales(expected, condition, tolerance);
  Difference difference = compareArrays(found, expected, scales);
  double bound = tolerance * difference.scale;
  bool good = difference.largest <= bound;
  failed |= !good;
  fmt::print("{:<4} against {}: {}; {} the bound {:.3g}\n", what, against,
             describeDifference(difference, found.shape),
             good ? "within" : "ABOVE", bound);
  if (difference.open)
    fmt::print("     left out: {} of {} rows, whose divisor may be 0 by "
               "rounding alone\n",
               difference.open, scales.size());
}

void Runner::run() {
  if (options.out.empty() && options.lse.empty() && !options.compare &&
      options.expect.empty() && options.expectLse.empty())
    failUsage("nothing asks for the result: give --out, --lse, --compare, "
              "--expect or --expect-lse");
  if (options.reference && options.compare)
    failUsage("--reference computes with the reference alone, --compare with "
              "both; give one of the two");
  std::vector<NamedFile> read = listSources(options.source);
  llvm::append_range(read, listInputs(options.files));
  read.push_back({"--expect", options.expect});
  read.push_back({"--expect-lse", options.expectLse});
  checkOutputs(read, {{"--out", options.out}, {"--lse", options.lse}});
  readTensors(options.files, inputs);
  readArguments(options.files, compileScheme(), inputs);
  checkGiven(emitScheme(), inputs);
  if (options.reference) {
    Exact exact = reference();
    o = std::move(exact.o);
    lse = std::move(exact.lse);
  } else {
    runKernel();
  }

  auto write = [](const std::string &path, const Array &array) {
    std::string error;
    if (!path.empty() && !writeNpy(path, array, error))
      failUser("cannot write " + error);
  };
  write(options.out, o);
  if (!options.lse.empty() && lse.shape.empty())
    failUser("--lse: this readout has no LSE");
  write(options.lse, lse);

  // Weights are as exact as the logits: of these the kernel's lse is as large.
  double factor = getLogitFactor(lse);
  if (options.compare) {
    Exact exact = reference();
    report("o", o, exact.o, "the reference", factor);
    if (!exact.lse.shape.empty())
      report("lse", lse, exact.lse, "the reference", 1);
  }
  auto expect = [&](const char *what, const std::string &path,
                    const Array &found, double factor) {
    if (path.empty())
      return;
    Array expected;
    std::string error;
    if (!readNpy(path, expected, error, options.files.unsignedIsBf16))
      failUser("cannot read " + error);
    report(what, found, expected, ("'" + path + "'").c_str(), factor);
  };
  expect("o", options.expect, o, factor);
  expect("lse", options.expectLse, lse, 1);
  if (failed)
    failUser("the result differs by more than rounding can explain");
}

static void addDataOptions(CLI::App &command, RunOptions &options) {
  RunFiles &files = options.files;
  auto file = [&](const char *name, std::string &path, const char *help) {
    return command.add_option(name, path, help)->type_name("FILE.npy");
  };
  file("--q", files.q, "Queries [batch, H, length, D]")->required();
  file("--k", files.k, "Keys [batch, G, length, D], not acted on")->required();
  file("--v", files.v,
       "Values [batch, G, length, V]; left out where they are lanes of the "
       "key");
  file("--out", options.out, "Where to write o [batch, H, length, V]");
  file("--lse", options.lse,
       "Where to write the logarithm of each row's sum [batch, H, length]");
  command
      .add_option("--bind", files.bindings,
                  "A param or an input: NAME=x.npy; per token [batch, length, "
                  "…], over all keys, or as NAME=queries.npy,keys.npy")
      ->type_name("NAME=FILE.npy")
      ->take_all()
      ->allow_extra_args(false);
  command
      .add_option("--clock", files.clocks,
                  "A given clock: NAME=queries.npy,keys.npy")
      ->type_name("NAME=Q.npy,K.npy")
      ->take_all()
      ->allow_extra_args(false);
  file("--q-positions", files.queryPositions,
       "Positions of the queries (the clock pos; masks go by index)");
  file("--k-positions", files.keyPositions, "Positions of the keys");
  file("--q-index", files.queryIndices,
       "Index of every query; negative: padding");
  file("--k-index", files.keyIndices, "Index of every key; negative: padding");
  command
      .add_option("--offset", options.offset,
                  "Index of the first query; by default the queries are the "
                  "last of the keys")
      ->type_name("N");
  command
      .add_option("--dtype", files.dtype,
                  "Type to compute with; by default that of q")
      ->type_name("f32|bf16|f16");
  command.add_flag("--u2-is-bf16", files.unsignedIsBf16,
                   "Files of type u2 hold bf16 (those of type V2 always do)");
}

void torsor::addRunCommand(CLI::App &app) {
  auto options = std::make_shared<RunOptions>();
  CLI::App *command = app.add_subcommand(
      "run", "Run a scheme on arrays in .npy files, or compare it with its "
             "exact meaning");
  command->footer(
      "\nExample:\n  torsor run llama31.torsor --q q.npy --k k.npy --v v.npy "
      "--out o.npy --compare\nOpen widths are taken from the arrays. Compiled "
      "code is kept in ~/.cache/torsor.");
  addSourceOptions(*command, options->source);
  addArithmeticOption(*command, options->source);
  addTileOptions(*command, options->source);
  command
      ->add_option("--kernel", options->kernel,
                   "prefill: many queries; decode: few queries against keys "
                   "that are first appended to a cache")
      ->check(CLI::IsMember({"prefill", "decode"}))
      ->capture_default_str();
  addDataOptions(*command, *options);
  command->add_option("--threads", options->threads, "Threads to run on")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{1}, int64_t{1024}));
  command->add_flag("--reference", options->reference,
                    "Compute with the exact reference in f64 instead; slow");
  command->add_flag("--compare", options->compare,
                    "Compute with both, print the difference, and end with 1 "
                    "if rounding cannot explain it");
  command
      ->add_option("--expect", options->expect,
                   "An o to compare with in the same way")
      ->type_name("FILE.npy");
  command
      ->add_option("--expect-lse", options->expectLse, "An lse to compare with")
      ->type_name("FILE.npy");
  setPositive(
      *command
           ->add_option("--tolerance", options->tolerance,
                        "Bound of the error, times the largest |o|, or |lse|, "
                        "if above 1; by default 1e-5 (f32), 1.6e-2 (bf16), "
                        "2e-3 (f16), for o times an eighth of the largest "
                        "|lse| if that is above 1")
           ->type_name("X"));
  addTargetOption(*command, options->target,
                  "Machine level; by default that of this CPU");
  command->add_flag("--no-cache", options->noCache,
                    "Neither use nor keep compiled code on disk");
  CLI::Option *offset = command->get_option("--offset");
  command->callback([options, offset] {
    if (offset->count())
      options->files.offset = options->offset;
    Runner(*options).run();
  });
}

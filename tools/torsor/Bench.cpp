// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `torsor bench`: the speed of a kernel as a share of what the machine can do.
#include "bench/Meters.h"
#include "dialect/TorsorDialect.h"
#include "runtime/jit/Explain.h"
#include "runtime/jit/ObjectLoader.h"
#include "tools/torsor/BenchCompile.h"
#include "tools/torsor/BenchData.h"
#include "tools/torsor/BenchReport.h"
#include "tools/torsor/BenchTune.h"
#include "tools/torsor/BenchYardstick.h"
#include "tools/torsor/Commands.h"
#include "tools/torsor/Failure.h"
#include "tools/torsor/Options.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

using namespace torsor;
using nlohmann::ordered_json;

namespace {

struct BenchOptions {
  SourceOptions source;
  std::string kernel = "prefill", dtype = "f32", heads = "8/2", target;
  int64_t batch = 1, queries = 0, keys = 2048, threads = 1;
  int rounds = 7;
  double seconds = 1;
  int64_t segment = 0, page = 0;
  bool json = false, check = false, wall = false, compile = false, tune = false;
};

/// One run of the command.
class Bench {
public:
  explicit Bench(const BenchOptions &options) : options(options) {}
  void run();

private:
  const BenchOptions &options;
  BenchShape shape;
  /// Owns what `facts` points to.
  std::unique_ptr<Compilation> compilation;
  SchemeFacts facts;
  torsor_library *library = nullptr;
  std::unique_ptr<BenchCall> call;
  double compileSeconds = 0, compileAgainSeconds = 0;
  ordered_json result;

  /// What the kernel is compared with.
  FmaKind fma = FmaKind::Vector256;
  bool narrow = false; // AVX2
  std::optional<ReadMeter> reader;
  std::optional<BenchYardstick> yardstick;
  int64_t bytes = 0; // keys and values of a call
  int64_t reads = 1; // of them in a run of `reader`
  static constexpr int64_t fmaIterations = 50000;

  void readShape();
  CompileOptions getCompileOptions() const;
  void compile();
  void chooseMeters();
  void measure();
  void report(const std::vector<Subject> &subjects, int repeats);
  double countFlops() const;
};

} // namespace

void Bench::readShape() {
  std::tie(shape.heads, shape.groups) = parseHeads(options.heads);
  shape.dtype = parseType(options.dtype);
  shape.decode = options.kernel == "decode";
  shape.batch = options.batch;
  shape.keys = options.keys;
  shape.queries = options.queries ? options.queries
                  : shape.decode  ? 1
                                  : options.keys;
  shape.threads = options.threads;
  shape.segment = options.segment;
  shape.page = shape.decode ? options.page : 0;
  if (shape.queries > shape.keys)
    failUsage(fmt::format("--queries {} --keys {}: the queries are the last of "
                          "the keys, so there cannot be more of them",
                          shape.queries, shape.keys));
}

CompileOptions Bench::getCompileOptions() const {
  CompileOptions compile;
  setType(compile, options.dtype);
  compile.target = options.target;
  compile.operations = shape.decode ? 1u << TORSOR_DECODE | 1u << TORSOR_APPEND
                                    : 1u << TORSOR_PREFILL;
  return compile;
}

void Bench::compile() {
  CompileOptions compile = getCompileOptions();
  compilation = startCompilation(options.source, compile);
  std::string object;
  compilation->makeObject(object);
  finishStep(*compilation, options.source);
  compileSeconds = compilation->getSeconds();
  // What a host pays for its next kernel: the compiler's pages are loaded.
  auto again = startCompilation(options.source, compile);
  again->makeObject(object);
  compileAgainSeconds = again->getSeconds();
  auto all = gatherAllFacts(*compilation, compilation->emitSchemes(),
                            compilation->formKernels(), 1);
  if (all.size() > 1) // an encoding beside attention is not what is timed
    std::erase_if(all, [](const SchemeFacts &one) { return one.isEmbedding; });
  if (all.size() != 1) {
    std::vector<std::string> names;
    for (const SchemeFacts &scheme : all)
      names.push_back(scheme.name);
    failSeveral(options.source, names);
  }
  facts = std::move(all.front());
  shape.head = facts.head;
  shape.value = facts.value;
  checkStatus(loadObject(object, options.source.path, &library),
              "cannot load the compiled code");
}

/// Useful flops: two products for each pair that the mask shows.
double Bench::countFlops() const {
  double pairs = 0;
  for (int64_t i = shape.keys - shape.queries; i < shape.keys; ++i)
    pairs += countKeys(facts.visible, i, shape.keys);
  return 2 * pairs * static_cast<double>(shape.head + shape.value) *
         static_cast<double>(shape.heads * shape.batch);
}

/// Runs `body(thread)` on every thread of the pool.
template <typename F>
static void onAllThreads(const torsor_executor &pool, F &&body) {
  auto trampoline = [](void *argument, int64_t begin, int64_t end, int64_t) {
    for (int64_t n = begin; n < end; ++n)
      (*static_cast<std::remove_reference_t<F> *>(argument))(n);
  };
  pool.loop(pool.context, pool.workers, trampoline, &body);
}

void Bench::chooseMeters() {
  narrow = call->getVariant() == "x86-64-v3";
  fma = narrow
            ? FmaKind::Vector256
            : getBestFma(shape.dtype == TORSOR_BF16 &&
                         call->getVariant().find("bf16") != std::string::npos);
  bytes = shape.batch * shape.groups * shape.keys * (shape.head + shape.value) *
          getElementBytes(shape.dtype);
  // A cache that fits the processor's own is read several times at once.
  reads = std::clamp<int64_t>((int64_t{16} << 20) / bytes, 1, 10000);
  if (shape.decode)
    reader.emplace(bytes, static_cast<int>(shape.threads));
  bool whole = facts.visible.size() == 1 && facts.full.size() == 1 &&
               !facts.causal && !facts.needsTile &&
               countKeys(facts.visible, 0, shape.keys) ==
                   static_cast<double>(shape.keys);
  // bf16 has one where the peak is that of its own instructions.
  bool dot = fma == FmaKind::Dot512Bf16;
  if ((shape.dtype == TORSOR_F32 || dot) && canYardstick(shape) &&
      (whole || (facts.causal && facts.window < 0 && !facts.needsTile)))
    yardstick.emplace(shape, facts.causal, dot, narrow);
}

void Bench::measure() {
  call = std::make_unique<BenchCall>(library, shape);
  chooseMeters();
  const torsor_executor &pool = call->getPool();
  // Units of work of at least a millisecond, so that the clock's grain and the
  // start of a loop do not count.
  call->run();
  bool wall = options.wall || shape.threads > 1;
  double begin = getWallSeconds();
  call->run();
  double once = std::max(getWallSeconds() - begin, 1e-7);
  int repeats = static_cast<int>(std::clamp(1e-3 / once, 1.0, 10000.0));
  constexpr double pieceSeconds = 2e-4;
  std::vector<Subject> subjects;
  // One thread: long runs in pieces, since somebody disturbs each of them.
  bool inPieces = !shape.decode && !wall && once > 2 * pieceSeconds;
  subjects.push_back({"kernel", [&] {
                        for (int n = 0; n < repeats; ++n)
                          call->run();
                      }});
  if (inPieces) {
    repeats = 1;
    subjects[0].pieces = call->cut(once, pieceSeconds);
  }
  subjects.push_back(
      {"peak", [&] {
         onAllThreads(pool, [&](int64_t) { runFmaLoop(fma, fmaIterations); });
       }});
  if (reader)
    subjects.push_back({"read", [&] {
                          onAllThreads(pool, [&](int64_t n) {
                            for (int64_t r = 0; r < reads; ++r)
                              reader->run(static_cast<int>(n));
                          });
                        }});
  if (yardstick)
    subjects.push_back(yardstick->makeSubject(inPieces));
  measureInterleaved(subjects, options.rounds, options.seconds, wall);
  report(subjects, repeats);
}

void Bench::report(const std::vector<Subject> &subjects, int repeats) {
  result["file"] = options.source.path;
  result["scheme"] = facts.name;
  result["kernel"] = options.kernel;
  result["dtype"] = options.dtype;
  result["variant"] = call->getVariant();
  describeShape(result, shape);
  double seconds = subjects[0].best / repeats;
  double peak = runFmaLoop(fma, 1) * fmaIterations *
                static_cast<double>(shape.threads) / subjects[1].best;
  double flops = countFlops();
  result["seconds"] = seconds;
  result["median_seconds"] = subjects[0].getMedian() / repeats;
  result["gflops"] = flops / seconds * 1e-9;
  result["peak_gflops"] = peak * 1e-9;
  result["peak_of"] = getName(fma);
  result["fraction_of_peak"] = flops / seconds / peak;
  if (reader) {
    double bandwidth =
        static_cast<double>(reader->getBytes() * reads) / subjects[2].best;
    result["gbytes_per_second"] = bytes / seconds * 1e-9;
    result["read_bandwidth"] = bandwidth * 1e-9;
    result["fraction_of_bandwidth"] = bytes / seconds / bandwidth;
    result["fraction_of_roofline"] =
        std::max(bytes / bandwidth, flops / peak) / seconds;
  }
  if (yardstick) {
    double best = subjects.back().best;
    result["yardstick_gflops"] = flops / best * 1e-9;
    result["ratio_to_yardstick"] = best / seconds;
  }
  result["compile_ms"] = compileSeconds * 1e3;
  result["compile_again_ms"] = compileAgainSeconds * 1e3;
  if (options.check)
    result["largest_error"] = call->measureError(
        *compilation->emitSchemes().getOps<SchemeOp>().begin());
}

void Bench::run() {
  readShape();
  compile();
  if (options.tune) {
    benchTune(options.source, getCompileOptions(), shape,
              getTiles(compilation->formKernels()), options.rounds,
              options.seconds, options.json);
  } else {
    measure();
    if (options.json)
      fmt::print("{}\n", result.dump(1));
    else
      printBench(result);
  }
  call.reset();
  torsor_library_destroy(library);
}

/// What is computed: the kernel, its types and shapes.
static void addCaseOptions(CLI::App &command, BenchOptions &options) {
  command.add_option("--kernel", options.kernel, "prefill or decode")
      ->check(CLI::IsMember({"prefill", "decode"}))
      ->capture_default_str();
  command.add_option("--dtype", options.dtype, "Type of q, k, v and o")
      ->type_name("f32|bf16|f16")
      ->capture_default_str();
  command.add_option("--heads", options.heads, "Heads of queries and of keys")
      ->type_name("H/G")
      ->capture_default_str();
  auto count = [&](const char *name, int64_t &value, const char *help) {
    return command.add_option(name, value, help)
        ->type_name("N")
        ->check(CLI::Range(int64_t{1}, int64_t{1} << 24));
  };
  count("--batch", options.batch, "Sequences")->capture_default_str();
  count("--queries", options.queries,
        "Queries of a sequence; by default all keys, for decode 1");
  count("--keys", options.keys, "Keys of a sequence")->capture_default_str();
  count("--segment", options.segment,
        "Integer inputs number stretches of so many tokens; by default they "
        "are 0");
  count("--page", options.page,
        "Decode from a cache of pages of so many keys, in a random order");
  count("--threads", options.threads, "Threads")->capture_default_str();
}

void torsor::addBenchCommand(CLI::App &app) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App *command = app.add_subcommand(
      "bench", "Time a kernel against the measured ceilings of this machine");
  command->footer(
      "\nThe peak of multiply-adds, the read bandwidth of memory and, where it "
      "can, a\nhand-written kernel are measured in turn with the kernel in the "
      "same run, since\nclock rates drift. One thread is timed by its CPU "
      "time.");
  addSourceOptions(*command, options->source);
  addArithmeticOption(*command, options->source);
  addTileOptions(*command, options->source);
  addCaseOptions(*command, *options);
  command
      ->add_option("--rounds", options->rounds,
                   "Times that everything is measured at least")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  setPositive(*command
                   ->add_option("--seconds", options->seconds,
                                "Seconds to go on measuring")
                   ->capture_default_str(),
              /*orZero=*/true);
  addTargetOption(*command, options->target,
                  "Machine level; by default that of this CPU");
  command->add_flag("--wall", options->wall,
                    "Time one thread by the wall clock, too");
  command->add_flag("--check", options->check,
                    "Also compare some rows with the exact reference");
  command->add_flag("--tune", options->tune,
                    "Time smaller and larger tiles, too: a table with the cost "
                    "model's choice and the fastest, as options of 'compile'");
  command->add_flag("--compile", options->compile,
                    "Time the compiler instead of a kernel: each operation, "
                    "and all of them");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] {
    if (options->compile)
      benchCompile(options->source, options->dtype, options->target,
                   options->rounds, options->seconds, options->json);
    else
      Bench(*options).run();
  });
}

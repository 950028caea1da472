// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cases of oracle.json on compiled kernels: every call that a case makes
// of the reference is made of a kernel, and the kernel's numbers are compared.
#include "test/e2e/Kernel.h"

#include "passes/Passes.h"
#include "passes/Pipelines.h"
#include "test/oracle/Oracle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace torsor;
using namespace torsor::test;

namespace {

/// Constants of the language and embeddings: they make no call of attention.
const std::set<std::string> constants = {
    "llama31.d128",
    "llama32_1b.d64.s32",
    "longrope.inv_freq.toy.d8",
    "ntk.dynamic.d128.factor2.L4096.seq16384",
    "ntk.dynamic.vllm_static_variant",
    "ntk.static.d128.alpha4",
    "ntk_by_parts.paper.d128.L4096.s4",
    "partial.neox_equivalent_width128",
    "pi.inv_freq.d128.s4",
    "prope.gemma4_global",
    "retnet.angles.torchscale.key16",
    "rope.coverage.d128.b1e4.L4096",
    "rope.inv_freq.d128.b10000",
    "rope.inv_freq.d128.b1000000",
    "rope.inv_freq.d128.b500000",
    "rope.inv_freq.d8.b1e4",
    "rope.wavelength.d128.b10000",
    "rope.wavelength.d128.b1000000",
    "rope.wavelength.d128.b500000",
    "sinusoidal.dot.d6.p7.p3",
    "sinusoidal.fairseq.d8.p5",
    "sinusoidal.halves.d8.p5",
    "sinusoidal.interleaved.d6.p0",
    "sinusoidal.interleaved.d6.p1",
    "sinusoidal.interleaved.d6.p2",
    "sinusoidal.interleaved.d6.p3",
    "sinusoidal.shift_matrix.pair1.k10",
    "yarn.gpt_oss.if_truncated",
    "yarn.kimi_k2.beta_equal"};

/// Cases whose calls no kernel takes yet, and what the compiler says.
const std::map<std::string, const char *> refused = {
    {"kda.T6", "the delta rule"}};

/// Angles read back through acos, whose slope is unbounded at 0: what an error
/// of 2e-6 in the cosine costs there, in the units of the case.
const std::map<std::string, double> throughAcos = {
    {"rerope.f", 3e-3}, {"leaky_rerope.f", 3e-3}, {"self_extend.rel", 0.3}};

/// What became of the calls of one case.
struct Calls {
  int onKernels = 0;
  std::string refused; ///< Why a call has no kernel; "": all have.
  double logits = 1;   ///< The largest |logit|, at least 1.
};

bool has(const std::string &text, std::initializer_list<const char *> words) {
  return llvm::any_of(words, [&](const char *word) {
    return text.find(word) != std::string::npos;
  });
}

/// Puts a kernel's numbers into the output of the reference.
class KernelEvaluator {
public:
  KernelEvaluator(const Kernel &kernel, const std::string &text,
                  const Problem &problem, Output &output, Calls &calls)
      : kernel(kernel), text(text), problem(problem), output(output),
        calls(calls) {}

  void run() {
    RunOptions tiled;
    tiled.op = TORSOR_PREFILL;
    RunResult whole = kernel.run(problem, tiled);
    ASSERT_EQ(whole.error, "") << text;
    RunResult split = kernel.run(problem, {});
    ASSERT_EQ(split.error, "") << text;
    for (double lse : output.lse)
      if (std::isfinite(lse))
        calls.logits = std::max(calls.logits, std::fabs(lse));
    double bound = 2e-6 * calls.logits;
    EXPECT_LE(largestDifference(whole.o, split.o),
              bound * (1 + largest(output.o)))
        << text;
    output.o = whole.o;
    output.lse = whole.lse;
    if (problem.trace)
      readPairs();
    ++calls.onKernels;
  }

private:
  static double largest(const std::vector<double> &values) {
    double most = 0;
    for (double x : values)
      if (std::isfinite(x))
        most = std::max(most, std::fabs(x));
    return most;
  }

  /// The LSE of one key alone is its logit. Sums over the keys between cannot
  /// be read so: there the logits stay those of the reference, and o and LSE
  /// are the kernel's.
  void readPairs() {
    double factor = scoreFactor();
    for (size_t n = 0; n < problem.sequences.size(); ++n) {
      const SequenceRun &run = problem.sequences[n];
      for (int64_t key = 0; key < run.keyLength; ++key)
        if (!readKey(run, key, output.pairs[n], factor))
          return;
    }
  }

  /// False: the scheme cannot be evaluated on parts of the keys.
  bool readKey(const SequenceRun &run, int64_t key,
               std::vector<PairTrace> &pairs, double factor) {
    Problem one = problem;
    one.trace = false;
    SequenceRun part = run;
    if (!part.placed) {
      part.queryIndex = run.keyLength - run.queryLength;
      part.total = run.keyLength;
    }
    part.placed = part.partial = true;
    part.keyStart += key;
    part.keyIndex += key;
    part.keyLength = 1;
    one.sequences = {part};
    RunResult result = kernel.run(one, {});
    if (result.error.find("is PARTIAL, but scheme") != std::string::npos)
      return false;
    EXPECT_EQ(result.error, "") << text;
    if (!result.error.empty())
      return false;
    int64_t tokens = problem.q.shape[2];
    for (int64_t h = 0; h < problem.heads; ++h)
      for (int64_t i = 0; i < run.queryLength; ++i) {
        PairTrace &pair =
            pairs[(h * run.queryLength + i) * run.keyLength + key];
        double logit = result.lse[(run.queryRow * problem.heads + h) * tokens +
                                  run.queryStart + i];
        EXPECT_EQ(pair.visible && pair.logit != -HUGE_VAL, logit != -HUGE_VAL)
            << text;
        // Numbers of buckets are read back as whole numbers.
        if (std::fabs(logit - pair.logit) <= 2e-6 * calls.logits &&
            pair.logit == std::rint(pair.logit))
          logit = pair.logit;
        if (factor) {
          double score = logit / factor;
          bool isWhole = pair.score == std::rint(pair.score);
          if (!isWhole ||
              std::fabs(score - pair.score) > 2e-6 * calls.logits / factor)
            pair.score = score;
        }
        pair.logit = logit;
      }
    return true;
  }

  /// logit / score where nothing else stands between them, else 0.
  double scoreFactor() const {
    if (has(text, {"bias ", "softcap ", "logit ", "scale "}))
      return 0;
    return 1 / std::sqrt(double(problem.q.shape[3]));
  }

  const Kernel &kernel;
  const std::string &text;
  const Problem &problem;
  Output &output;
  Calls &calls;
};

/// The kernel of a source, compiled once for all calls.
const Kernel *kernelOf(const std::string &text,
                       const test::KernelOptions &options, std::string &error) {
  static std::map<std::string, std::pair<std::unique_ptr<Kernel>, std::string>>
      known;
  std::string key = text + "\n" + options.scheme + "\n" +
                    std::to_string(options.head) + " " +
                    std::to_string(options.value);
  for (const auto &[name, value] : options.settings)
    key += " " + name + "=" + value;
  auto [entry, isNew] = known.try_emplace(key);
  if (isNew)
    entry->second.first = Kernel::compile(text, options, entry->second.second);
  error = entry->second.second;
  return entry->second.first.get();
}

void evaluateOnKernel(const std::string &text, const SourceOptions &options,
                      const Problem &problem, Output &output, Calls &calls) {
  test::KernelOptions compile;
  compile.scheme = options.scheme;
  compile.settings = options.settings;
  compile.head = options.head ? options.head : problem.q.shape[3];
  compile.value = options.value ? options.value : problem.v.shape[3];
  std::string error;
  const Kernel *kernel = kernelOf(text, compile, error);
  if (!kernel) {
    EXPECT_NE(error.find("no kernel for this yet"), std::string::npos)
        << text << "\n"
        << error;
    size_t at = error.find("no kernel");
    calls.refused = error.substr(at, error.find('\n', at) - at);
    return;
  }
  KernelEvaluator(*kernel, text, problem, output, calls).run();
}

class OracleKernelTest : public testing::TestWithParam<OracleEntry> {};

std::vector<OracleEntry> casesOfKernels() {
  std::vector<OracleEntry> cases;
  for (const OracleEntry &entry : allCases())
    if (!constants.count(entry.id))
      cases.push_back(entry);
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Cases, OracleKernelTest,
                         testing::ValuesIn(casesOfKernels()), testName);

// A logit in f32 is off by a few units of its own size, o by as much again.
TEST_P(OracleKernelTest, Agrees) {
  const json &entry = oracleCase(GetParam().id);
  Calls calls;
  setSecondEvaluator([&](const std::string &text, const SourceOptions &options,
                         const Problem &problem, Output &output) {
    evaluateOnKernel(text, options, problem, output, calls);
  });
  Comparison c = GetParam().run(entry);
  setSecondEvaluator({});
  auto known = refused.find(GetParam().id);
  if (known != refused.end()) {
    EXPECT_NE(calls.refused.find(known->second), std::string::npos)
        << "runs now, take it out of the list: " << calls.refused;
    return;
  }
  ASSERT_EQ(calls.refused, "");
  ASSERT_GT(calls.onKernels, 0) << "makes no call: it belongs to the constants";
  ASSERT_EQ(c.got.size(), c.want.size());
  double relative = std::max(double(entry["rtol"]), 4e-6),
         absolute =
             std::max({c.absolute, double(entry["atol"]), 4e-6 * calls.logits});
  if (auto slope = throughAcos.find(GetParam().id); slope != throughAcos.end())
    absolute = slope->second;
  for (size_t n = 0; n < c.want.size(); ++n)
    EXPECT_LE(std::fabs(c.got[n] - c.want[n]),
              absolute + relative * std::fabs(c.want[n]))
        << GetParam().id << " element " << n << ": got " << c.got[n]
        << ", expected " << c.want[n];
}

/// The i64 constants that `bind` stores, in order.
std::vector<uint64_t> boundTurns(const std::string &text) {
  SchemeModule module = parseSource(text);
  EXPECT_EQ(module.error, "");
  std::vector<uint64_t> turns;
  if (!module.module)
    return turns;
  mlir::PassManager manager(module.context.get());
  torsor::KernelOptions options;
  options.head = options.value = 128;
  buildKernelPipeline(manager, options);
  EXPECT_TRUE(succeeded(manager.run(*module.module)));
  module.module->walk([&](mlir::func::FuncOp function) {
    auto operation =
        function->getAttrOfType<mlir::StringAttr>("torsor.operation");
    if (!operation || operation.getValue() != "bind")
      return;
    function.walk([&](mlir::memref::StoreOp store) {
      llvm::APInt value;
      if (mlir::matchPattern(store.getValueToStore(),
                             mlir::m_ConstantInt(&value)))
        turns.push_back(value.getZExtValue());
    });
  });
  return turns;
}

// The 64-bit turns that kernels multiply positions with.
TEST(OracleKernel, TurnFraction) {
  const json &entry = oracleCase("rope.turn_fraction.pair1.d128.b1e4");
  std::vector<uint64_t> turns = boundTurns(
      "scheme x { action split(rope(128, base = 10_000)) mask causal }");
  ASSERT_EQ(turns.size(), 64u);
  const json &want = entry["expected"];
  auto text = [&](const char *key) {
    return std::stoull(want[key].get<std::string>());
  };
  // A frequency is an f64: its turns are right to 53 bits of the number.
  double error = double(turns[1]) * 0x1p-53;
  EXPECT_LE(std::fabs(double(int64_t(turns[1] - text("u64")))), error);
  EXPECT_NEAR(double(turns[1]) * 0x1p-64, want["turns_per_token"], 1e-16);
  EXPECT_EQ(turns[1] >> 32, want["u32"].get<uint64_t>());
  uint64_t phase = turns[1] * 1048575;
  EXPECT_LE(std::fabs(double(int64_t(phase - text("phase64_p1048575")))),
            error * 1048575);
}

} // namespace

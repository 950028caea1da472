// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compilation, tails of vectors and inputs of any form, by case.
#include "test/e2e/AppendedKeys.h"
#include "test/e2e/Differential.h"
#include "test/e2e/Schemes.h"
#include "tools/torsor/Compare.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>

using namespace torsor;
using namespace torsor::test;
namespace fs = std::filesystem;

namespace {

Compiled compiled(const std::string &text, torsor_dtype dtype = TORSOR_F32) {
  std::string error;
  KernelOptions options;
  options.dtype = dtype;
  Compiled result = compileBoth(text, options, error);
  EXPECT_TRUE(result.kernel) << text << "\n" << error;
  return result;
}

TEST(FieldKernel, SHP_13_TailsStayInsideTheirPages) {
  for (int64_t width : {2, 6, 10, 14, 18, 34})
    for (const char *layout : {"split", "adjacent"})
      for (torsor_dtype dtype : {TORSOR_F32, TORSOR_BF16, TORSOR_F16}) {
        std::string turned =
            width == 2 ? "turn(0.7)"
                       : "rope(" + std::to_string(width) + ", base = 10_000)";
        Compiled kernel = compiled("scheme x { action " + std::string(layout) +
                                       "(" + turned + ") mask causal }",
                                   dtype);
        ASSERT_TRUE(kernel.kernel);
        for (RunOptions run :
             {RunOptions{TORSOR_ATTEND, Layout::Guarded},
              RunOptions{TORSOR_PREFILL, Layout::Guarded},
              RunOptions{TORSOR_ATTEND, Layout::Guarded, 1, 4}}) {
          Random random(1);
          ShapeCase shape{"", 2, 1, {{3, 19}, {1, 5}}, Layout::Guarded, true};
          EXPECT_EQ(differential(kernel, makeCall(shape, width, width, random),
                                 run, {}),
                    "")
              << width << " " << layout << " " << nameOf(dtype);
        }
      }
}

TEST(FieldKernel, SHP_15_BiasTensorsOfAnyForm) {
  Compiled kernel = compiled("scheme x { head 8 input b: f32[H, *, *] per call "
                             "bias b[h, i, j] mask all }");
  ASSERT_TRUE(kernel.kernel);
  for (int64_t keys : {1, 5, 43, 700})
    for (bool broadcast : {false, true})
      for (Layout layout : {Layout::Dense, Layout::Padded, Layout::Guarded}) {
        Random random(2);
        ShapeCase shape{"", 3, 1, {{std::min<int64_t>(keys, 6), keys}}, layout};
        Problem problem = makeCall(shape, 8, 8, random);
        std::vector<double> data(3 * keys * keys);
        for (double &x : data)
          x = random.uniform(-2, 2);
        HostArray bias = HostArray::of({3, keys, keys}, data);
        if (broadcast)
          bias.strides[0] = 0;
        addValue(problem, "b", bias);
        EXPECT_EQ(
            differential(kernel, problem, {TORSOR_ATTEND, layout}, {0, 2}), "")
            << keys << (broadcast ? ", one for all heads" : "");
      }
}

TEST(FieldKernel, SMX_09_ComparisonsOfNothingFail) {
  const double nan = std::nan(""),
               infinity = std::numeric_limits<double>::infinity();
  auto array = [](std::vector<int64_t> shape, std::vector<double> values) {
    Array a(TORSOR_F64, std::move(shape));
    std::copy(values.begin(), values.end(), a.as<double>());
    return a;
  };
  auto off = [&](double a, double b) {
    return compareArrays(array({1}, {a}), array({1}, {b})).largest;
  };
  EXPECT_EQ(off(1, nan), infinity);
  EXPECT_EQ(off(nan, 1), infinity);
  EXPECT_EQ(off(infinity, -infinity), infinity);
  EXPECT_EQ(off(infinity, infinity), 0);
  EXPECT_EQ(off(nan, nan), 0);
  EXPECT_TRUE(std::isnan(largestDifference({1}, {nan})));
  EXPECT_EQ(largestDifference({infinity}, {-infinity}), infinity);
  EXPECT_TRUE(std::isnan(largestDifference({1, 2, 3, 4}, {1})));
  // The one that the differential tests use.
  Problem problem = makeProblem(
      {1, 1, 1, 1, 1, 1}, [](auto, auto, auto) { return 1; },
      [](auto, auto, auto) { return 1; }, [](auto, auto, auto) { return 1; });
  auto verdict = [&](double o, double reference) {
    RunResult result;
    result.o = {o};
    result.lse = {0};
    Output output;
    output.shape = {1, 1, 1, 1};
    output.o = {reference};
    output.lse = {0};
    return compare(result, output, problem, TORSOR_F32, {});
  };
  EXPECT_EQ(verdict(1, 1), "");
  EXPECT_EQ(verdict(nan, nan), "");
  EXPECT_NE(verdict(1, nan), "");
  EXPECT_NE(verdict(nan, 1), "");
  EXPECT_NE(verdict(infinity, -infinity), "");
  RunResult nothing;
  Output output;
  output.shape = {1, 1, 1, 1};
  output.o = {1};
  EXPECT_NE(compare(nothing, output, problem, TORSOR_F32, {}), "");
}

/// Where a total nearly cancels, o may be farther off, there and only there.
TEST(FieldKernel, ComparisonsFollowTheDivisor) {
  auto array = [](std::vector<double> values) {
    Array a(TORSOR_F64, {int64_t(values.size()), 1});
    std::copy(values.begin(), values.end(), a.as<double>());
    return a;
  };
  Array exact = array({0.5, 100, 2, 1e6});
  std::vector<double> scales = getScales(exact, {1, 100, 0, 1e6}, 1e-5);
  ASSERT_EQ(scales.size(), 4u);
  EXPECT_EQ(scales[0], 2); // of the row of 2, whose values are no smaller
  EXPECT_DOUBLE_EQ(scales[1], 1e4 / (1 - 99e-5));
  EXPECT_EQ(scales[2], 2);
  EXPECT_EQ(scales[3], HUGE_VAL); // rounding decides
  auto share = [&](std::vector<double> found) {
    Difference off = compareArrays(array(found), exact, scales);
    EXPECT_EQ(off.open, 1);
    return off.largest / (1e-5 * off.scale);
  };
  EXPECT_LT(share({0.5, 100.05, 2, 7}), 1);
  EXPECT_GT(share({0.5001, 100, 2, 1e6}), 1);
  EXPECT_GT(share({0.5, 100, 2.0001, 1e6}), 1);
  EXPECT_GT(share({0.5, 100.2, 2, 1e6}), 1);
  EXPECT_GT(share({0.5, std::nan(""), 2, 1e6}), 1);
}

TEST(FieldKernel, JIT_03_NothingIsIgnoredAtCallTime) {
  Compiled kernel = compiled("scheme x { head 8 mask last(4) }");
  ASSERT_TRUE(kernel.kernel);
  torsor_instance *instance = nullptr;
  ASSERT_EQ(torsor_instance_create(kernel.kernel->handle(), 1, 1, nullptr, 0,
                                   &instance),
            TORSOR_OK);
  float data[8] = {}, out[8], cap = 50;
  int32_t window = 8;
  for (torsor_binding binding :
       {torsor_binding{"softcap", 0, 0,
                       torsor_array(&cap, TORSOR_F32, 1, 0, 0)},
        torsor_binding{"window", 0, 0,
                       torsor_array(&window, TORSOR_I32, 1, 0, 0)}}) {
    torsor_call call = {};
    call.size = sizeof call;
    call.q = call.k = call.v = torsor_dense(data, TORSOR_F32, 1, 1, 1, 8);
    call.o = torsor_dense(out, TORSOR_F32, 1, 1, 1, 8);
    call.inputs = &binding;
    call.input_count = 1;
    EXPECT_EQ(torsor_run(instance, TORSOR_ATTEND, &call, nullptr), TORSOR_NAME);
    EXPECT_NE(std::string(torsor_error()).find(binding.name), std::string::npos)
        << torsor_error();
    call.inputs = nullptr;
    call.input_count = 0;
    call.flags = 1;
    EXPECT_NE(torsor_run(instance, TORSOR_ATTEND, &call, nullptr), TORSOR_OK);
  }
  torsor_instance_destroy(instance);
}

TEST(FieldKernel, JIT_05_ForeignEntriesAreRebuilt) {
  std::string folder = testing::TempDir() + "torsor-field-cache-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  torsor_compiler_options options = {};
  options.size = sizeof options;
  options.cache_path = folder.c_str();
  auto compile = [&](const char *target, uint32_t flags) {
    torsor_compiler *compiler = nullptr;
    EXPECT_EQ(torsor_compiler_create(&options, &compiler), TORSOR_OK);
    torsor_compile_options how = {};
    how.size = sizeof how;
    how.target = target;
    how.flags = flags;
    torsor_library *library = nullptr;
    EXPECT_EQ(torsor_compile(compiler, "scheme x { head 8 mask causal }", -1,
                             "x.torsor", &how, nullptr, &library),
              TORSOR_OK)
        << torsor_error();
    torsor_library_destroy(library);
    torsor_compiler_destroy(compiler);
    int64_t entries = 0;
    for (const auto &entry : fs::directory_iterator(folder))
      entries += entry.is_regular_file();
    return entries;
  };
  EXPECT_EQ(compile(nullptr, 0), 1);
  EXPECT_EQ(compile(nullptr, 0), 1);
  EXPECT_EQ(compile("x86-64", 0), 2);
  EXPECT_EQ(compile(nullptr, TORSOR_F32_REFERENCE), 3);
  // Entries of another making: their bytes, and then their length.
  for (bool cut : {false, true}) {
    for (const auto &entry : fs::directory_iterator(folder)) {
      if (cut) {
        fs::resize_file(entry.path(), fs::file_size(entry.path()) / 2);
        continue;
      }
      std::fstream file(entry.path(),
                        std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(int64_t(fs::file_size(entry.path())) / 2);
      file << "another compiler's code";
    }
    EXPECT_EQ(compile(nullptr, 0), 3);
    EXPECT_EQ(compile("x86-64", 0), 3);
  }
  fs::remove_all(folder);
}

/// "" or why not, which must be a message for the user with a place.
std::string compileOnce(const std::string &text, const KernelOptions &options) {
  std::string error;
  auto kernel = Kernel::compile(text, options, error);
  if (kernel || error.find("no kernel for this yet") != std::string::npos ||
      error.find("[target]") != std::string::npos)
    return "";
  return error;
}

TEST(FieldKernel, JIT_11_EveryCellCompilesOrSaysWhy) {
  const char *schemes[] = {"action split(rope(D, base = 10_000)) mask causal",
                           "bias -alibi_slope(h, heads = H) * age mask causal",
                           "softcap 50 sink 0 mask last(64)"};
  for (int64_t width : {16, 80, 256})
    for (torsor_dtype dtype : {TORSOR_F32, TORSOR_BF16, TORSOR_F16})
      for (const char *scheme : schemes) {
        KernelOptions options;
        options.dtype = dtype;
        std::string error;
        auto kernel =
            Kernel::compile("scheme x { head " + std::to_string(width) +
                                " value D " + scheme + " }",
                            options, error);
        EXPECT_TRUE(kernel) << scheme << " " << width << "\n" << error;
        if (!kernel)
          continue;
        Random random(1);
        Problem problem = makeCall({"", 2, 1, {{5, 5}}}, width, width, random);
        for (torsor_op op : {TORSOR_PREFILL, TORSOR_DECODE}) {
          RunOptions run;
          run.op = op;
          EXPECT_EQ(kernel->run(problem, run).error, "");
        }
      }
  for (const char *target : {"x86-64-v2", "armv8", "sm_90a", "", "x86_64",
                             "cuda", "x86-64-v4+nothing"}) {
    KernelOptions options;
    options.target = target;
    EXPECT_EQ(compileOnce("scheme x { head 8 mask causal }", options), "")
        << target;
  }
}

TEST(FieldKernel, HYB_01_PolarityIsWritten) {
  const char *schemes = "scheme turned { action split(rope(8, base = 1e4)) "
                        "mask causal } scheme plain { head 8 mask causal } ";
  auto rotated = [&](const std::string &stack) {
    SourceOptions options;
    options.scheme = "model";
    SchemeModule module = parseSource(schemes + stack, options);
    EXPECT_EQ(module.error, "") << stack;
    std::vector<int> layers;
    for (int n = 0; n < 8 && module.error.empty(); ++n)
      if (module.layer(size_t(n)).getSymName() == "turned")
        layers.push_back(n);
    return layers;
  };
  const std::vector<int> want = {0, 1, 2, 4, 5, 6};
  EXPECT_EQ(
      rotated("stack model { let uses = [1, 1, 1, 0, 1, 1, 1, 0] layers 8 use "
              "if uses[layer] == 1 then turned else plain }"),
      want);
  EXPECT_EQ(
      rotated(
          "stack model { layers 8 use if every(4) then plain else turned }"),
      want);
  SourceOptions options;
  options.scheme = "model";
  SchemeModule wrong =
      parseSource(std::string(schemes) +
                      "stack model { let uses = [1, 1, 1, 0] layers 8 use if "
                      "uses[layer] == 1 then turned else plain }",
                  options);
  EXPECT_NE(wrong.error, "");
}

TEST(FieldKernel, HYB_07_WindowsOfLayers) {
  auto windowed = [](const std::string &condition) {
    SourceOptions options;
    options.scheme = "model";
    SchemeModule module = parseSource(
        "scheme full { head 8 mask causal } scheme near { head 8 mask "
        "last(4096) } stack model { layers 36 use if " +
            condition + " then near else full }",
        options);
    EXPECT_EQ(module.error, "") << condition;
    std::vector<int> layers;
    for (int n = 0; n < 36 && module.error.empty(); ++n)
      if (module.layer(size_t(n)).getSymName() == "near")
        layers.push_back(n);
    return layers;
  };
  EXPECT_EQ(windowed("false"), std::vector<int>{});
  std::vector<int> last;
  for (int n = 28; n < 36; ++n)
    last.push_back(n);
  EXPECT_EQ(windowed("layer >= 28"), last);
  EXPECT_EQ(windowed("layer >= 36"), std::vector<int>{});
  EXPECT_EQ(windowed("layer == 3 or layer == 17"), (std::vector<int>{3, 17}));
}

} // namespace

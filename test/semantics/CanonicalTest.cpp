// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The canonical form reads back to the same canonical form.
#include "frontend/Canonical.h"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <limits>
#include <set>

#include "Checked.h"

using namespace torsor;

namespace {

struct CanonicalScheme : testing::TestWithParam<std::string> {};

std::string print(const Checked &checked) {
  std::vector<const Stack *> stacks;
  for (const Stack &stack : checked.file->stacks)
    stacks.push_back(&stack);
  return printCanonical(*checked.file, checked.schemes(), stacks);
}

TEST_P(CanonicalScheme, ReadsBackToItself) {
  Checked first = check(readFile(GetParam()), {}, GetParam(), TORSOR_SCHEMES);
  ASSERT_FALSE(first.diagnostics.hasErrors()) << first.diagnostics.print();
  std::string text = print(first);
  Checked second = check(text);
  ASSERT_FALSE(second.diagnostics.hasErrors())
      << second.diagnostics.print() << text;
  EXPECT_EQ(print(second), text);
  EXPECT_EQ(first.file->schemes.size(), second.file->schemes.size());
}

INSTANTIATE_TEST_SUITE_P(Schemes, CanonicalScheme,
                         testing::ValuesIn(getSchemePaths()),
                         [](const auto &info) {
                           std::string name =
                               info.param.substr(info.param.rfind('/') + 1);
                           return name.substr(0, name.find('.'));
                         });

std::set<std::string> warningsOf(const Checked &checked) {
  std::set<std::string> ids;
  for (const Diagnostic *message : checked.diagnostics.sorted())
    ids.insert(message->id);
  return ids;
}

/// The warnings of a program's canonical text that the program has not.
std::string newWarnings(const Checked &program) {
  Checked again = check(print(program));
  std::set<std::string> known = warningsOf(program);
  std::string found;
  for (const Diagnostic *message : again.diagnostics.sorted())
    if (!known.contains(message->id))
      found += printDiagnostic(*message);
  return found;
}

// Every program of the repository that checks, those of the tests too.
TEST(Canonical, BringsNoWarnings) {
  int programs = 0;
  for (const char *folder : {"/examples", "/bench", "/test"})
    for (const auto &entry : std::filesystem::recursive_directory_iterator(
             std::string(TORSOR_SOURCES) + folder)) {
      if (entry.path().extension() != ".torsor")
        continue;
      std::string path = entry.path().string();
      CheckOptions options;
      options.layers = 4;
      Checked program =
          check(readFile(path), options, path, entry.path().parent_path());
      if (program.diagnostics.hasErrors())
        continue;
      ++programs;
      EXPECT_EQ(newWarnings(program), "") << path;
    }
  EXPECT_GT(programs, 90);
}

TEST(Canonical, BringsNoWarningsWhereItFolds) {
  for (const char *clauses :
       {"action decay(4, rate = -log(0.5))", "action decay(4, rate = 0.9)",
        "param w: f32 bias (if D == 4 then 0 else w) - age",
        "input y: f32 per token let most = 4 bias -age * (if most > 8 then "
        "y[j] else 1)",
        "input y: f32 per token in 0 .. 1 clock c = sum l <= j: y[l] bias if "
        "D > 4 then -age(c) else 0",
        "clock row bias if D > 4 then -age(row) else 0",
        "let u = 0.5 * s let w = 0.5 * t bias u - w"}) {
    Checked program =
        check("scheme x { head 4 mask causal " + std::string(clauses) + " }");
    ASSERT_FALSE(program.diagnostics.hasErrors())
        << clauses << program.diagnostics.print();
    EXPECT_EQ(newWarnings(program), "") << clauses;
  }
}

TEST(Canonical, DeclaresWhatIsRead) {
  std::string text = canonicalOf(
      "scheme x { head 4 param w: f32[H] param u: f32 input y: f32 per token "
      "in 0 .. 1 clock row clock c = sum l <= j: y[l] * w[h] bias -age(c) mask "
      "causal }");
  EXPECT_TRUE(text.find("  clock  c = sum l <= j: y[l] * w[h]\n"
                        "  param  w: f32[H]\n"
                        "  input  y: f32 per token in 0 .. 1\n"
                        "  scale") != std::string::npos)
      << text;
}

TEST(Canonical, IsTheExampleOfTheSpecification) {
  EXPECT_EQ(canonicalOf("scheme packed {\n"
                        "  input doc: i32 per token\n"
                        "  mask causal and doc[i] == doc[j]\n"
                        "  action split(rope(8, base = 10_000))\n"
                        "  scale log_n(4096) / sqrt(D)\n"
                        "}\n"),
            "scheme packed {\n"
            "  head   8\n"
            "  value  8\n"
            "  input  doc: i32 per token\n"
            "  action split(rotation([1.0, 0.1, 0.01, 0.001]))\n"
            "  scale  max(1, (log((s + 1)) / 8.317766166719343)) / "
            "2.8284271247461903\n"
            "  mask   (j <= i) and (doc[i] == doc[j])\n"
            "  readout softmax\n"
            "}\n");
}

std::string roundTrip(const std::string &clauses) {
  std::string once = canonicalOf("scheme x { " + clauses + " }");
  EXPECT_EQ(canonicalOf(once), once);
  return once;
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

TEST(Canonical, KeepsPowersAndSigns) {
  EXPECT_TRUE(contains(roundTrip("head 4 bias (-2.5) ^ i - age mask causal"),
                       "((-2.5) ^ i) - age"));
  EXPECT_TRUE(
      contains(roundTrip("head 4 bias -2.5 ^ i mask causal"), "-(2.5 ^ i)"));
  EXPECT_TRUE(contains(roundTrip("head 4 bias 2 ^ -i mask causal"), "2 ^ -i"));
  EXPECT_TRUE(
      contains(roundTrip("head 4 bias (-i) ^ 2 mask causal"), "(-i) ^ 2"));
  EXPECT_TRUE(contains(roundTrip("head 4 mask not (i < j or i == 3)"),
                       "not ((i < j) or (i == 3))"));
}

TEST(Canonical, NamesBoundTokensApart) {
  // The function's own `l` would hide the scheme's input.
  std::string text = canonicalOf(
      "fn path(y: real) -> real = sum l in j .. i: y * sin(pos[l])\n"
      "scheme x { head 4 input l: f32 per call bias -abs(path(l)) mask causal "
      "}");
  EXPECT_TRUE(contains(text, "sum l_1 in j .. i:")) << text;
  EXPECT_EQ(canonicalOf(text), text);
}

TEST(Canonical, CutsLongSumsSoThatTheyReadBack) {
  std::string text =
      roundTrip("head 4 bias (sum p < 1000: cos(p * age) - 1) mask causal");
  EXPECT_GT(text.size(), 10000u);
}

TEST(Canonical, PrintsStacksByLayer) {
  Checked checked = check("scheme a(n: int) { head 4 mask last(n) }\n"
                          "scheme b { head 4 mask all }\n"
                          "stack depth { layers 6 use if every(3) then b else "
                          "a(4), b }");
  ASSERT_FALSE(checked.diagnostics.hasErrors());
  std::string text = print(checked);
  EXPECT_TRUE(contains(text, "stack depth {\n  layers 6\n"
                             "  use    if layer in [2, 5] then b else a_4\n"
                             "       , b\n}\n"))
      << text;
  EXPECT_EQ(print(check(text)), text);
}

TEST(Canonical, OpenWidthsStayOpen) {
  std::string text = canonicalOf("scheme x { mask causal }");
  EXPECT_FALSE(contains(text, "head"));
  EXPECT_TRUE(contains(text, "scale  1 / sqrt(D)"));
  CheckOptions options;
  options.head = 16;
  Checked checked = check("scheme x { mask causal }", options);
  text = print(checked);
  EXPECT_TRUE(contains(text, "head   16")) << text;
  EXPECT_TRUE(contains(text, "scale  0.25")) << text;
}

TEST(PrintReal, IsTheShortestThatReadsBack) {
  EXPECT_EQ(printReal(1), "1.0");
  EXPECT_EQ(printReal(0.1), "0.1");
  EXPECT_EQ(printReal(-2.5), "-2.5");
  EXPECT_EQ(printReal(1e16), "1e+16");
  EXPECT_EQ(printReal(123456789012345.0), "123456789012345.0");
  EXPECT_EQ(printReal(1e-5), "1e-05");
  EXPECT_EQ(printReal(0.0001), "0.0001");
  for (double x : {1.0 / 3, std::sqrt(2.0), 5e-324, 1.7976931348623157e308})
    EXPECT_EQ(std::strtod(printReal(x).c_str(), nullptr), x);
}

} // namespace

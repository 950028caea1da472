// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The scheme level as the front end emits it.
#include "frontend/Emit.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include "Checked.h"

using namespace torsor;

namespace {

std::string print(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out);
  return text;
}

std::string emitText(const std::string &source,
                     const CheckOptions &options = {}) {
  Checked checked = check(source, options);
  EXPECT_FALSE(checked.diagnostics.hasErrors()) << checked.diagnostics.print();
  mlir::MLIRContext context;
  auto module = emit(context, *checked.file, checked.schemes(), {});
  EXPECT_TRUE(succeeded(mlir::verify(*module)));
  return print(*module);
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

size_t count(const std::string &text, const std::string &part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + part.size()))
    ++n;
  return n;
}

struct EmittedScheme : testing::TestWithParam<std::string> {};

TEST_P(EmittedScheme, EmitsValidIrThatParsesBack) {
  Checked checked = check(readFile(GetParam()), {}, GetParam(), TORSOR_SCHEMES);
  ASSERT_FALSE(checked.diagnostics.hasErrors()) << checked.diagnostics.print();
  mlir::MLIRContext context;
  std::vector<const Stack *> stacks;
  for (const Stack &stack : checked.file->stacks)
    stacks.push_back(&stack);
  auto module = emit(context, *checked.file, checked.schemes(), stacks);
  ASSERT_TRUE(succeeded(mlir::verify(*module)));
  auto again =
      mlir::parseSourceString<mlir::ModuleOp>(print(*module), &context);
  ASSERT_TRUE(again);
  EXPECT_EQ(print(*again), print(*module));
  // Every operation points into the source.
  module->walk([](mlir::Operation *op) {
    EXPECT_TRUE(mlir::isa<mlir::FileLineColRange>(mlir::Location(op->getLoc())))
        << op->getName().getStringRef().str();
  });
}

INSTANTIATE_TEST_SUITE_P(Schemes, EmittedScheme,
                         testing::ValuesIn(getSchemePaths()),
                         [](const auto &info) {
                           std::string name =
                               info.param.substr(info.param.rfind('/') + 1);
                           return name.substr(0, name.find('.'));
                         });

TEST(Emit, PutsTurnsOfOneClockIntoOneOp) {
  std::string text = emitText(
      "scheme x { clock a, b action split(sum p < 8: turn(p) at (if p < 3 "
      "then a else if p < 6 then b else a)) mask causal }");
  EXPECT_EQ(count(text, "torsor.turn"), 3u) << text;
  EXPECT_EQ(count(text, "torsor.at"), 3u) << text;
  EXPECT_TRUE(contains(text, "tensor<3xf64> -> <6>")) << text;
}

TEST(Emit, ReadsALearnedSpectrumAsARow) {
  std::string text = emitText("scheme x { param w: f32[H, 8] action "
                              "split(sum p < 8: turn(w[h, p])) mask causal }");
  EXPECT_EQ(count(text, "torsor.read %"), 1u) << text;
  text = emitText("scheme x { param w: f32[H, 8] action split(sum p < 8: "
                  "turn(w[h, 7 - p])) mask causal }");
  EXPECT_EQ(count(text, "torsor.read %"), 8u) << text;
}

TEST(Emit, AnAxisVIsAsWideAsTheValue) {
  const char *rows = " param rows: f32[3, V] value_bias rows[clamp(i - j, 0, "
                     "2)] mask causal }";
  for (const char *widths :
       {"scheme x { head 8 value 4", "scheme x { head 8 value D div 2",
        "scheme x { action zero(8) value 4", "scheme x { value 4",
        "scheme x { let half = 4 head 8 value half",
        "scheme x { head 8 value key[2 .. 5]"}) {
    std::string text = emitText(widths + std::string(rows));
    EXPECT_TRUE(contains(text, "tensor<3x4xf32>")) << widths << text;
  }
}

TEST(Emit, AnAxisDIsAsWideAsTheAction) {
  const char *weighted = " param w: f32[D] norm rms(q = w) mask causal }";
  CheckOptions wider;
  wider.head = 16;
  for (const char *action :
       {"scheme x { action split(turn(1) + turn(2))",
        "scheme x { clock c action split(turn(1) + turn(2)) at c",
        "scheme x { param f: f32[2] action split(sum p < 2: turn(f[p]))",
        "scheme x { let wide = 4 action zero(wide) value 6"})
    for (const CheckOptions &options : {CheckOptions(), wider}) {
      std::string text = emitText(action + std::string(weighted), options);
      EXPECT_TRUE(contains(text, "tensor<4xf32>")) << action << text;
    }
  // The order of declaration is that of the interface.
  std::string text = emitText(
      "scheme x { param w: f32[D] param u: f32 scale u action zero(4) norm "
      "rms(q = w) mask causal }");
  EXPECT_LT(text.find("\"w\""), text.find("\"u\"")) << text;
  // An action that reads such a param cannot say the width; an option can.
  const char *circular = "scheme x { param w: f32[D] action split(sum p < 2: "
                         "turn(w[p])) mask causal }";
  EXPECT_EQ(check(circular).ids(), "const@1:25");
  wider.head = 4;
  EXPECT_TRUE(contains(emitText(circular, wider), "tensor<4xf32>"));
}

TEST(Emit, ChoosesBetweenListsOnce) {
  std::string text =
      emitText("scheme x { let w = if N > 9 then [1, 2] else [3, 4] action "
               "split(rotation(w)) mask causal }");
  EXPECT_EQ(count(text, "arith.select"), 1u) << text;
  EXPECT_TRUE(contains(text, "tensor<2xf64>")) << text;
}

TEST(Emit, LeavesOutWhatIsNotRead) {
  std::string text = emitText("scheme x { head 4 param w, u: f32 clock c, d "
                              "clock pos: i64 bias -u * age(d) mask causal }");
  EXPECT_FALSE(contains(text, "\"w\"")) << text;
  EXPECT_TRUE(contains(text, "\"u\"")) << text;
  EXPECT_FALSE(contains(text, "\"c\"")) << text;
  EXPECT_TRUE(contains(text, "\"d\"")) << text;
  // Actions read it without saying so.
  EXPECT_TRUE(contains(text, "torsor.clock \"pos\" : <i64>")) << text;
}

TEST(Emit, KeepsSumsOverTokensInRegions) {
  std::string text = emitText(
      "scheme x { head 4 input y: f32 per token bias -(sum l in j + 1 .. i: "
      "exp(y[l]) * exp(y[i])) mask causal }");
  size_t region = text.find("torsor.path_sum after");
  ASSERT_NE(region, std::string::npos);
  // What the sum does not vary by stands outside.
  EXPECT_EQ(count(text.substr(0, region), "math.exp"), 1u) << text;
  EXPECT_EQ(count(text.substr(region), "math.exp"), 1u) << text;
}

TEST(Emit, FloorsDivisionsAndExpandsPowers) {
  std::string text = emitText("scheme x { head 4 bias -(i mod 8) - age ^ 5 - "
                              "2 ^ h * age mask causal }");
  EXPECT_TRUE(contains(text, "arith.floordivsi")) << text;
  EXPECT_FALSE(contains(text, "ipowi")) << text;
  EXPECT_TRUE(contains(text, "arith.shli")) << text;
}

TEST(Emit, OpenWidthsAreAmbient) {
  const char *source = "scheme x { scale 2 / sqrt(D) mask causal }";
  EXPECT_TRUE(contains(emitText(source), "torsor.ambient  width"));
  CheckOptions options;
  options.head = 16;
  std::string text = emitText(source, options);
  EXPECT_TRUE(contains(text, "head(16) value(16)")) << text;
  EXPECT_TRUE(contains(text, "5.000000e-01")) << text;
}

} // namespace

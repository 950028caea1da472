// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Messages of MLIR printed at the user's source.
#include "frontend/MlirDiagnostics.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include "Snippets.h"

using namespace torsor;

namespace {

struct MlirDiagnosticsTest : testing::Test {
  std::shared_ptr<const SourceFile> file =
      makeSource("scheme x {\n  mask causal\n}\n");
  mlir::MLIRContext context;
  DiagnosticList list;
  MlirDiagnostics handler{&context, list, [this](llvm::StringRef name) {
                            return name == "x.torsor" ? file.get() : nullptr;
                          }};
  mlir::Location mask = getLocation(&context, {file.get(), 18, 24});
};

TEST_F(MlirDiagnosticsTest, RemarkHasIdAndRange) {
  mlir::emitRemark(mask) << "half of the keys are seen [mask-bounds]";
  EXPECT_EQ(list.print(),
            "x.torsor:2:8: remark: half of the keys are seen [mask-bounds]\n"
            "  mask causal\n"
            "       ^~~~~~\n");
  EXPECT_EQ(list.sorted()[0]->id, "mask-bounds");
}

TEST_F(MlirDiagnosticsTest, BracketsOfTheTextAreNoId) {
  mlir::emitRemark(mask) << "lanes [0, 8]";
  mlir::emitRemark(mask) << "lanes [7]";
  EXPECT_EQ(list.sorted()[0]->id, "");
  EXPECT_EQ(list.sorted()[1]->id, "");
}

TEST_F(MlirDiagnosticsTest, NotesFollow) {
  mlir::InFlightDiagnostic error = mlir::emitError(mask) << "no [unsupported]";
  error.attachNote(getLocation(&context, {file.get(), 7, 8})) << "the scheme";
  error.report();
  EXPECT_EQ(list.print(), "x.torsor:2:8: error: no [unsupported]\n"
                          "  mask causal\n"
                          "       ^~~~~~\n"
                          "x.torsor:1:8: note: the scheme\n"
                          "scheme x {\n"
                          "       ^\n");
}

TEST_F(MlirDiagnosticsTest, DerivedLocations) {
  mlir::Location unknown = mlir::UnknownLoc::get(&context);
  auto fused = mlir::FusedLoc::get({unknown, mask}, {}, &context);
  auto call = mlir::CallSiteLoc::get(fused, unknown);
  auto name = mlir::NameLoc::get(mlir::StringAttr::get(&context, "n"), call);
  EXPECT_EQ(getPlace(name).line, 2u);
  EXPECT_EQ(getPlace(name).endColumn, 14u);
  EXPECT_EQ(getPlace(unknown).file, "");
  mlir::emitWarning(unknown) << "somewhere";
  mlir::emitWarning(mlir::FileLineColLoc::get(&context, "other.mlir", 3, 4))
      << "there";
  EXPECT_EQ(list.print(), "warning: somewhere\n"
                          "other.mlir:3:4: warning: there\n");
}

} // namespace

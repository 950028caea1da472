// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a scheme reads and the command line does not give.
#include "tools/torsor/RunMissing.h"

#include "dialect/TorsorDialect.h"
#include "tools/torsor/Failure.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <fmt/format.h>

using namespace torsor;

static std::string getTypeText(mlir::Type type) {
  if (type.isInteger(1))
    return "bool";
  std::string text;
  llvm::raw_string_ostream(text) << type; // f32, i32 as the language has them
  return text;
}

/// "i32 [batch, length, H]"
static std::string describeArray(mlir::Type element,
                                 std::vector<std::string> axes,
                                 mlir::ArrayAttr own) {
  for (mlir::Attribute axis : own)
    axes.push_back(llvm::cast<mlir::StringAttr>(axis).str());
  return fmt::format("{} {}", getTypeText(element),
                     axes.empty() ? "scalar"
                                  : fmt::format("[{}]", fmt::join(axes, ", ")));
}

/// The option that gives what `declaration` declares, and what is in the file.
static std::string describeOption(mlir::Operation &declaration,
                                  const std::string &name) {
  if (auto clock = llvm::dyn_cast<ClockOp>(declaration)) {
    mlir::Type element = clock.getType().getElement();
    return fmt::format("--clock {}=q.npy,k.npy   the clock '{}' at queries and "
                       "at keys, each {} [batch, length]",
                       name, name, getTypeText(element));
  }
  auto type =
      llvm::cast<mlir::RankedTensorType>(declaration.getResult(0).getType());
  auto axes = declaration.getAttrOfType<mlir::ArrayAttr>("axes");
  std::string what = "param", where;
  std::vector<std::string> leading;
  if (auto input = llvm::dyn_cast<InputOp>(declaration)) {
    what = "input";
    if (input.getPer() != Per::Call)
      leading.push_back("batch");
    if (input.getPer() == Per::Token) {
      leading.push_back("length");
      where = ", over all keys";
    }
  }
  return fmt::format("--bind {}=x.npy   the {} '{}', {}{}", name, what, name,
                     describeArray(type.getElementType(), leading, axes),
                     where);
}

void torsor::checkGiven(SchemeOp scheme, const RunInputs &inputs) {
  std::string missing;
  for (mlir::Operation &op : scheme.getBody().front()) {
    if (!llvm::isa<ClockOp, ParamOp, InputOp>(op))
      continue;
    std::string name = op.getAttrOfType<mlir::StringAttr>("name").str();
    auto isIt = [&](const NamedInput &input) { return input.name == name; };
    // Positions that are not given are the indices.
    if (name != "pos" && llvm::none_of(inputs.named, isIt))
      missing += "\n  " + describeOption(op, name);
  }
  if (!missing.empty())
    failUser(fmt::format("the scheme '{}' reads what is not given; add:{}",
                         scheme.getSymName().str(), missing));
}

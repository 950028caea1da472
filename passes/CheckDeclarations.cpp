// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What every pass relies on: reads lead to declarations of the same scheme.
#include "passes/Legality.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace torsor {
namespace {

LogicalResult checkRead(ReadOp op) {
  Operation *declaration = op.getTensor().getDefiningOp();
  auto input = dyn_cast_or_null<InputOp>(declaration);
  if (!isa_and_nonnull<ParamOp, InputOp>(declaration))
    return op.emitOpError("reads a param or an input, but its tensor is none");
  bool perToken = input && input.getPer() == Per::Token;
  for (auto [n, index] : llvm::enumerate(op.getIndices()))
    if (isa<TokenType>(index.getType()) != (perToken && n == 0))
      return op.emitOpError()
             << (perToken
                     ? "takes a token first and then integers"
                     : "takes integers, since the tensor is not per token");
  if (perToken && op.getIndices().empty())
    return op.emitOpError("takes a token first");
  return success();
}

LogicalResult checkToken(Operation *op, Value token) {
  if (isa<BlockArgument>(token) || token.getDefiningOp<TokenOp>())
    return success();
  return op->emitOpError("reads a token that is no token of the scheme");
}

LogicalResult checkOne(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([](ReadOp read) { return checkRead(read); })
      .Case([](TimeOp time) -> LogicalResult {
        if (!isa_and_nonnull<ClockOp, RunningOp>(
                time.getClock().getDefiningOp()))
          return time.emitOpError("reads a clock, but it is none");
        return checkToken(time, time.getToken());
      })
      .Case([](IndexOp index) { return checkToken(index, index.getToken()); })
      .Case(
          [](VectorOp vector) { return checkToken(vector, vector.getToken()); })
      .Default([](Operation *) { return success(); });
}

} // namespace

LogicalResult checkDeclarations(SchemeOp scheme) {
  LogicalResult result = success();
  if (scheme.getBody().front().getNumArguments())
    result = scheme.emitOpError("has a body with arguments");
  llvm::StringMap<Operation *> names;
  for (Operation &op : scheme.getBody().front()) {
    if (!isa<ClockOp, InputOp, ParamOp>(op))
      continue;
    auto [at, fresh] =
        names.try_emplace(op.getAttrOfType<StringAttr>("name").getValue(), &op);
    if (fresh)
      continue;
    InFlightDiagnostic error = op.emitError()
                               << "'" << at->getKey() << "' is declared twice";
    error.attachNote(at->second->getLoc()) << "the first is here";
    result = failure();
  }
  scheme.walk([&](Operation *op) {
    if (failed(checkOne(op)))
      result = failure();
  });
  return result;
}

} // namespace torsor

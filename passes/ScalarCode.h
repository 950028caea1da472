// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Clones scalars of the scheme level into a region of the kernel level.
#ifndef TORSOR_PASSES_SCALARCODE_H
#define TORSOR_PASSES_SCALARCODE_H

#include "passes/SchemePlan.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/DenseMap.h"

namespace torsor {

/// Reports that something legal has no kernel; gives failure.
mlir::LogicalResult noKernel(mlir::Location loc, const llvm::Twine &what);

/// Code at the end of one block, in which scheme-level values are computed.
/// What a leaf becomes, and which values come from elsewhere, is the matter of
/// the subclass. No recursion: a scheme may be deep.
class ScalarCode {
public:
  ScalarCode(SchemePlan &plan, mlir::Block *block, mlir::Location loc)
      : plan(plan), b(plan.scheme.getContext()), loc(loc) {
    b.setInsertionPointToEnd(block);
  }
  virtual ~ScalarCode() = default;

  /// The value here, computed at most once. Null after an error.
  mlir::Value get(mlir::Value value);
  /// The same as a real or an integer of type `type`.
  mlir::Value get(mlir::Value value, mlir::Type type);

  mlir::OpBuilder &builder() { return b; }
  /// Says what stands here for a value of the scheme.
  void define(mlir::Value value, mlir::Value here) { done[value] = here; }
  mlir::Value index(int64_t value);

protected:
  /// The value as it stands here if it is not computed from its operands; null
  /// if it is; failure after an error.
  virtual mlir::FailureOr<mlir::Value> leaf(mlir::Value value) = 0;
  /// A read with these indices behind the token's, all i64.
  virtual mlir::Value read(ReadOp op, mlir::ValueRange indices) = 0;
  /// An element of a constant vector at an index that is not constant.
  virtual mlir::Value pick(ElementOp op, mlir::Value index) = 0;
  /// How a real result of `op` is computed here.
  virtual mlir::Type realType(mlir::Operation *op) { return b.getF64Type(); }

  /// Converts between f32 and f64, i32 and i64.
  mlir::Value convert(mlir::Value value, mlir::Type type);
  mlir::Value fail(mlir::Operation *op, const llvm::Twine &what);

  SchemePlan &plan;
  mlir::OpBuilder b;
  mlir::Location loc;

private:
  mlir::Value compute(mlir::Operation *op);
  /// The operands that `op` needs here.
  static llvm::SmallVector<mlir::Value> needs(mlir::Operation *op);

  llvm::DenseMap<mlir::Value, mlir::Value> done;
};

} // namespace torsor

#endif // TORSOR_PASSES_SCALARCODE_H

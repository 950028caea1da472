// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Builds one torsor.scheme.
#ifndef TORSOR_FRONTEND_SCHEMEEMITTER_H
#define TORSOR_FRONTEND_SCHEMEEMITTER_H

#include "dialect/TorsorDialect.h"
#include "frontend/Scheme.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/DenseMap.h"

#include <map>
#include <tuple>

namespace torsor {

class SchemeEmitter {
public:
  SchemeEmitter(mlir::OpBuilder &builder, const Scheme &scheme)
      : builder(builder), scheme(scheme) {}

  /// Adds the scheme at the builder's place.
  SchemeOp run();

private:
  /// A block that is being filled: the scheme's own, or the region of a sum
  /// over tokens, which binds `token`.
  struct Scope {
    TokenId token = TokenId::None;
    mlir::Block *block = nullptr;
    llvm::DenseMap<const Node *, mlir::Value> values;
    mlir::Value tokenValue;
  };

  // --- SchemeEmitter.cpp
  void declareArguments();
  void eraseUnused();
  mlir::Value emitRunning(const ClockInfo &clock);
  void emitTerms();
  void emitNorm();
  void emitReadout();
  mlir::Location place(SourceRange range) const;
  void enter(TokenId token, mlir::Block *block, mlir::Value value) {
    Scope &scope = scopes.emplace_back();
    scope.token = token;
    scope.block = block;
    scope.tokenValue = value;
  }
  mlir::Value getClock(const ClockInfo *clock);
  mlir::Value getToken(TokenId token, mlir::Location loc);

  // --- EmitNodes.cpp
  /// The value of a node, of its own type.
  mlir::Value get(const Node *node);
  /// A number as i64 or f64.
  mlir::Value getReal(const Node *node);
  mlir::Value getAs(const Node *node, NumberType type);
  /// A vector of f64, from a row or from scalars.
  mlir::Value getVector(const VectorInfo &vector, SourceRange range);
  mlir::Value getRealVector(const Node *node);
  mlir::Value listReals(llvm::ArrayRef<const Node *> elements,
                        mlir::Location loc);
  const Node *findRow(llvm::ArrayRef<const Node *> elements) const;
  mlir::Value make(const Node *node, mlir::Location loc);
  mlir::Value makeLeaf(const Node *node, mlir::Location loc);
  mlir::Value makeTime(const ClockInfo *clock, int32_t member, TokenId token,
                       mlir::Location loc);
  mlir::Value makeRead(const Node *node, mlir::Location loc);
  mlir::Value makeList(const Node *node, mlir::Location loc);
  mlir::Value makePathSum(const Node *node, mlir::Location loc);
  size_t scopeOf(const Node *node);

  // --- EmitArithmetic.cpp
  mlir::Value makeArithmetic(const Node *node, mlir::Location loc);
  mlir::Value makeModulo(const Node *node, mlir::Location loc);
  mlir::Value makeLogic(const Node *node, mlir::Location loc);
  mlir::Value makePower(const Node *node, mlir::Location loc);
  mlir::Value makePowerOf(mlir::Value base, uint64_t exponent,
                          mlir::Location loc);
  mlir::Value makeComparison(const Node *node, mlir::Location loc);
  mlir::Value makeMembership(const Node *node, mlir::Location loc);
  mlir::Value makeFunction(const Node *node, mlir::Location loc);
  mlir::Value makeExtremum(const Node *node, mlir::Location loc);
  mlir::Value makeRounding(const Node *node, mlir::Location loc);
  mlir::Value integer(int64_t value, mlir::Location loc);
  mlir::Value real(double value, mlir::Location loc);

  // --- EmitActions.cpp
  mlir::Value get(const ActionNode *action);
  mlir::Value make(const ActionNode *action, mlir::Location loc);
  mlir::Value makeSum(const ActionNode *action, mlir::Location loc);
  mlir::Value makeTurns(llvm::ArrayRef<const ActionNode *> turns,
                        mlir::Location loc);
  mlir::Value makeGain(const ActionNode *action, mlir::Location loc);
  mlir::Value placeAt(const ActionNode *place, mlir::Value base,
                      mlir::Location loc);

  mlir::OpBuilder &builder;
  const Scheme &scheme;
  std::vector<Scope> scopes;
  /// Bound tokens that a node reads, so that it is built where they are known.
  llvm::DenseMap<const Node *, llvm::SmallVector<TokenId, 1>> boundTokens;
  llvm::DenseMap<const ClockInfo *, mlir::Value> clocks;
  llvm::DenseMap<const TensorInfo *, mlir::Value> tensors;
  llvm::DenseMap<const ActionNode *, mlir::Value> actions;
  /// Int constants as reals, and times of the query and of keys.
  llvm::DenseMap<const Node *, mlir::Value> wholeReals;
  std::map<std::tuple<const ClockInfo *, int32_t, TokenId>, mlir::Value> times;
  mlir::Value queryToken, keyToken;
};

} // namespace torsor

#endif // TORSOR_FRONTEND_SCHEMEEMITTER_H

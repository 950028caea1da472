// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prints expressions and actions in canonical form.
#ifndef TORSOR_FRONTEND_NODEPRINTER_H
#define TORSOR_FRONTEND_NODEPRINTER_H

#include "frontend/Canonical.h"

#include "llvm/ADT/DenseSet.h"

namespace torsor {

class NodePrinter {
public:
  static constexpr size_t limit = 16u << 20;

  NodePrinter(const CheckedFile &file, const Scheme &scheme)
      : file(file), scheme(scheme) {}

  /// Every binary operation stands in parentheses.
  std::string print(const Node *node);
  /// Without the parentheses around the whole.
  std::string printOuter(const Node *node);
  std::string print(const VectorInfo &vector);
  /// `inner`: inside a product or before `at`, where a sum takes parentheses.
  std::string print(const ActionNode *action, bool inner = false);
  std::string print(ClockRef clock);
  std::string print(const TensorInfo &tensor);

  /// Has what was printed so far read the clock or the tensor?
  bool hasRead(const void *declared) const { return read.contains(declared); }

  /// The name of a bound token, fresh where it would hide another.
  std::string bind(TokenId token);
  void unbind() { bound.pop_back(); }

  bool isTooLong() const { return length > limit; }

private:
  std::string make(const Node *node);
  std::string printArguments(llvm::ArrayRef<const Node *> args);
  std::string printRead(const Node *node);
  std::string printInfix(const Node *node);
  std::string printPathSum(const Node *node);
  std::string printToken(TokenId token) const;
  std::string printSum(const ActionNode *action, bool inner);
  std::string printPlace(const ActionNode *place);

  const CheckedFile &file;
  const Scheme &scheme;
  std::vector<std::pair<TokenId, std::string>> bound;
  llvm::DenseSet<const void *> read;
  /// Characters made so far.
  size_t length = 0;
};

} // namespace torsor

#endif // TORSOR_FRONTEND_NODEPRINTER_H

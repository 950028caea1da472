// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The elaborated expressions of a scheme: a hash-consed graph of scalars and
// vectors with definitions expanded and constants folded.
#ifndef TORSOR_FRONTEND_NODE_H
#define TORSOR_FRONTEND_NODE_H

#include "frontend/Integer.h"
#include "frontend/SourceFile.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Allocator.h"

#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace torsor {

struct ClockInfo;
struct TensorInfo;

enum class NumberType : uint8_t { Int, Real, Bool };

/// "int", "real" or "bool".
llvm::StringRef getTypeName(NumberType type);

/// What a value may vary by, as a set of bits. The stages of the language are
/// read off it: constant is the empty set.
using Varies = uint16_t;
namespace varies {
inline constexpr Varies none = 0, loaded = 1, call = 2, sequence = 4, head = 8,
                        group = 16, query = 32, key = 64, content = 128,
                        moving = 256, path = 512, score = 1024;
} // namespace varies

enum class NodeOp : uint8_t {
  IntConstant,
  RealConstant,
  BoolConstant,
  // Leaves.
  Index, // i, j, or the l of a sum
  Time,  // a clock at a token
  Age,   // of a clock: query - key
  Delta, // key - query
  Head,
  Heads,
  Group,
  Groups,
  Length,
  Width,
  ValueWidth,
  Score,
  Total,
  Read,        // element or row of a tensor
  TokenVector, // q[i], k[j], k[l]
  // Vectors.
  List,
  Element,
  // Arithmetic. Operands of a real result may be ints.
  ToReal,
  Negate,
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  Power,
  // Truth values.
  Not,
  And,
  Or,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Equal,
  NotEqual,
  In,
  Select,
  // Functions.
  Abs,
  Min,
  Max,
  Clamp,
  Floor,
  Ceil,
  ILog2,
  Exp,
  Exp2,
  Log,
  Log2,
  Log1p,
  Sqrt,
  Sin,
  Cos,
  Tanh,
  Sigmoid,
  Softplus,
  Dot,
  PathSum,
};

/// As the language writes the operation: "+", "div", "max".
llvm::StringRef getSpelling(NodeOp op);
/// Is it written between its two operands?
bool isInfix(NodeOp op);

/// A token by number: the query's, the key's, or the bound name of a sum over
/// tokens.
enum class TokenId : int32_t { None = -1, Query = 0, Key = 1, FirstBound = 2 };

/// One operation. Equal operations on equal operands are one node.
struct Node {
  NodeOp op;
  NumberType type;
  /// Index, Time, Read, TokenVector: which token; PathSum: its bound token.
  TokenId token = TokenId::None;
  /// PathSum: leaves out the key's own token. Kept apart so that it hashes.
  bool after = false;
  /// Number of elements of a vector; -1 for a scalar.
  int32_t length = -1;
  /// Age, Delta, Time: member of a family of clocks, or -1.
  int32_t member = -1;
  Varies varies = varies::none;
  uint32_t height = 1;
  /// Number in order of creation: operands have smaller ones.
  uint32_t id = 0;
  llvm::ArrayRef<const Node *> operands;
  const ClockInfo *clock = nullptr;
  const TensorInfo *tensor = nullptr;
  /// The constants.
  Integer integer;
  double real = 0;
  bool truth = false;
  /// Where it was first written; the user's call, if that is the standard
  /// library.
  SourceRange range;

  bool isConstant() const { return op <= NodeOp::BoolConstant; }
  bool isVector() const { return length >= 0; }
  bool isNumber() const { return !isVector() && type != NumberType::Bool; }
  /// A constant that, as the rate of a decay, may be meant as its factor.
  bool looksLikeFactor() const {
    return op == NodeOp::RealConstant && real > 0.5 && real < 1;
  }
  /// A number constant as a real.
  double asReal() const {
    return op == NodeOp::IntConstant ? integer.toReal() : real;
  }
};

/// Whether `test` holds of the node or of one that it is computed from.
bool anyNode(const Node *node, llvm::function_ref<bool(const Node *)> test);

/// Owns nodes and makes equal ones identical.
class NodeGraph {
public:
  const Node *integer(Integer value, SourceRange range);
  const Node *real(double value, SourceRange range);
  const Node *truth(bool value, SourceRange range);
  /// The one node equal to `wanted`; `id`, `height` and, from the operands, the
  /// rest of `varies` are filled in.
  const Node *intern(Node wanted);
  /// An operation on operands only.
  const Node *make(NodeOp op, NumberType type,
                   llvm::ArrayRef<const Node *> operands, SourceRange range);

  /// A fresh token for a sum over tokens, printed as `name`.
  TokenId makeToken(llvm::StringRef name);
  /// "i", "j" or the name of a bound token.
  llvm::StringRef getTokenName(TokenId token) const;

  /// Until it is set again, what the text of the standard library makes has
  /// the place of this call in the user's text. Gives the call before.
  SourceRange setCall(SourceRange range) { return std::exchange(call, range); }
  SourceRange getCall() const { return call; }
  /// The place to remember for what is written at `range`.
  SourceRange placeOf(SourceRange range) const {
    bool inside = call.isValid() && range.file && range.file->isPrelude();
    return inside ? call : range;
  }

  /// Bytes held, roughly.
  size_t memory() const { return bytes; }
  size_t size() const { return nodes.size(); }

private:
  std::deque<Node> nodes;
  SourceRange call;
  /// Open addressing: a power of two of places, at most half of them used.
  struct Place {
    size_t hash = 0;
    const Node *node = nullptr;
  };
  std::vector<Place> table;
  void grow();
  std::vector<std::string> tokenNames;
  llvm::BumpPtrAllocator arena;
  size_t bytes = 0;
};

} // namespace torsor

#endif // TORSOR_FRONTEND_NODE_H

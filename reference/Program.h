// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A scheme as the reference evaluates it: numbered values and a tree of
// actions.
#ifndef TORSOR_REFERENCE_PROGRAM_H
#define TORSOR_REFERENCE_PROGRAM_H

#include "reference/Scalar.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace torsor {
class SchemeOp;
struct Problem;
} // namespace torsor

// The names below would meet those of other parts in namespace torsor.
namespace torsor::reference {

/// What a value changes with. A value in a term (a region) also changes with
/// the variables of the terms around it, one bit for each depth.
enum Varies : unsigned {
  ByHead = 1,
  ByQuery = 2,
  ByKey = 4,
  ByScore = 8,
  ByTotal = 16,
  ByVariable = 32
};
constexpr int maximalDepth = 24; // of terms in terms: bits of Varies

/// When a value of the scheme's block is computed.
enum class Level { Head, Query, Key, Pair, Score, Total };

struct TokenRef {
  enum Kind { Query, Key, Path } kind = Query;
  int depth = 0; ///< Of the term whose variable it is, for Path.
};

/// A declared clock.
struct Clock {
  std::string name;    ///< Of a given one.
  bool real = false;   ///< Its times are f64.
  int64_t members = 0; ///< 0: a single clock.
  int running = -1;    ///< Node of the running sum; -1: given by the call.
  int argument = -1;   ///< Number in Program::arguments; -1: the index.
};

/// A tensor that the call gives.
struct Argument {
  enum Kind { Value, Sequence, Token } kind = Value;
  std::string name;
  std::vector<bool> open; ///< Axis reads 0 past its end ("*").
  bool required = true;
};

/// A region: its values in order, the last of which may be outside it.
struct Term {
  std::vector<int> nodes;
  int result = -1;
  int depth = 0;
};

enum class Code {
  Constant,
  Index,
  Time,
  Running,
  Ambient,
  Read,
  Row,
  Vector,
  Dot,
  List,
  Element,
  PathSum,
  Sum,
  Tabulate,
  Variable,
  Scalar
};

/// One value.
struct Node {
  Code code = Code::Constant;
  ScalarCode scalar = ScalarCode::AddF;
  llvm::SmallVector<int, 3> in;
  unsigned varies = 0;
  bool top = true;     ///< In the block of the scheme.
  bool real = false;   ///< f64, not an integer or a truth value.
  int bits = 64;       ///< Of an integer.
  int fromBits = 64;   ///< Of the first operand.
  int64_t length = -1; ///< Of a vector; -1: a number.
  int64_t number = 0;  ///< Member, kind, predicate, argument, count or depth.
  bool flag = false;   ///< Exclusive, after, key side.
  TokenRef token;
  int clock = -1; ///< In Program::clocks.
  int term = -1;  ///< In Program::terms.
  Cell constant;

  Level level() const;
};

/// The times of query and key that a block acts at: nodes.
struct Place {
  int query = -1, key = -1;
};

struct Action {
  enum Kind {
    Zero,
    Turn,
    Decay,
    Jordan,
    Plane,
    Unipotent,
    Concat,
    Product,
    Split,
    Same, ///< adjacent and at: the part as it is.
    Basis,
    Gain,
    SideGains,
    Choose
  } kind = Zero;
  int64_t width = 0;
  std::vector<std::unique_ptr<Action>> parts;
  std::vector<int> lanes;     ///< Of the head, for each lane of this action.
  int a = -1, b = -1, c = -1; ///< Nodes: rate, vectors, gains, condition.
  int64_t order = 1;
  Place place; ///< Of a block.
  /// F(s) and G(t) are isometries up to gains and can be applied to q and k
  /// apart, whatever s and t are.
  bool apart = false;
  int64_t storage =
      -1;         ///< Where its acted vectors lie, if it roots such a part.
  int basis = -1; ///< Argument with the columns of `basis`.
  bool orthogonal = false;
};

struct Norm {
  bool rms = false;
  double eps = 0;
  int q = -1, k = -1; ///< Nodes of the weights.
};

struct Program {
  int64_t head = 0, value = 0;           ///< D and V.
  int64_t valueLow = -1, valueHigh = -1; ///< Lanes of the key, inclusive.
  std::vector<Node> nodes;
  std::vector<Term> terms;
  std::vector<Clock> clocks;
  std::vector<Argument> arguments;
  std::unique_ptr<Action> action, valueAction;
  int64_t storage = 0; ///< Lanes of acted vectors of a token.
  int scale = -1, softcap = -1, bias = -1, logit = -1, valueBias = -1;
  int mask = -1, sink = -1, embed = -1, beta = -1, divisor = -1;
  enum { Softmax, Linear, Delta } readout = Softmax;
  std::unique_ptr<Norm> norm;
  bool f32Phases = false; ///< As Problem has it.

  /// What is computed when, in order: nodes of the scheme's block alone.
  std::vector<int> headNodes, queryNodes, keyNodes, maskNodes, pairNodes,
      scoreNodes, totalNodes;
  /// Nodes that change with the key alone: their values stand in tables.
  std::vector<int> keyed;
};

/// Reads the IR; D and V are those of the call where the scheme leaves them
/// open.
llvm::Expected<Program> build(SchemeOp scheme, const Problem &problem);

} // namespace torsor::reference

#endif

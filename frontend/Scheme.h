// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An elaborated scheme: what Sema makes of a scheme of the file, and what the
// canonical form and the IR are printed from.
#ifndef TORSOR_FRONTEND_SCHEME_H
#define TORSOR_FRONTEND_SCHEME_H

#include "frontend/Interval.h"
#include "frontend/Node.h"

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace torsor {

struct ParsedFile;

/// A node with what is proved about its value.
struct Scalar {
  const Node *node = nullptr;
  Interval range;

  bool isConstant() const { return node->isConstant(); }
};

/// A vector: a list of scalars, or a vector of the run time.
struct VectorInfo {
  /// Int or Real.
  NumberType type = NumberType::Real;
  int64_t length = 0;
  std::vector<Scalar> elements;
  /// Set, and `elements` empty, for a row of a tensor or a token's vector.
  const Node *row = nullptr;
  Interval rowRange;
  /// Of a list: what it varies by.
  Varies varies = varies::none;

  bool isConstant() const {
    if (row)
      return false;
    for (const Scalar &element : elements)
      if (!element.isConstant())
        return false;
    return true;
  }
};

/// How a tensor or clock lies in memory.
enum class Storage : uint8_t { I32, I64, Bool, F16, BF16, F32, F64 };
llvm::StringRef getSpelling(Storage storage);
std::optional<Storage> parseStorage(llvm::StringRef text);
NumberType getNumberType(Storage storage);

/// A clock of a scheme, or a family of clocks.
struct ClockInfo {
  std::string name;
  SourceRange range;
  Storage storage = Storage::I32;
  NumberType type = NumberType::Int;
  Interval bounds;
  bool hasBounds = false;
  bool moving = false, rising = false;
  /// Never decreases from a seen key to its query.
  bool monotone = false;
  /// Number of clocks of a family, or -1; the name of its index.
  int64_t members = -1;
  std::string indexName;
  /// Of a running sum: its term per member, its token, and whether the token
  /// itself is counted.
  bool running = false;
  bool inclusive = false;
  TokenId token = TokenId::None;
  std::vector<Scalar> terms;
  /// What a family's term reads with its index left open, for printing.
  const Node *openTerm = nullptr;
  /// What its rates of change vary by, besides the token.
  Varies varies = varies::none;
  bool used = false;
};

/// A clock, or one of a family.
struct ClockRef {
  const ClockInfo *clock = nullptr;
  int32_t member = -1;
};

enum class InputRate : uint8_t { Loaded, Token, Sequence, Call };

/// An axis of a tensor; `extent` counts only for Constant.
struct AxisInfo {
  enum Kind : uint8_t { Constant, Heads, Groups, Open } kind = Constant;
  int64_t extent = 0;
};

/// A param or an input.
struct TensorInfo {
  std::string name;
  SourceRange range;
  InputRate rate = InputRate::Loaded;
  Storage storage = Storage::F32;
  std::vector<AxisInfo> axes;
  Interval bounds;
  bool hasBounds = false;
  bool orthogonal = false;
  std::optional<double> condition;
  bool used = false;

  bool isParam() const { return rate == InputRate::Loaded; }
  bool isPerToken() const { return rate == InputRate::Token; }
};

enum class ActionOp : uint8_t {
  Zero,
  Turn,
  Decay,
  Jordan,
  Plane,
  Split,
  Adjacent,
  Basis,
  Gain,
  Sum,
  Product,
  At,
  Choose,
};

/// As the language writes it: "zero", "+", "at".
llvm::StringRef getSpelling(ActionOp op);

/// One block or combinator of an action.
struct ActionNode {
  ActionOp op;
  int64_t width = 0;
  std::vector<const ActionNode *> kids;
  /// What the generators, times and conditions vary by, tokens left out.
  Varies varies = varies::none;
  SourceRange range;
  /// The frequency, rate, coupling or gain.
  Scalar rate;
  int64_t order = 0;
  /// The two vectors of a plane, or of a gain per lane (q, k).
  const VectorInfo *u = nullptr, *v = nullptr;
  const TensorInfo *columns = nullptr;
  /// At: a clock, or two explicit times.
  ClockRef clock;
  Scalar query, key;
  /// Choose.
  const Node *condition = nullptr;
  /// Nodes of the tree below, shared ones counted each time, and its height.
  uint64_t size = 1;
  uint32_t height = 1;
};

/// Calls `visit` for the action and everything below it, outside in.
template <typename F> void walkAction(const ActionNode *action, F &&visit) {
  visit(action);
  for (const ActionNode *kid : action->kids)
    walkAction(kid, visit);
}

enum class NormKindName : uint8_t { None, L2, Rms };
enum class ReadoutName : uint8_t { Softmax, Linear, Delta };

/// The whole of one scheme, arguments in place.
struct Scheme {
  std::string name;
  /// The name of the scheme, or of the instance that asked for it.
  SourceRange range;
  /// Printable doc comment, lines joined.
  std::string doc;

  int64_t head = 0, value = 0;
  /// Neither the text nor the options fix this width.
  bool headIsOpen = false, valueIsOpen = false;
  std::optional<std::pair<int64_t, int64_t>> valueLanes;

  /// Always holds "pos"; getClocks gives the order of declaration.
  std::deque<ClockInfo> clocks;
  std::deque<TensorInfo> tensors;

  NormKindName norm = NormKindName::None;
  SourceRange normRange;
  std::optional<double> normEps;
  const TensorInfo *normQuery = nullptr, *normKey = nullptr;

  const ActionNode *action = nullptr, *valueAction = nullptr;
  /// Null where the clause is absent.
  const Node *scale = nullptr, *softcap = nullptr, *bias = nullptr,
             *logit = nullptr, *mask = nullptr, *sink = nullptr;
  SourceRange actionRange, valueActionRange, scaleRange, softcapRange,
      biasRange, logitRange, maskRange, sinkRange, readoutRange, valueBiasRange,
      embedRange;
  const VectorInfo *valueBias = nullptr, *embed = nullptr;
  ReadoutName readout = ReadoutName::Softmax;
  const Node *beta = nullptr, *divisor = nullptr;

  /// The mask shows no key after the query.
  bool causal = false;

  /// The clocks in order of declaration; "pos" comes first if the text does
  /// not declare it.
  std::vector<const ClockInfo *> getClocks() const;
};

/// A stack: per layer, the scheme of each attention it holds.
struct Stack {
  std::string name;
  SourceRange range;
  std::vector<std::vector<const Scheme *>> layers;
};

/// All that Sema makes of a file, and the memory it lives in.
struct CheckedFile {
  /// In order of declaration; those that only a stack asks for come last.
  std::vector<std::unique_ptr<Scheme>> schemes;
  std::vector<Stack> stacks;

  NodeGraph graph;
  std::deque<VectorInfo> vectors;
  std::deque<ActionNode> actions;
  /// The file itself, what it imports, and the standard library.
  std::vector<std::unique_ptr<ParsedFile>> files;

  CheckedFile();
  ~CheckedFile();
};

} // namespace torsor

#endif // TORSOR_FRONTEND_SCHEME_H

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What each value of a scheme varies by: the union of what it reads.
#include "passes/VariesBy.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace torsor {

std::string VarySet::getText() const {
  SmallVector<StringRef> words;
  auto add = [&](uint16_t which, StringRef word) {
    if (has(which))
      words.push_back(word);
  };
  add(Loaded, "loaded");
  add(Head, "head");
  add(Group, "group");
  add(Size | Call, "call");
  add(Sequence, "sequence");
  add(Query, "query");
  add(Key, "key");
  add(Path, "path");
  add(Content, "content");
  add(Score, "score");
  return "{" + llvm::join(words, ", ") + "}";
}

/// What an operation reads beside its operands and regions.
static VarySet own(Operation *op) {
  return llvm::TypeSwitch<Operation *, VarySet>(op)
      .Case([](TokenOp token) {
        return token.getSide() == Side::Query ? VarySet::Query : VarySet::Key;
      })
      .Case([](AmbientOp ambient) -> VarySet {
        switch (ambient.getKind()) {
        case Ambient::Head:
          return VarySet::Head;
        case Ambient::Group:
          return VarySet::Group;
        case Ambient::Heads:
        case Ambient::Groups:
          return VarySet::Size;
        case Ambient::Width:
        case Ambient::ValueWidth:
          return {};
        case Ambient::Length:
          return VarySet::Sequence;
        case Ambient::Score:
        case Ambient::Total:
          return VarySet::Score;
        }
        return {};
      })
      .Case([](ParamOp) { return VarySet::Loaded; })
      .Case([](InputOp input) -> VarySet {
        switch (input.getPer()) {
        case Per::Token: // the token that indexes it says which
          return {};
        case Per::Sequence:
          return VarySet::Sequence;
        case Per::Call:
          return VarySet::Call;
        }
        return {};
      })
      .Case([](VectorOp) { return VarySet::Content; })
      .Case([](TableDotOp dot) {
        return VarySet(VarySet::Content) |
               (dot.getSide() == Side::Query ? VarySet::Query : VarySet::Key);
      })
      .Case([](PathTotalOp) {
        return VarySet(VarySet::Query) | VarySet(VarySet::Key);
      })
      .Default([](Operation *) { return VarySet(); });
}

VariesBy::VariesBy(SchemeOp scheme) {
  // In the order of the block, so that no chain of operations is too long for
  // the stack.
  scheme.walk([&](Operation *op) {
    if (op != scheme)
      for (Value result : op->getResults())
        of(result);
  });
}

VarySet VariesBy::of(Operation *op) {
  VarySet set = own(op);
  for (Value operand : op->getOperands())
    set = set | of(operand);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation &inner : block)
        set = set | of(&inner);
  // A token bound by a sum has no meaning outside of it. What a path sum
  // reads lies between key and query; a running sum is a clock, and only its
  // time is of a token.
  if (isa<PathSumOp>(op))
    return set.without(VarySet::Path) | VarySet::Query | VarySet::Key;
  if (isa<RunningOp>(op))
    return set.without(VarySet::Path);
  return set;
}

VarySet VariesBy::of(Value value) {
  if (auto at = sets.find(value); at != sets.end())
    return at->second;
  VarySet set;
  if (auto argument = dyn_cast<BlockArgument>(value))
    set = isa<TokenType>(argument.getType()) ? VarySet::Path : VarySet();
  else
    set = of(value.getDefiningOp());
  sets.try_emplace(value, set);
  return set;
}

} // namespace torsor

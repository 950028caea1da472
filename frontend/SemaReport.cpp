// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Messages of the checker, its budgets, and how values read in messages.
#include "frontend/Sema.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

#include "fmt/format.h"

using namespace torsor;

namespace {

constexpr uint64_t stepLimit = 10'000'000;
constexpr size_t memoryLimit = 64u << 20;

/// Errors of values: they do not count in a branch that is not taken.
bool isValueError(llvm::StringRef id) {
  static constexpr llvm::StringRef ids[] = {
      "require", "unproved", "domain", "zero",  "range", "index", "width",
      "length",  "growth",   "gain",   "plane", "large", "empty"};
  return llvm::is_contained(ids, id);
}

/// Errors about what is not known of a value: they are mended at its
/// declaration.
bool isUnproved(llvm::StringRef id) {
  return id == "zero" || id == "domain" || id == "index";
}

bool isInPrelude(SourceRange range) {
  return range.file && range.file->isPrelude();
}

/// A value that breaks a contract may break the next one of the same function
/// as well: one message about it is enough.
bool isRefused(const DiagnosticList &diagnostics, SourceRange range) {
  DiagnosticPlace place = resolvePlace(range);
  return llvm::any_of(diagnostics.sorted(), [&](const Diagnostic *known) {
    return known->id == "require" && known->place.file == place.file &&
           known->place.line == place.line &&
           known->place.column == place.column;
  });
}

/// A value that an argument brought may be to blame: says where it was given.
Diagnostic &noteUse(const Env &env, SourceRange range, Diagnostic &message) {
  const Env *at = &env;
  while (at && !at->scheme)
    at = at->caller;
  if (at && at->scheme->use.isValid() && !at->scheme->use.contains(range))
    message.note(at->scheme->use, "the arguments are given here");
  return message;
}

} // namespace

Diagnostic &Sema::report(const Env &env, SourceRange range, llvm::StringRef id,
                         std::string text) {
  if (allUnchecked || (valuesUnchecked && isValueError(id))) {
    droppedMessage = Diagnostic();
    return droppedMessage;
  }
  if ((isUnproved(id) && !unproved.insert(text).second) ||
      (id == "require" && isRefused(diagnostics, range))) {
    droppedMessage = Diagnostic();
    return droppedMessage;
  }
  if (!isInPrelude(range))
    return noteUse(env, range, diagnostics.error(range, id, std::move(text)));
  // An error inside the standard library belongs to the user's call.
  const Env *outer = &env;
  while (outer && (!outer->call.isValid() || isInPrelude(outer->call)))
    outer = outer->caller;
  if (!outer)
    return diagnostics.error(range, id, std::move(text));
  Diagnostic &message = diagnostics.error(
      outer->call, id,
      fmt::format("in '{}': {}", outer->definitionName.str(), text));
  return message.note(range, "the definition is here");
}

Meaning Sema::fail(const Env &env, SourceRange range, llvm::StringRef id,
                   std::string text) {
  report(env, range, id, std::move(text));
  return Meaning();
}

void Sema::warn(SourceRange range, llvm::StringRef id, std::string text) {
  if (allUnchecked || valuesUnchecked || isInPrelude(range))
    return;
  diagnostics.warning(range, id, std::move(text));
}

bool Sema::spend(const Env &env, SourceRange range, uint64_t count) {
  if (exhausted)
    return false;
  steps += count;
  bool slow = steps > stepLimit;
  if (!slow && graph.memory() + vectorBytes <= memoryLimit)
    return true;
  exhausted = true;
  // Reported even from a branch that is not taken: nothing more is evaluated.
  unsigned values = valuesUnchecked, all = allUnchecked;
  valuesUnchecked = allUnchecked = 0;
  report(env, range, "large",
         slow
             ? "the constants of this file take more than 10 million steps to "
               "evaluate; make its sums and lists shorter"
             : "the constants of this file take more than 64 MB; make its sums "
               "and lists shorter");
  valuesUnchecked = values;
  allUnchecked = all;
  return false;
}

std::string torsor::quote(const Expr *e) {
  llvm::StringRef source = (e->parens ? e->range : e->full).getText();
  std::string line;
  bool blank = false;
  for (size_t at = 0; at != source.size(); ++at) {
    if (source.substr(at).starts_with("//")) {
      at = std::min(source.find('\n', at), source.size() - 1);
      blank = true;
    } else if (llvm::isSpace(source[at])) {
      blank = true;
    } else {
      if (blank && !line.empty())
        line += ' ';
      blank = false;
      line += source[at];
    }
  }
  if (line.size() <= 48)
    return line;
  return line.substr(0, 45) + "…";
}

std::string torsor::printSize(int64_t size) {
  return size >= mostSize    ? "2^62 or more"
         : size <= -mostSize ? "-2^62 or less"
                             : std::to_string(size);
}

std::string torsor::printNumber(double value) {
  if (std::isinf(value))
    return value > 0 ? "inf" : "-inf";
  if (value == std::trunc(value) && std::abs(value) < 1e6)
    return fmt::format("{}", int64_t(value));
  std::string text = fmt::format("{:.6g}", value);
  // 1e+09 reads 1e9.
  for (llvm::StringRef padded : {"e+0", "e+"})
    if (size_t at = text.find(padded.str()); at != std::string::npos)
      text.replace(at, padded.size(), "e");
  return text;
}

std::string torsor::printConstant(const Node *node) {
  switch (node->op) {
  case NodeOp::IntConstant: {
    std::string text = node->integer.toString();
    if (text.size() > 48)
      text = fmt::format("{}… ({} digits)", text.substr(0, 20), text.size());
    return text;
  }
  case NodeOp::RealConstant:
    return printNumber(node->real);
  case NodeOp::BoolConstant:
    return node->truth ? "true" : "false";
  default:
    return "?";
  }
}

std::string torsor::printBounds(Interval range) {
  return printNumber(range.lo) + " .. " + printNumber(range.hi);
}

std::string torsor::describe(const Meaning &value) {
  switch (value.kind) {
  case Meaning::Number:
    return getTypeName(value.scalar.node->type).str();
  case Meaning::Vector:
    return fmt::format("{}[{}]", getTypeName(value.vector->type).str(),
                       value.vector->length);
  case Meaning::Action:
    return fmt::format("action[{}]", value.action->width);
  case Meaning::Clock:
    return "a clock";
  case Meaning::Tensor:
    return fmt::format("the tensor '{}'", value.tensor->name);
  case Meaning::TokenVectors:
    return fmt::format("the tensor '{}'", value.isKey ? "k" : "q");
  case Meaning::SchemeName:
    return "a scheme";
  case Meaning::Poison:
    break;
  }
  return "unknown";
}

Varies Meaning::getVaries() const {
  switch (kind) {
  case Number:
    return scalar.node->varies;
  case Vector:
    return vector->row ? vector->row->varies : vector->varies;
  case Action:
    return action->varies;
  case Clock:
    return clock.clock->varies;
  default:
    return varies::none;
  }
}

llvm::StringRef torsor::getSpelling(Where where) {
  static constexpr llvm::StringLiteral names[] = {
      "file",         "stack", "let",     "require", "head",    "value",
      "clock",        "param", "norm",    "readout", "readout", "action",
      "value_action", "scale", "softcap", "logit",   "bias",    "value_bias",
      "mask",         "sink",  "embed"};
  static_assert(std::size(names) == size_t(Where::Embed) + 1);
  return names[size_t(where)];
}

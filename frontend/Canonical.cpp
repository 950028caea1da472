// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The canonical form: the meaning of schemes as a program.
#include "frontend/Canonical.h"

#include "frontend/NodePrinter.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <map>

#include "fmt/format.h"

using namespace torsor;

namespace {

/// An end of a declared range.
std::string printEnd(double value) {
  if (std::isinf(value))
    return value > 0 ? "inf" : "-inf";
  if (value == std::trunc(value) && std::abs(value) < 1e15)
    return fmt::format("{}", int64_t(value));
  return printReal(value);
}

std::string printRange(bool has, Interval range) {
  if (!has)
    return "";
  return fmt::format(" in {} .. {}", printEnd(range.lo), printEnd(range.hi));
}

class SchemePrinter {
public:
  SchemePrinter(const CheckedFile &file, const Scheme &scheme)
      : printer(file, scheme), scheme(scheme) {}

  std::string run() {
    // The terms first: they say what is read, and the rest is not declared.
    bool attends = scheme.mask != nullptr;
    printNorm();
    if (scheme.action)
      line("action", printer.print(scheme.action));
    if (scheme.valueAction)
      line("value_action", printer.print(scheme.valueAction));
    if (attends)
      printTerms();
    if (scheme.embed)
      line("embed", printer.print(*scheme.embed));
    std::string terms = std::move(text);
    text = fmt::format("scheme {} {{\n", scheme.name);
    if (attends)
      printWidths();
    printClocks();
    for (bool params : {true, false})
      for (const TensorInfo &tensor : scheme.tensors)
        if (tensor.isParam() == params && printer.hasRead(&tensor))
          printTensor(tensor);
    text += terms + "}\n";
    if (printer.isTooLong())
      text += "// longer than 16 MB, and so not complete\n";
    return std::move(text);
  }

private:
  void line(llvm::StringRef word, llvm::StringRef rest) {
    text += fmt::format("  {:<6} {}\n", word.str(), rest.str());
  }

  void term(llvm::StringRef word, const Node *node) {
    if (node)
      line(word, printer.printOuter(node));
  }

  void printWidths() {
    if (!scheme.headIsOpen)
      line("head", std::to_string(scheme.head));
    if (scheme.valueLanes)
      line("value", fmt::format("key[{} .. {}]", scheme.valueLanes->first,
                                scheme.valueLanes->second));
    else if (!scheme.valueIsOpen)
      line("value", std::to_string(scheme.value));
  }

  /// Running sums first, in which other clocks are read.
  void printClocks() {
    std::string head = std::move(text);
    std::map<const ClockInfo *, std::string> lines;
    for (bool running : {true, false})
      for (const ClockInfo *clock : scheme.getClocks())
        if (clock->running == running &&
            (clock->name == "pos" || printer.hasRead(clock))) {
          text.clear();
          printClock(*clock);
          lines[clock] = std::move(text);
        }
    text = std::move(head);
    for (const ClockInfo *clock : scheme.getClocks())
      text += lines[clock];
  }

  void printClock(const ClockInfo &clock) {
    std::string name = clock.name;
    if (clock.members >= 0)
      name += fmt::format("[{} < {}]", clock.indexName, clock.members);
    if (clock.running) {
      std::string token = printer.bind(clock.token);
      line("clock",
           fmt::format("{} = sum {} {} j: {}", name, token,
                       clock.inclusive ? "<=" : "<", printTerm(clock)));
      printer.unbind();
      return;
    }
    bool isPos = clock.name == "pos";
    bool plainRange = isPos && clock.bounds == Interval{0, Interval::inf};
    std::string rest = (clock.moving ? std::string(" moving") : "") +
                       (clock.rising ? " rising" : "") +
                       printRange(clock.hasBounds && !plainRange, clock.bounds);
    if (isPos && clock.storage == Storage::I32 && rest.empty())
      return;
    line("clock",
         fmt::format("{}: {}{}", name, getSpelling(clock.storage).str(), rest));
  }

  std::string printTerm(const ClockInfo &clock) {
    if (clock.members < 0)
      return printer.printOuter(clock.terms.front().node);
    if (clock.openTerm)
      return printer.printOuter(clock.openTerm);
    // A term that must be written out: the list, and the member's place in it.
    std::string terms;
    for (const Scalar &term : clock.terms)
      terms += (terms.empty() ? "" : ", ") + printer.print(term.node);
    return fmt::format("[{}][{}]", terms, clock.indexName);
  }

  void printTensor(const TensorInfo &tensor) {
    std::string axes;
    for (const AxisInfo &axis : tensor.axes) {
      axes += axes.empty() ? "[" : ", ";
      axes += axis.kind == AxisInfo::Constant ? std::to_string(axis.extent)
              : axis.kind == AxisInfo::Heads  ? "H"
              : axis.kind == AxisInfo::Groups ? "G"
                                              : "*";
    }
    std::string rest =
        getSpelling(tensor.storage).str() + (axes.empty() ? "" : axes + "]");
    static constexpr llvm::StringRef rates[] = {"", " per token",
                                                " per sequence", " per call"};
    rest += rates[size_t(tensor.rate)];
    if (tensor.orthogonal)
      rest += " orthogonal";
    if (tensor.condition)
      rest += " condition " + printReal(*tensor.condition);
    line(tensor.isParam() ? "param" : "input",
         fmt::format("{}: {}{}", tensor.name, rest,
                     printRange(tensor.hasBounds, tensor.bounds)));
  }

  void printNorm() {
    if (scheme.norm == NormKindName::None)
      return;
    std::string args;
    auto add = [&](llvm::StringRef name, const std::string &value) {
      args +=
          fmt::format("{}{} = {}", args.empty() ? "" : ", ", name.str(), value);
    };
    if (scheme.normEps)
      add("eps", printReal(*scheme.normEps));
    if (scheme.normKey)
      add("k", printer.print(*scheme.normKey));
    if (scheme.normQuery)
      add("q", printer.print(*scheme.normQuery));
    std::string name = scheme.norm == NormKindName::L2 ? "l2" : "rms";
    line("norm", args.empty() ? name : fmt::format("{}({})", name, args));
  }

  void printTerms() {
    if (scheme.logit) {
      term("logit", scheme.logit);
    } else {
      if (scheme.scale)
        term("scale", scheme.scale);
      else
        line("scale", scheme.headIsOpen
                          ? "1 / sqrt(D)"
                          : printReal(1 / std::sqrt(double(scheme.head))));
      term("softcap", scheme.softcap);
      term("bias", scheme.bias);
    }
    if (scheme.valueBias)
      line("value_bias", printer.print(*scheme.valueBias));
    term("mask", scheme.mask);
    term("sink", scheme.sink);
    std::string readout = scheme.readout == ReadoutName::Softmax  ? "softmax"
                          : scheme.readout == ReadoutName::Linear ? "linear"
                                                                  : "delta";
    if (scheme.beta)
      readout += fmt::format("(beta = {})", printer.printOuter(scheme.beta));
    if (scheme.divisor)
      readout += " / " + printer.printOuter(scheme.divisor);
    line("readout", readout);
  }

  NodePrinter printer;
  const Scheme &scheme;
  std::string text;
};

/// The choice of one attention per layer: `if layer in [5, 11] then a else b`.
std::string printUse(const Stack &stack, size_t place) {
  std::vector<std::pair<const Scheme *, std::vector<size_t>>> layersOf;
  for (size_t layer = 0; layer != stack.layers.size(); ++layer) {
    const Scheme *scheme = stack.layers[layer][place];
    auto known = llvm::find_if(
        layersOf, [&](const auto &entry) { return entry.first == scheme; });
    if (known == layersOf.end()) {
      layersOf.push_back({scheme, {}});
      known = std::prev(layersOf.end());
    }
    known->second.push_back(layer);
  }
  // The scheme of most layers needs no list of them.
  llvm::sort(layersOf, [](const auto &a, const auto &b) {
    return std::pair(a.second.size(), a.second.front()) <
           std::pair(b.second.size(), b.second.front());
  });
  std::string text;
  for (const auto &[scheme, layers] : layersOf) {
    if (scheme == layersOf.back().first)
      text += scheme->name;
    else
      text += fmt::format("if layer in [{}] then {} else ",
                          fmt::join(layers, ", "), scheme->name);
  }
  return text;
}

} // namespace

std::string torsor::printCanonical(const CheckedFile &file,
                                   llvm::ArrayRef<const Scheme *> schemes,
                                   llvm::ArrayRef<const Stack *> stacks) {
  std::string text;
  for (const Scheme *scheme : schemes) {
    if (!text.empty())
      text += "\n";
    text += SchemePrinter(file, *scheme).run();
  }
  for (const Stack *stack : stacks) {
    if (!text.empty())
      text += "\n";
    text += fmt::format("stack {} {{\n  layers {}\n", stack->name,
                        stack->layers.size());
    for (size_t place = 0;
         !stack->layers.empty() && place != stack->layers.front().size();
         ++place)
      text +=
          (place ? "       , " : "  use    ") + printUse(*stack, place) + "\n";
    text += "}\n";
  }
  return text;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A model as a program of the language, for people to read.
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "import/Build.h"
#include "import/Text.h"

using namespace torsor;

/// The list of frequencies, before layout and gain.
static std::string writeSpectrum(const Rotation &r) {
  std::string plain =
      fmt::format("spectrum({}, base = {})", r.width, writeReal(r.base));
  std::string factor = writeReal(r.factor), trained = writeInt(r.trained);
  switch (r.rule) {
  case RopeRule::Default:
    return plain;
  case RopeRule::Linear:
    return fmt::format("linear({}, factor = {})", plain, factor);
  case RopeRule::Ntk:
    return fmt::format("ntk({}, alpha = {})", plain, writeReal(r.alpha));
  case RopeRule::Dynamic:
    return fmt::format("dynamic_ntk({}, factor = {}, trained = {}, length = N)",
                       plain, factor, trained);
  case RopeRule::Llama3:
    return fmt::format("llama3({}, factor = {}, low = {}, high = {}, trained = "
                       "{})",
                       plain, factor, writeReal(r.low), writeReal(r.high),
                       trained);
  case RopeRule::Yarn: {
    std::string text =
        fmt::format("yarn({}, base = {}, factor = {}, trained = {}", r.width,
                    writeReal(r.base), factor, trained);
    if (r.fast != 32)
      text += fmt::format(", fast = {}", writeReal(r.fast));
    if (r.slow != 1)
      text += fmt::format(", slow = {}", writeReal(r.slow));
    return text + (r.truncate ? ")" : ", truncate = false)");
  }
  case RopeRule::LongRope:
    return "w";
  case RopeRule::Proportional:
    if (r.factor != 1)
      plain = fmt::format("linear({}, factor = {})", plain, factor);
    return fmt::format("highest({}, count = {})", plain, r.pairs);
  }
  return plain;
}

static bool needsList(const Rotation &r) {
  return !r.sections.empty() || r.rule == RopeRule::LongRope || r.stepped();
}

/// Lets that the action needs.
static std::vector<ClauseText> writeLets(const Rotation &r) {
  if (!needsList(r))
    return {};
  std::vector<ClauseText> lets;
  std::string plain =
      fmt::format("spectrum({}, base = {})", r.width, writeReal(r.base));
  if (r.rule == RopeRule::LongRope) {
    lets.push_back({"let", "f = " + plain, ""});
    lets.push_back({"let",
                    fmt::format("short_list = divided(f, by = {})",
                                writeReals(r.shortFactor)),
                    "short_factor"});
    lets.push_back({"let",
                    fmt::format("long_list = divided(f, by = {})",
                                writeReals(r.longFactor)),
                    "long_factor"});
    lets.push_back({"let",
                    fmt::format("w = if N > {} then long_list else short_list",
                                writeInt(r.trained)),
                    ""});
  } else if (r.stepped()) {
    lets.push_back({"let", "f = " + plain, ""});
    lets.push_back(
        {"let",
         fmt::format("w = [for p < {}: if {} * f[p] / (2 * pi) < {} then f[p] "
                     "/ {} else f[p]]",
                     r.width / 2, writeInt(r.trained), writeReal(r.low),
                     writeReal(r.factor)),
         "rope_type llama3: low_freq_factor and high_freq_factor are equal"});
  } else {
    lets.push_back({"let", "f = " + writeSpectrum(r), ""});
  }
  return lets;
}

static std::string writeTurns(const Rotation &r) {
  if (r.sections.empty()) {
    if (r.rule == RopeRule::Default)
      return fmt::format("rope({}, base = {})", r.width, writeReal(r.base));
    return fmt::format("rotation({})", r.stepped() ? "w" : writeSpectrum(r));
  }
  const std::vector<int64_t> &n = r.sections;
  std::string axis =
      r.interleaved
          ? fmt::format("if p mod 3 == 1 and p < {} then row else if p mod 3 "
                        "== 2 and p < {} then col else time",
                        3 * n[1], 3 * n[2])
          : fmt::format("if p < {} then time else if p < {} then row else col",
                        n[0], n[0] + n[1]);
  return fmt::format("sum p < {}: turn({}[p]) at ({})", r.width / 2,
                     r.rule == RopeRule::LongRope || r.stepped() ? "w" : "f",
                     axis);
}

static std::string writeAction(const ImportedScheme &scheme) {
  if (!scheme.actionText.empty())
    return scheme.actionText;
  if (!scheme.rotation)
    return "";
  const Rotation &r = *scheme.rotation;
  std::string inner = writeTurns(r);
  if (r.rule == RopeRule::Proportional && r.pairs * 2 < r.width)
    inner += fmt::format(" + zero({})", r.width - 2 * r.pairs);
  std::string text = fmt::format(
      "{}({})", r.layout == PairLayout::Split ? "split" : "adjacent", inner);
  if (scheme.weightsBehind)
    text = fmt::format(
        "gain({0}, q = [for c < {1}: wq[c]], k = [for c < {1}: wk[c]])", text,
        scheme.head);
  if (r.gain != r.longGain)
    text = fmt::format("gain({}, by = if N > {} then {} else {})", text,
                       writeInt(r.trained), r.longGainText, r.gainText);
  else if (r.gain != 1)
    text = fmt::format("gain({}, by = {})", text, r.gainText);
  if (scheme.before)
    text = fmt::format("zero({}) + {}", scheme.before, text);
  if (scheme.after)
    text += fmt::format(" + zero({})", scheme.after);
  return text;
}

static std::string writeMask(const ImportedScheme &scheme) {
  std::string text;
  switch (scheme.mask) {
  case MaskKind::All:
    text = "all";
    break;
  case MaskKind::Causal:
    text = "causal";
    break;
  case MaskKind::Window:
    text = scheme.causal
               ? fmt::format("last({})", writeInt(scheme.window))
               : fmt::format("window({}, right = {})", writeInt(scheme.left),
                             writeInt(scheme.right));
    break;
  case MaskKind::Chunk:
    text = fmt::format("causal and chunk({})", writeInt(scheme.chunk));
    break;
  }
  if (scheme.images) {
    std::string same = "image[i] == image[j] and image[i] != 0";
    text = scheme.mask == MaskKind::Window && scheme.causal
               ? fmt::format("i - j < {} and (causal or {})",
                             writeInt(scheme.window), same)
               : fmt::format("{} or {}", text, same);
  }
  if (scheme.documents)
    text = fmt::format("{} and doc[i] == doc[j]",
                       scheme.images ? "(" + text + ")" : text);
  return text;
}

static void write(std::string &out, const std::string &word,
                  const std::string &text, const std::string &comment) {
  if (text.empty())
    return;
  if (!comment.empty())
    out += fmt::format("  // {}\n", comment);
  out += fmt::format("  {:<6} {}\n", word, text);
}

static std::string describeLayout(const Rotation &r) {
  return r.layout == PairLayout::Split
             ? fmt::format("lane p turns with lane p + {}", r.width / 2)
             : "lanes 2p and 2p + 1 turn together";
}

std::string torsor::writeClauses(const ImportedScheme &scheme) {
  std::string out, action = writeAction(scheme);
  if (action.empty())
    write(out, "head", writeInt(scheme.head), "");
  if (scheme.valueInKey)
    write(out, "value", fmt::format("key[0 .. {}]", scheme.value - 1), "");
  else if (scheme.value != scheme.head)
    write(out, "value", writeInt(scheme.value), "");
  if (scheme.rotation && !scheme.rotation->sections.empty())
    write(out, "clock", "time, row, col", "");
  if (scheme.documents)
    write(out, "input", "doc: i32 per token", "");
  if (scheme.images)
    write(out, "input", "image: i32 per token", "");
  for (const ClauseText &clause : scheme.declarations)
    write(out, clause.word, clause.text, clause.comment);
  write(out, "norm", scheme.norm, "");
  if (scheme.rotation)
    for (const ClauseText &let : writeLets(*scheme.rotation))
      write(out, let.word, let.text, let.comment);
  write(out, "action", action,
        scheme.rotation ? fmt::format("{}; {}", scheme.rotation->origin,
                                      describeLayout(*scheme.rotation))
                        : "");
  write(out, "scale", scheme.scaleText, scheme.scaleOrigin);
  if (scheme.softcap)
    write(out, "softcap", writeReal(*scheme.softcap), "");
  for (const ClauseText &clause : scheme.terms)
    write(out, clause.word, clause.text, clause.comment);
  write(out, "mask", writeMask(scheme), scheme.maskOrigin);
  if (scheme.sinks)
    write(out, "sink", "sinks[h]", "");
  write(out, "readout", scheme.readout, "");
  return out;
}

/// "layer in [0, 5]" for the layers that use `index`, as short as may be.
static std::string
writeCondition(const std::vector<std::vector<size_t>> &layers,
               const std::vector<size_t> &uses) {
  std::vector<int64_t> at;
  auto count = static_cast<int64_t>(layers.size());
  for (int64_t n = 0; n < count; ++n)
    if (layers[n] == uses)
      at.push_back(n);
  auto matches = [&](auto condition) {
    for (int64_t n = 0; n < count; ++n)
      if ((layers[n] == uses) != condition(n))
        return false;
    return true;
  };
  if (at.size() == 1)
    return fmt::format("layer == {}", at[0]);
  for (int64_t period = 2; period <= count / 2; ++period) {
    if (matches([&](int64_t n) { return (n + 1) % period == 0; }))
      return fmt::format("every({})", period);
    if (matches([&](int64_t n) { return n % period == 0; }))
      return fmt::format("layer mod {} == 0", period);
  }
  auto behind = static_cast<int64_t>(at.size());
  if (matches([&](int64_t n) { return n < behind; }))
    return fmt::format("layer < {}", behind);
  if (matches([&](int64_t n) { return n >= count - behind; }))
    return fmt::format("layer >= {}", count - behind);
  return fmt::format("layer in {}", writeInts(at));
}

static std::string writeStack(const ImportedModel &model,
                              const ImportedStack &stack) {
  std::vector<std::vector<size_t>> kinds;
  for (const std::vector<size_t> &layer : stack.layers)
    if (std::find(kinds.begin(), kinds.end(), layer) == kinds.end())
      kinds.push_back(layer);
  // The kind of most layers comes last, without a condition; of two, the one
  // whose condition is shorter is asked for.
  auto count = [&](const std::vector<size_t> &kind) {
    return std::count(stack.layers.begin(), stack.layers.end(), kind);
  };
  // Few kinds: the first of the most frequent ones goes to the end.
  auto most =
      std::max_element(kinds.begin(), kinds.end(),
                       [&](auto &a, auto &b) { return count(a) < count(b); });
  std::rotate(most, most + 1, kinds.end());
  if (kinds.size() == 2 && writeCondition(stack.layers, kinds[1]).size() <
                               writeCondition(stack.layers, kinds[0]).size())
    std::swap(kinds[0], kinds[1]);
  size_t attentions = stack.layers.front().size();
  std::vector<std::string> uses;
  for (size_t n = 0; n < attentions; ++n) {
    std::string text;
    for (size_t k = 0; k < kinds.size(); ++k) {
      const ImportedScheme &scheme = model.schemes[kinds[k][n]];
      std::string name =
          scheme.arguments.empty()
              ? scheme.name
              : fmt::format("{}({})", scheme.name, scheme.arguments);
      text += k + 1 == kinds.size()
                  ? name
                  : fmt::format("if {} then {} else ",
                                writeCondition(stack.layers, kinds[k]), name);
    }
    uses.push_back(std::move(text));
  }
  return fmt::format(
      "stack {} {{\n{}  use {}\n}}\n", stack.name,
      stack.open ? "" : fmt::format("  layers {}\n", stack.layers.size()),
      fmt::join(uses, ", "));
}

std::string torsor::writeModel(const ImportedModel &model) {
  std::string out = "torsor 1\n";
  out += fmt::format("// Positions of a checkpoint of type '{}', as its config "
                     "states them.\n",
                     model.type);
  for (const std::string &text : model.definitions)
    out += "\n" + text;
  auto documented = [&](const std::vector<std::string> &docs) {
    out += "\n";
    for (const std::string &line : docs)
      out += "/// " + line + "\n";
  };
  for (const ImportedEmbedding &embedding : model.embeddings) {
    documented(embedding.docs);
    out += fmt::format("scheme {} {{\n", embedding.name);
    for (const ClauseText &clause : embedding.clauses)
      write(out, clause.word, clause.text, clause.comment);
    out += "}\n";
  }
  for (const ImportedScheme &scheme : model.schemes) {
    documented(scheme.docs);
    out += fmt::format("scheme {}{} {{\n{}}}\n", scheme.name,
                       scheme.formals.empty() ? "" : "(" + scheme.formals + ")",
                       writeClauses(scheme));
  }
  for (const ImportedStack &stack : model.stacks)
    out += "\n" + writeStack(model, stack);
  return out;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What was understood of a config, in plain words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "import/Import.h"
#include "import/Text.h"

using namespace torsor;

static const char *nameOf(RopeRule rule) {
  static const char *const names[] = {"default",  "linear",      "ntk",
                                      "dynamic",  "yarn",        "llama3",
                                      "longrope", "proportional"};
  return names[static_cast<int>(rule)];
}

static std::string describeTable(const std::vector<double> &frequencies) {
  std::string text;
  for (size_t n = 0; n < frequencies.size(); ++n)
    text += fmt::format("{}{:>16.9g}", n % 6 ? "" : "\n     ", frequencies[n]);
  return text + "\n";
}

static std::string describeRotation(const ImportedScheme &scheme) {
  if (!scheme.rotation)
    return scheme.actionText.empty()
               ? "  no rotation\n"
               : fmt::format("  action {}\n", scheme.actionText);
  const Rotation &r = *scheme.rotation;
  std::string text = fmt::format(
      "  {} of {} lanes turn, {}, from lane {}; {}, rule {}\n",
      r.turningLanes(), scheme.head,
      r.layout == PairLayout::Split
          ? fmt::format("split (lane p with lane p + {})", r.width / 2)
          : "adjacent (lanes 2p and 2p + 1)",
      scheme.before, r.origin, nameOf(r.rule));
  if (r.gain == r.longGain)
    text += fmt::format("  gain {:.17g} on the rotated lanes of q and of k\n",
                        r.gain);
  else
    text += fmt::format("  gain {:.17g}, beyond {} tokens {:.17g}, on the "
                        "rotated lanes of q and of k\n",
                        r.gain, r.trained, r.longGain);
  if (!r.sections.empty())
    text += fmt::format("  pairs of time, row and column: {}, {}\n",
                        writeInts(r.sections),
                        r.interleaved ? "interleaved" : "in one piece each");
  text += "  frequencies, radians per position:";
  text += describeTable(computeFrequencies(r));
  if (r.rule == RopeRule::LongRope)
    text += fmt::format("  frequencies of more than {} tokens:{}", r.trained,
                        describeTable(computeFrequencies(r, r.trained + 1)));
  if (r.rule == RopeRule::Dynamic)
    text += fmt::format("  frequencies of {} tokens:{}", 2 * r.trained,
                        describeTable(computeFrequencies(r, 2 * r.trained)));
  return text;
}

static std::string describeMask(const ImportedScheme &scheme) {
  switch (scheme.mask) {
  case MaskKind::All:
    return "every key is seen";
  case MaskKind::Causal:
    return "every key up to the query's own";
  case MaskKind::Chunk:
    return fmt::format("keys of the query's own chunk of {}, up to its own",
                       scheme.chunk);
  case MaskKind::Window:
    if (scheme.causal)
      return fmt::format("the last {} keys, the query's own among them (so {} "
                         "before it)",
                         scheme.window, scheme.left);
    return fmt::format("{} keys before the query, itself, {} behind it",
                       scheme.left, scheme.right);
  }
  return "";
}

static std::string describeScheme(const ImportedScheme &scheme) {
  std::string text =
      fmt::format("scheme {} ({}): head {}, value {}{}\n", scheme.name,
                  scheme.kind, scheme.head, scheme.value,
                  scheme.valueInKey ? ", the first lanes of the key" : "");
  text += describeRotation(scheme);
  text += fmt::format("  scale {:.17g}", scheme.scale);
  if (scheme.queryGain)
    text += fmt::format(" times 1 + {} ln(1 + floor((p + {}) / {})) of the "
                        "query's position p",
                        scheme.queryGain->rate, scheme.queryGain->offset,
                        scheme.queryGain->period);
  text += fmt::format("\n  mask: {}\n", describeMask(scheme));
  if (scheme.softcap)
    text += fmt::format("  softcap {}\n", *scheme.softcap);
  if (scheme.sinks)
    text += "  a learned sink of each head\n";
  for (const ClauseText &clause : scheme.terms)
    text += fmt::format("  {} {}\n", clause.word, clause.text);
  if (!scheme.readout.empty())
    text += fmt::format("  readout {}\n", scheme.readout);
  return text;
}

/// One line for each run of equal layers.
static std::string describeLayers(const ImportedModel &model,
                                  const ImportedStack &stack) {
  std::string text = fmt::format(
      "stack {}: {}\n  {:<12} {:<20} {:>6} {:>9} {:>7} {:>7} {:>8} {:>6} {}\n",
      stack.name,
      stack.open ? std::string("as many layers as --layers says")
                 : fmt::format("{} layers", stack.layers.size()),
      "layers", "scheme", "turns", "gain", "window", "chunk", "softcap",
      "sinks", "scale");
  for (size_t n = 0; n < stack.layers.size();) {
    size_t end = n;
    while (end < stack.layers.size() && stack.layers[end] == stack.layers[n])
      ++end;
    std::string where = stack.open     ? "all"
                        : end - n == 1 ? fmt::format("{}", n)
                                       : fmt::format("{} … {}", n, end - 1);
    for (size_t index : stack.layers[n]) {
      const ImportedScheme &scheme = model.schemes[index];
      const std::optional<Rotation> &r = scheme.rotation;
      text += fmt::format(
          "  {:<12} {:<20} {:>6} {:>9.6g} {:>7} {:>7} {:>8} {:>6} {:.9g}\n",
          where, scheme.name, r ? r->turningLanes() : 0, r ? r->gain : 1,
          scheme.mask == MaskKind::Window
              ? std::to_string(scheme.causal ? scheme.window
                                             : scheme.left + scheme.right + 1)
              : "-",
          scheme.chunk ? std::to_string(scheme.chunk) : "-",
          scheme.softcap ? writeReal(*scheme.softcap) : "-",
          scheme.sinks ? "yes" : "-", scheme.scale);
    }
    n = end;
  }
  return text;
}

std::string torsor::describeModel(const ImportResult &result) {
  const ImportedModel &model = result.model;
  std::string text = fmt::format("config of type '{}'\n", model.type);
  for (const ImportedEmbedding &embedding : model.embeddings)
    text +=
        fmt::format("embedding {}: {}, {} positions of width {}, offset {}\n",
                    embedding.name, embedding.kind, embedding.rows,
                    embedding.width, embedding.offset);
  for (const ImportedScheme &scheme : model.schemes)
    text += describeScheme(scheme);
  for (const ImportedStack &stack : model.stacks)
    text += describeLayers(model, stack);
  for (const ImportMessage &message : result.messages)
    if (message.level == ImportMessage::Note)
      text += fmt::format("note: {}\n", message.text);
  if (!model.ignored.empty())
    text += fmt::format("not positional, or off, so passed over: {}\n",
                        fmt::join(model.ignored, " "));
  return text;
}

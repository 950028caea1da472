// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What was understood of a config, for programs.
#include "import/Import.h"
#include "import/Json.h"

using namespace torsor;

using OrderedJson = nlohmann::ordered_json;

/// The word before a clause's arguments, or what stands for no clause.
static OrderedJson nameClause(const std::string &text,
                              const OrderedJson &without) {
  return text.empty() ? without : OrderedJson(text.substr(0, text.find('(')));
}

static OrderedJson describeLayer(const ImportedScheme &scheme) {
  OrderedJson out;
  out["scheme"] = scheme.name;
  out["kind"] = scheme.kind;
  out["head"] = scheme.head;
  out["value"] = scheme.value;
  out["value_in_key"] = scheme.valueInKey;
  const std::optional<Rotation> &r = scheme.rotation;
  out["frequencies"] = r ? computeFrequencies(*r) : std::vector<double>();
  out["gain_q"] = r ? r->gain : 1.0;
  out["gain_k"] = r ? r->gain : 1.0;
  out["rotary_width"] = r ? r->turningLanes() : 0;
  out["first_lane"] = r ? OrderedJson(scheme.before) : OrderedJson(nullptr);
  out["layout"] = !r                               ? OrderedJson(nullptr)
                  : r->layout == PairLayout::Split ? OrderedJson("split")
                                                   : OrderedJson("adjacent");
  if (r && r->rule == RopeRule::Proportional)
    out["paired_width"] = r->width;
  if (r)
    out["base"] = r->base;
  if (r && (r->rule == RopeRule::LongRope || r->rule == RopeRule::Dynamic)) {
    out["frequencies_change_beyond"] = r->trained;
    if (r->rule == RopeRule::LongRope) {
      out["frequencies_beyond"] = computeFrequencies(*r, r->trained + 1);
      out["gain_beyond"] = r->longGain;
    } else {
      out["factor"] = r->factor;
    }
  }
  if (r && !r->sections.empty())
    for (int64_t p = 0; p < r->width / 2; ++p)
      out["clocks"].push_back(getAxis(*r, p));
  bool window = scheme.mask == MaskKind::Window;
  out["causal"] = scheme.causal && scheme.mask != MaskKind::All;
  out["window"] =
      !window ? OrderedJson(nullptr)
              : OrderedJson(scheme.causal ? scheme.window
                                          : scheme.left + scheme.right + 1);
  if (window) {
    out["window_left"] = scheme.left;
    out["window_right"] = scheme.right;
  }
  out["chunk"] =
      scheme.chunk ? OrderedJson(scheme.chunk) : OrderedJson(nullptr);
  out["softcap"] =
      scheme.softcap ? OrderedJson(*scheme.softcap) : OrderedJson(nullptr);
  out["sinks"] = scheme.sinks;
  out["scale"] = scheme.scale;
  out["norm"] = nameClause(scheme.norm, nullptr);
  if (scheme.queryGain)
    out["query_gain"] = {{"rate", scheme.queryGain->rate},
                         {"period", scheme.queryGain->period},
                         {"offset", scheme.queryGain->offset}};
  out["bias"] =
      scheme.bias.empty() ? OrderedJson(nullptr) : OrderedJson(scheme.bias);
  out["readout"] = nameClause(scheme.readout, "softmax");
  return out;
}

std::string torsor::describeModelInJson(const ImportResult &result) {
  const ImportedModel &model = result.model;
  OrderedJson out;
  out["model_type"] = model.type;
  out["layers"] = OrderedJson::array();
  std::vector<OrderedJson> described;
  for (const ImportedScheme &scheme : model.schemes)
    described.push_back(describeLayer(scheme));
  for (const ImportedStack &stack : model.stacks)
    for (size_t n = 0; n < stack.layers.size(); ++n)
      for (size_t index : stack.layers[n]) {
        OrderedJson layer = {{"layer", n}, {"stack", stack.name}};
        layer.update(described[index]);
        out["layers"].push_back(std::move(layer));
      }
  out["embeddings"] = OrderedJson::array();
  for (const ImportedEmbedding &embedding : model.embeddings)
    out["embeddings"].push_back({{"name", embedding.name},
                                 {"kind", embedding.kind},
                                 {"rows", embedding.rows},
                                 {"width", embedding.width},
                                 {"offset", embedding.offset}});
  for (const char *key : {"errors", "warnings", "notes"})
    out[key] = OrderedJson::array();
  for (const ImportMessage &message : result.messages)
    out[message.level == ImportMessage::Error     ? "errors"
        : message.level == ImportMessage::Warning ? "warnings"
                                                  : "notes"]
        .push_back(message.text);
  out["ignored"] = model.ignored;
  return out.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

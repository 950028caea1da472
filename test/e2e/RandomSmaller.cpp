// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Simpler neighbours of drawn schemes and shapes: a failing case shrinks by
// them.
#include "test/e2e/RandomScheme.h"

#include <algorithm>

namespace torsor::test {
namespace {

/// The same expression with one node replaced by a part of its type.
void promote(const Expression &e, std::vector<Expression> &out) {
  for (const Expression &part : e.parts)
    if (part.truth == e.truth)
      out.push_back(part);
  for (size_t n = 0; n < e.parts.size(); ++n) {
    std::vector<Expression> inner;
    promote(e.parts[n], inner);
    for (Expression &replacement : inner) {
      Expression changed = e;
      changed.parts[n] = std::move(replacement);
      out.push_back(std::move(changed));
    }
  }
}

} // namespace

std::vector<RandomScheme> smaller(const RandomScheme &scheme) {
  std::vector<RandomScheme> all;
  auto with = [&](auto change) {
    RandomScheme next = scheme;
    change(next);
    if (next.source() != scheme.source() || next.dtype != scheme.dtype ||
        next.f32Reference != scheme.f32Reference)
      all.push_back(next);
  };
  with([](RandomScheme &s) { s.action.clear(); });
  with([](RandomScheme &s) { s.bias.clear(); });
  with([](RandomScheme &s) { s.softcap.clear(); });
  with([](RandomScheme &s) { s.sink.clear(); });
  with([](RandomScheme &s) { s.scale.clear(); });
  with([](RandomScheme &s) { s.norm.clear(); });
  with([](RandomScheme &s) { s.valueAction.clear(); });
  with([](RandomScheme &s) { s.valueBias.clear(); });
  if (scheme.readout.empty())
    with([](RandomScheme &s) { s.logit.clear(); });
  with([](RandomScheme &s) {
    s.readout.clear();
    s.logit.clear();
  });
  with([](RandomScheme &s) { s.f32Reference = false; });
  with([](RandomScheme &s) { s.valueFirst = -1; });
  with([](RandomScheme &s) { s.mask = {"all", true, {}}; });
  if (scheme.mask.print() != "all") // or the two would follow each other
    with([](RandomScheme &s) { s.mask = {"causal", true, {}}; });
  with([](RandomScheme &s) { s.dtype = TORSOR_F32; });
  if (scheme.valueFirst < 0)
    with([](RandomScheme &s) { s.value = 1; });
  if (scheme.action.empty())
    with([](RandomScheme &s) { s.head = 1; });
  std::vector<Expression> masks, terms;
  promote(scheme.mask, masks);
  for (Expression &mask : masks)
    with([&](RandomScheme &s) { s.mask = mask; });
  if (!scheme.bias.empty())
    promote(scheme.bias[0], terms);
  for (Expression &term : terms)
    with([&](RandomScheme &s) { s.bias = {term}; });
  return all;
}

std::vector<ShapeCase> smaller(const ShapeCase &shape) {
  std::vector<ShapeCase> all;
  auto with = [&](auto change) {
    ShapeCase next = shape;
    change(next);
    all.push_back(next);
  };
  if (shape.lengths.size() > 1)
    for (size_t n = 0; n < shape.lengths.size(); ++n)
      with([&](ShapeCase &s) { s.lengths = {shape.lengths[n]}; });
  if (shape.op == TORSOR_STEP)
    with([](ShapeCase &s) { s.op = TORSOR_ATTEND; });
  else if (shape.appended)
    with([](ShapeCase &s) { s.appended = 0; });
  if (shape.special)
    with([](ShapeCase &s) { s.special = false; });
  if (shape.parts)
    with([](ShapeCase &s) { s.parts = 0; });
  if (shape.firstKey)
    with([](ShapeCase &s) { s.firstKey = 0; });
  if (shape.ragged)
    with([](ShapeCase &s) { s.ragged = false; });
  if (shape.layout != Layout::Dense)
    with([](ShapeCase &s) { s.layout = Layout::Dense; });
  if (shape.threads > 1)
    with([](ShapeCase &s) { s.threads = 1; });
  if (shape.heads > 1)
    with([](ShapeCase &s) { s.heads = s.groups = 1; });
  for (size_t n = 0; n < shape.lengths.size(); ++n) {
    auto [queries, keys] = shape.lengths[n];
    if (keys > 1)
      with([&](ShapeCase &s) {
        s.lengths[n] = {std::min(queries, keys / 2), keys / 2};
      });
    if (keys > 1)
      with([&](ShapeCase &s) {
        s.lengths[n] = {std::min(queries, keys - 1), keys - 1};
      });
    if (queries > 1)
      with([&](ShapeCase &s) { s.lengths[n] = {1, keys}; });
  }
  return all;
}

} // namespace torsor::test

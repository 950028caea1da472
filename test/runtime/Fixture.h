// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the tests of the runtime share: handles, random tensors, a direct
// evaluation of the hand-written schemes.
#ifndef TORSOR_TEST_RUNTIME_FIXTURE_H
#define TORSOR_TEST_RUNTIME_FIXTURE_H

#include "test/runtime/Naive.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

// The same tests run on what the compiler makes of the scheme `plain`.
#ifdef TORSOR_TEST_COMPILED
extern "C" const torsor_module torsor_module_plain;
#endif

namespace naive {

#ifdef TORSOR_TEST_COMPILED
inline const torsor_module &tested = torsor_module_plain;
#else
inline const torsor_module &tested = module;
#endif

inline torsor_status expectOk(torsor_status status) {
  EXPECT_EQ(status, TORSOR_OK)
      << torsor_status_name(status) << ": " << torsor_error();
  return status;
}

/// EXPECT_FAILURE(call, TORSOR_NAME, "part of the text", …)
inline void expectFailure(torsor_status status, torsor_status want,
                          std::initializer_list<const char *> parts) {
  EXPECT_STREQ(torsor_status_name(status), torsor_status_name(want))
      << torsor_error();
  for (const char *part : parts)
    EXPECT_NE(std::string(torsor_error()).find(part), std::string::npos)
        << "the text is: " << torsor_error() << "\nit lacks: " << part;
}

/// Handles of one instance of a scheme with H = 4, G = 2 by default.
struct Model {
  torsor_library *library = nullptr;
  torsor_scheme *scheme = nullptr;
  torsor_instance *instance = nullptr;
  int64_t H, G;
  std::vector<float> slope, sink, turn;

  explicit Model(const char *name, int64_t H = 4, int64_t G = 2,
                 const torsor_module &from = tested)
      : H(H), G(G) {
    for (int64_t h = 0; h < H; ++h) {
      slope.push_back(0.5f / float(h + 1));
      sink.push_back(0.25f * float(h) - 0.5f);
    }
    turn = {1.f, 0.5f, 0.1f, 0.01f};
    expectOk(torsor_library_link(&from, nullptr, &library));
    expectOk(torsor_library_find(library, name, TORSOR_ANY, &scheme));
    bool full = std::string(name) == "full";
    auto list = params();
    expectOk(torsor_instance_create(scheme, H, G, list.data(), full ? 3 : 0,
                                    &instance));
  }
  Model(const Model &) = delete;
  ~Model() {
    torsor_instance_destroy(instance);
    torsor_scheme_destroy(scheme);
    torsor_library_destroy(library);
  }
  std::vector<torsor_binding> params() {
    return {{"slope", 0, 0, torsor_array(slope.data(), TORSOR_F32, H, 0, 0)},
            {"sink", 0, 0, torsor_array(sink.data(), TORSOR_F32, H, 0, 0)},
            {"turn", 0, 0, torsor_array(turn.data(), TORSOR_F32, 4, 0, 0)}};
  }
};

/// Random numbers that do not depend on the library's distributions.
class Random {
public:
  explicit Random(uint32_t seed) : engine(seed) {}
  double real() { return double(engine()) / 2147483648.0 - 1; } // [-1, 1)
  int64_t below(int64_t n) { return int64_t(engine() % uint64_t(n)); }
  std::vector<float> floats(int64_t n) {
    std::vector<float> out(size_t(n), 0.f);
    for (float &x : out)
      x = float(real());
    return out;
  }

private:
  std::mt19937 engine;
};

/// q, k, v, o, lse of a call, in the caller's memory, with padding between rows
/// of heads so that no stride is the compact one.
struct Tensors {
  std::vector<float> q, k, v, o, lse;
  torsor_call call = {};

  Tensors(const Model &m, int64_t rows, int64_t queries, int64_t keyRows,
          int64_t keys, uint32_t seed = 1) {
    Random random(seed);
    q = random.floats(rows * queries * m.H * (head + 3) + 1);
    k = random.floats(keyRows * keys * m.G * head + 1);
    v = random.floats(keyRows * keys * m.G * value + 1);
    o.assign(size_t(rows * queries * m.H * value + 1), 7.f);
    lse.assign(size_t(rows * queries * m.H + 1), 7.f);
    call.size = sizeof call;
    call.q = torsor_dense(q.data(), TORSOR_F32, rows, m.H, queries, head + 3);
    call.q.shape[3] = head;
    call.k = torsor_token_major(k.data(), TORSOR_F32, keyRows, keys, m.G, head);
    call.v =
        torsor_token_major(v.data(), TORSOR_F32, keyRows, keys, m.G, value);
    call.o =
        torsor_token_major(o.data(), TORSOR_F32, rows, queries, m.H, value);
    call.lse = torsor_array(lse.data(), TORSOR_F32, rows, m.H, queries);
  }
};

/// A token as the host means it.
struct TokenFacts {
  int64_t row, place; // in its tensor
  int64_t index;
  double pos;
  int32_t doc;
};

inline const float *elementAt(const torsor_tensor &t, int64_t row, int64_t h,
                              int64_t token) {
  return static_cast<const float *>(t.data) + row * t.strides[0] +
         h * t.strides[1] + token * t.strides[2];
}

/// Output and LSE of one row, straight from the definition in f64.
struct Row {
  double o[value] = {}, lse = -INFINITY;
};

inline std::vector<double> turned(const float *x, const Model &m, bool full,
                                  double pos) {
  std::vector<double> y(x, x + head);
  for (int64_t p = 0; full && p < head / 2; ++p) {
    double angle = pos * m.turn[size_t(p)];
    double a = y[size_t(2 * p)], b = y[size_t(2 * p + 1)];
    y[size_t(2 * p)] = a * std::cos(angle) - b * std::sin(angle);
    y[size_t(2 * p + 1)] = a * std::sin(angle) + b * std::cos(angle);
  }
  return y;
}

inline Row direct(const Model &m, bool full, const torsor_call &c, int64_t h,
                  const TokenFacts &query, const std::vector<TokenFacts> &keys,
                  double gain = 1, double bonus = 0, bool sink = true) {
  Row row;
  std::vector<double> logits;
  double total = 0;
  std::vector<double> x =
      turned(elementAt(c.q, query.row, h, query.place), m, full, query.pos);
  for (const TokenFacts &key : keys) {
    bool seen = query.index >= 0 && key.index >= 0 &&
                key.index <= query.index && (!full || key.doc == query.doc);
    double z = -INFINITY;
    if (seen) {
      std::vector<double> y =
          turned(elementAt(c.k, key.row, h / (m.H / m.G), key.place), m, full,
                 key.pos);
      z = 0;
      for (size_t d = 0; d < size_t(head); ++d)
        z += x[d] * y[d];
      z /= std::sqrt(8.0);
      if (full)
        z = gain * (z - m.slope[size_t(h)] * (query.pos - key.pos)) + bonus;
      total += std::exp(z);
    }
    logits.push_back(z);
  }
  if (total == 0)
    return row;
  if (full && sink)
    total += std::exp(m.sink[size_t(h)]);
  row.lse = std::log(total);
  for (size_t n = 0; n < keys.size(); ++n)
    for (int64_t d = 0; d < value; ++d)
      row.o[d] +=
          std::exp(logits[n]) / total *
          elementAt(c.v, keys[n].row, h / (m.H / m.G), keys[n].place)[d];
  return row;
}

/// Inputs and weights are below 1. Where kernels compute in f64, roundings to
/// f32 are left: of o, of lse (below 16), and of cached keys, each of which
/// moves a logit by less than 8 * 2^-24. Where they compute in f32, a logit
/// (below 3) is a sum of 8 products, and its weight comes from exp2 to 2^-22.
constexpr double tolerance = 4e-6;

inline void expectRow(const torsor_call &c, int64_t row, int64_t h,
                      int64_t place, const Row &want) {
  for (int64_t d = 0; d < value; ++d)
    EXPECT_NEAR(elementAt(c.o, row, h, place)[d], want.o[d], tolerance)
        << "row " << row << " head " << h << " token " << place;
  if (!c.lse.data)
    return;
  float lse = *elementAt(c.lse, row, h, place);
  if (want.lse == -INFINITY)
    EXPECT_EQ(lse, -INFINITY);
  else
    EXPECT_NEAR(lse, want.lse, tolerance)
        << "row " << row << " head " << h << " token " << place;
}

/// The tokens of a run with indices first, first + 1, …
inline std::vector<TokenFacts> run(int64_t row, int64_t start, int64_t length,
                                   int64_t first) {
  std::vector<TokenFacts> out;
  for (int64_t n = 0; n < length; ++n)
    out.push_back({row, start + n, first + n, double(first + n), 0});
  return out;
}

} // namespace naive

#endif // TORSOR_TEST_RUNTIME_FIXTURE_H

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A compiled scheme with made-up data of a given size, ready to be timed.
#ifndef TORSOR_TOOLS_TORSOR_BENCHDATA_H
#define TORSOR_TOOLS_TORSOR_BENCHDATA_H

#include "tools/support/Npy.h"

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace torsor {

class SchemeOp;

struct BenchShape {
  int64_t heads = 8, groups = 2, batch = 1, queries = 2048, keys = 2048;
  int64_t head = 0, value = 0, threads = 1;
  torsor_dtype dtype = TORSOR_F32;
  bool decode = false;
  /// Integers given by token are its number divided by this; 0: they are 0.
  int64_t segment = 0;
  /// Decode: keys of a page of the cache; 0: contiguous rows.
  int64_t page = 0;
};

/// One call, set up once. All functions throw a Failure.
class BenchCall {
public:
  /// The library holds one scheme.
  BenchCall(torsor_library *library, const BenchShape &shape);
  ~BenchCall();
  BenchCall(const BenchCall &) = delete;
  BenchCall &operator=(const BenchCall &) = delete;

  void run();
  /// The call in pieces of about `pieceSeconds` for one thread, in order, where
  /// the whole takes `seconds`.
  std::vector<std::function<void()>> cut(double seconds, double pieceSeconds);
  /// Largest error of o against the reference, at some tokens of each sequence
  /// from the first to the last. Runs the call.
  double measureError(SchemeOp scheme);
  const torsor_executor &getPool() const { return pool; }
  const std::string &getVariant() const { return variant; }
  const float *getQ() const { return q.as<float>(); }

private:
  BenchShape shape;
  Array q, k, v, o;
  torsor_scheme *scheme = nullptr;
  torsor_instance *instance = nullptr;
  torsor_cache *cache = nullptr;
  torsor_plan *plan = nullptr;
  torsor_executor pool = {};
  std::string variant;
  std::deque<Array> arrays;
  std::deque<std::string> names;
  std::vector<torsor_binding> params, inputs, keyInputs;
  /// Every argument on both sides, also what a cache keeps.
  std::vector<torsor_binding> everyInput;
  std::vector<torsor_sequence> sequences;
  std::vector<int32_t> pages;
  torsor_batch batch = {};
  torsor_call call = {};

  void makeArguments();
  torsor_tensor makeArgument(const torsor_argument &argument, int64_t tokens);
  void makePages();
  void fillCache();
  /// Whether a cache can hold values of this name beside its keys.
  bool isStream(std::string_view name) const;
};

} // namespace torsor

#endif // TORSOR_TOOLS_TORSOR_BENCHDATA_H

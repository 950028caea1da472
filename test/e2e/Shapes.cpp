// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lengths, groups, layouts and ways of calling.
#include "test/e2e/Schemes.h"

#include <algorithm>

namespace torsor::test {

std::vector<ShapeCase> shapeCases() {
  using L = Layout;
  return {
      {"one", 1, 1, {{1, 1}}},
      {"two", 2, 1, {{2, 2}}},
      {"no_queries", 2, 2, {{0, 5}}},
      {"no_keys", 2, 1, {{3, 0}}},
      {"odd", 3, 3, {{7, 7}}, L::Padded},
      {"prime", 4, 2, {{97, 97}}, L::TokenMajor},
      {"tile_less_one", 2, 1, {{95, 255}}, L::Dense, false, 0, TORSOR_PREFILL},
      {"tile", 2, 2, {{96, 256}}, L::Dense, false, 0, TORSOR_PREFILL},
      {"tile_and_one", 2, 1, {{97, 257}}, L::Padded, false, 0, TORSOR_PREFILL},
      {"register_rows", 1, 1, {{17, 33}}, L::Dense, false, 0, TORSOR_PREFILL},
      {"long", 2, 1, {{601, 601}}, L::Dense, false, 0, TORSOR_PREFILL, 2},
      {"more_queries_than_keys", 2, 1, {{40, 9}}, L::Padded},
      // Blocks of rows pack the tiles of the first ones themselves.
      {"few_queries", 8, 2, {{12, 600}}, L::Dense, false, 0, TORSOR_PREFILL, 2},
      {"rows_of_a_block",
       4,
       2,
       {{96, 300}, {97, 300}, {20, 530}, {72, 90}, {73, 260}},
       L::TokenMajor,
       false,
       0,
       TORSOR_PREFILL,
       3},
      {"few_ragged",
       2,
       1,
       {{5, 300}, {0, 0}, {40, 40}, {30, 257}},
       L::Padded,
       true,
       3,
       TORSOR_PREFILL,
       2},
      {"decode", 8, 2, {{1, 300}}, L::Dense, false, 0, TORSOR_DECODE},
      {"decode_two",
       4,
       1,
       {{2, 1025}},
       L::TokenMajor,
       false,
       0,
       TORSOR_DECODE,
       2},
      {"decode_batch",
       6,
       3,
       {{1, 17}, {1, 600}, {1, 1}},
       L::Padded,
       false,
       0,
       TORSOR_DECODE,
       2},
      {"decode_far", 2, 1, {{1, 150}}, L::Dense, false, 1000000, TORSOR_DECODE},
      {"padded_batch",
       2,
       2,
       {{33, 33}, {5, 70}, {64, 64}},
       L::Dense,
       false,
       0,
       TORSOR_ATTEND,
       2},
      {"ragged_batch",
       4,
       2,
       {{31, 31}, {0, 0}, {1, 129}, {50, 50}},
       L::Padded,
       true,
       0,
       TORSOR_ATTEND,
       2},
      {"far_away", 2, 1, {{20, 45}}, L::Dense, false, 1000000},
      {"cached", 4, 2, {{3, 70}}, L::Dense, false, 0, TORSOR_ATTEND, 1, 64},
      {"cached_one_by_one",
       2,
       1,
       {{1, 9}, {2, 5}},
       L::Padded,
       false,
       0,
       TORSOR_ATTEND,
       1,
       1},
      {"cached_prefill",
       2,
       2,
       {{40, 90}},
       L::Dense,
       false,
       7,
       TORSOR_PREFILL,
       1,
       50},
      {"cached_few",
       6,
       3,
       {{9, 540}},
       L::Padded,
       false,
       0,
       TORSOR_PREFILL,
       2,
       500},
  };
}

Problem makeCall(const ShapeCase &shape, int64_t head, int64_t value,
                 Random &random) {
  Problem problem;
  problem.heads = shape.heads;
  problem.groups = shape.groups;
  int64_t queries = 0, keys = 0, rows = int64_t(shape.lengths.size());
  for (auto [q, k] : shape.lengths) {
    SequenceRun run;
    run.queryLength = q;
    run.keyLength = k;
    if (shape.ragged) {
      run.queryStart = queries;
      run.keyStart = keys;
      queries += q;
      keys += k;
    } else {
      run.queryRow = run.keyRow = int64_t(problem.sequences.size());
      queries = std::max(queries, q);
      keys = std::max(keys, k);
    }
    if (shape.firstKey) {
      run.placed = true;
      run.keyIndex = shape.firstKey;
      run.queryIndex = std::max<int64_t>(0, shape.firstKey + k - q);
      run.total = shape.firstKey + k;
    }
    problem.sequences.push_back(run);
  }
  if (shape.ragged)
    rows = 1;
  auto draw = [&](int64_t heads, int64_t tokens, int64_t width) {
    std::vector<double> data(rows * heads * tokens * width);
    for (double &x : data)
      x = random.uniform();
    return HostArray::of({rows, heads, tokens, width}, std::move(data));
  };
  problem.q = draw(shape.heads, queries, head);
  problem.k = draw(shape.groups, keys, head);
  problem.v = draw(shape.groups, keys, value);
  return problem;
}

void addPerToken(
    Problem &problem, const char *name, std::vector<int64_t> extents,
    bool integers,
    const std::function<double(int64_t row, int64_t token)> &draw) {
  int64_t inner = 1;
  for (int64_t extent : extents)
    inner *= extent;
  auto shape = [&](const HostArray &like) {
    std::vector<int64_t> result = {like.shape[0], like.shape[2]};
    result.insert(result.end(), extents.begin(), extents.end());
    return result;
  };
  std::vector<int64_t> keyShape = shape(problem.k),
                       queryShape = shape(problem.q);
  std::vector<double> keys(keyShape[0] * keyShape[1] * inner, 0.0);
  std::vector<double> queries(queryShape[0] * queryShape[1] * inner, 0.0);
  for (const SequenceRun &run : problem.sequences) {
    // Tokens count from the first key; queries before it (more queries than
    // keys) are drawn first.
    int64_t before = std::max<int64_t>(0, run.queryLength - run.keyLength);
    for (int64_t token = -before; token < run.keyLength; ++token) {
      int64_t query = token - (run.keyLength - run.queryLength);
      for (int64_t c = 0; c < inner; ++c) {
        double x = draw(run.keyRow, token + before);
        if (token >= 0)
          keys[((run.keyRow * keyShape[1]) + run.keyStart + token) * inner +
               c] = x;
        if (query >= 0)
          queries[((run.queryRow * queryShape[1]) + run.queryStart + query) *
                      inner +
                  c] = x;
      }
    }
  }
  NamedArray array;
  array.name = name;
  auto make = [&](const std::vector<int64_t> &shape,
                  const std::vector<double> &data) {
    return integers ? HostArray::of(
                          shape, std::vector<int64_t>(data.begin(), data.end()))
                    : HostArray::of(shape, data);
  };
  array.query = make(queryShape, queries);
  array.key = make(keyShape, keys);
  problem.arguments.push_back(std::move(array));
}

void addPositionsWithGaps(Problem &problem) {
  addPerToken(problem, "pos", {}, true, [](int64_t row, int64_t token) {
    return double(2 * token + token % 3 + row);
  });
}

} // namespace torsor::test

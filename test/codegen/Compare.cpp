// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Running a kernel on random data and comparing with the naive computation.
#include "Compare.h"

namespace torsor::test {

double toleranceOf(torsor_dtype dtype) {
  return dtype == TORSOR_F32 ? 4e-6 : dtype == TORSOR_F16 ? 1e-3 : 8e-3;
}

Arrays compare(const Loaded &code, torsor_op op, const NaiveScheme &naive,
               Shape shape, torsor_dtype dtype,
               std::function<void(Arrays &)> change) {
  bool major = shape.tokenMajor;
  Arrays a = {Array(dtype, 1, shape.heads, shape.queries, naive.head, major),
              Array(dtype, 1, shape.groups, shape.keys, naive.head, major),
              Array(dtype, 1, shape.groups, shape.keys, naive.value, major),
              Array(dtype, 1, shape.heads, shape.queries, naive.value, major),
              std::vector<float>(size_t(shape.heads * shape.queries), 77.0f)};
  a.q.fillNormal(1);
  a.k.fillNormal(2);
  a.v.fillNormal(3);
  CallData call(code, shape.heads, shape.groups);
  a.call = &call;
  torsor_sequence sequence = {};
  sequence.query_length = shape.queries;
  sequence.key_length = shape.keys;
  sequence.key_index = shape.keyIndex;
  sequence.query_index = shape.queryIndex >= 0 || shape.queryIndex < -1
                             ? shape.queryIndex
                             : shape.keyIndex + shape.keys - shape.queries;
  sequence.total = shape.keyIndex + shape.keys;
  sequence.flags = TORSOR_PLACED;
  if (change)
    change(a);
  call.add(sequence);
  call.tensor(TORSOR_AT_Q) = a.q.view();
  call.tensor(TORSOR_AT_K) = a.k.view();
  torsor_tensor v = a.v.view();
  Memory shifted(size_t(shape.groups * shape.keys * naive.value + 16) * 4);
  if (shape.valueShift >= 0) {
    auto *to = static_cast<float *>(shifted.data()) + shape.valueShift;
    std::copy_n(static_cast<const float *>(v.data),
                shape.groups * shape.keys * naive.value, to);
    v.data = to;
  }
  call.tensor(TORSOR_AT_V) = v;
  call.tensor(TORSOR_AT_O) = a.o.view();
  call.tensor(TORSOR_AT_LSE) =
      torsor_array(a.lse.data(), TORSOR_F32, 1, shape.heads, shape.queries);
  call.run(code.operation(op), shape.pieces);
  double bound = toleranceOf(dtype);
  for (int64_t h = 0; h < shape.heads; ++h)
    for (int64_t i = 0; i < shape.queries; ++i) {
      NaiveRow row = naiveRow(naive, a.q, a.k, a.v, sequence, i, h,
                              shape.heads / shape.groups,
                              call.args.flags & TORSOR_KEYS_ACTED);
      double lse = a.lse[size_t(h * shape.queries + i)];
      auto where = [&] {
        return testing::Message()
               << "head " << h << " query " << i << " of " << shape.queries
               << " against " << shape.keys << " keys";
      };
      if (std::isfinite(row.lse))
        EXPECT_NEAR(lse, row.lse, 4e-6 * (1 + std::fabs(row.lse))) << where();
      else if (std::isnan(row.lse))
        EXPECT_TRUE(std::isnan(lse)) << where();
      else
        EXPECT_EQ(lse, row.lse) << where();
      for (int64_t d = 0; d < naive.value; ++d) {
        double got = a.o.get(0, h, i, d), want = row.o[size_t(d)];
        if (std::isfinite(want))
          EXPECT_NEAR(got, want, bound * (1 + std::fabs(want)))
              << where() << " lane " << d;
        else
          EXPECT_FALSE(std::isfinite(got)) << where() << " lane " << d;
        if (testing::Test::HasFailure())
          return a;
      }
    }
  return a;
}

} // namespace torsor::test

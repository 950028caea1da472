// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instances, the values of params, DLPack.

#include "test/runtime/Square.h"

#include <clocale>
#include <cstring>

using namespace naive;

namespace {

struct Binding : testing::Test {
  Model m{"full"};
  std::vector<torsor_binding> params = m.params();
  torsor_instance *out = nullptr;

  torsor_status create(int64_t heads = 4, int64_t groups = 2) {
    torsor_instance_destroy(out);
    return torsor_instance_create(m.scheme, heads, groups, params.data(),
                                  int64_t(params.size()), &out);
  }
  ~Binding() override { torsor_instance_destroy(out); }
};

TEST_F(Binding, NamesAndShapes) {
  expectOk(create());
  expectFailure(create(4, 3), TORSOR_INVALID, {"H is 4 and G is 3"});
  expectFailure(create(0, 0), TORSOR_INVALID, {"H is 0"});
  expectFailure(
      create(6, 2), TORSOR_SHAPE,
      {"instance: slope: the extent of axis 0 is 4, but it must be 6, as H"});
  params.push_back(params[0]);
  expectFailure(create(), TORSOR_NAME, {"param 'slope' is given twice"});
  params.pop_back();
  params[0].name = "slopes";
  expectFailure(create(), TORSOR_NAME,
                {"scheme 'full' has no param 'slopes'; did you mean 'slope'?"});
  params[0].name = "temperature";
  expectFailure(create(), TORSOR_NAME, {"there are 'slope', 'sink', 'turn'"});
  params[0].name = "doc";
  expectFailure(create(), TORSOR_NAME, {"'doc' is an input of 'full'"});
  params.erase(params.begin());
  expectFailure(create(), TORSOR_NAME,
                {"param 'slope' of scheme 'full' is missing"});
  EXPECT_EQ(out, nullptr);
  params = m.params();
  params[2].tensor.data = nullptr;
  expectFailure(create(), TORSOR_NAME, {"param 'turn'"});
  params = m.params();
  params[1].tensor.dtype = TORSOR_F64;
  expectFailure(create(), TORSOR_DTYPE, {"sink is f64, but it must be f32"});
  params = m.params();
  params[1].side = TORSOR_KEY;
  expectFailure(create(), TORSOR_INVALID, {"side and reserved must be 0"});
}

TEST_F(Binding, DeclaredRanges) {
  m.slope[3] = 1.5f;
  expectFailure(create(), TORSOR_VALUE,
                {"instance: param 'slope': element [3] is 1.5, but its range "
                 "is 0 .. 1"});
  m.slope[3] = std::numeric_limits<float>::quiet_NaN();
  expectFailure(create(), TORSOR_VALUE, {"element [3] is nan"});
  // A host with another decimal point reads the same text.
  m.slope[3] = 1.5f;
  const char *found = nullptr;
  for (const char *name : {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8"})
    found = found ? found : std::setlocale(LC_NUMERIC, name);
  expectFailure(create(), TORSOR_VALUE, {"is 1.5, but"});
  std::setlocale(LC_NUMERIC, "C");
}

TEST(Condition, Orthogonal) {
  Square s(12, 1);
  for (int64_t i = 0; i + 1 < 12; ++i)
    s.rotate(i, (i * 5 + 1) % 12 == i ? i + 1 : (i * 5 + 1) % 12,
             0.3 + double(i));
  expectOk(s.create());
  s.values[size_t(12 * 12 + 5)] += 1e-9;
  expectFailure(s.create(), TORSOR_VALUE,
                {"param 'P'[1] is declared orthogonal, but columns"});
  s.values[3] = INFINITY;
  expectFailure(s.create(), TORSOR_VALUE,
                {"param 'P'[0] has an element that is not finite"});
}

TEST(Condition, Bound) {
  for (int64_t n : {1, 2, 3, 9, 40}) {
    Square s(n, 100);
    // singular values from 1 down to 1/99.9, mixed by rotations on both sides
    for (int64_t i = 0; i < n; ++i)
      s.values[size_t((n + i) * n + i)] =
          std::pow(99.9, -double(i) / double(n > 1 ? n - 1 : 1));
    for (int64_t i = 0; i + 1 < n; ++i)
      s.rotate(i, i + 1, 0.7);
    expectOk(s.create());
    if (n == 1)
      continue; // one number is always perfectly conditioned, unless 0
    for (int64_t k = 0; k < n; ++k) // the least singular value below the bound
      s.values[size_t((n + k) * n + n - 1)] *= 0.99;
    expectFailure(s.create(), TORSOR_VALUE,
                  {"param 'P'[1] has the condition number 100.",
                   "but at most 100 is declared"});
    for (int64_t k = 0; k < n; ++k)
      s.values[size_t((n + k) * n + n - 1)] = 0;
    expectFailure(s.create(), TORSOR_VALUE, {"the condition number inf"});
  }
}

TEST(Dlpack, Converts) {
  float data[64];
  int64_t shape[3] = {2, 3, 4}, strides[3] = {20, -5, 1};
  DLTensor t = {};
  t.data = data, t.device = {kDLCPU, 0}, t.ndim = 3;
  t.dtype = {kDLFloat, 32, 1};
  t.shape = shape, t.strides = strides, t.byte_offset = 40;
  torsor_tensor out;
  expectOk(torsor_from_dlpack(&t, &out));
  EXPECT_EQ(out.data, data + 10);
  EXPECT_EQ(out.rank, 3);
  EXPECT_EQ(out.dtype, TORSOR_F32);
  EXPECT_EQ(out.strides[1], -5);
  t.strides = nullptr;
  expectOk(torsor_from_dlpack(&t, &out));
  EXPECT_EQ(out.strides[0], 12);
  EXPECT_EQ(out.strides[2], 1);
  const struct {
    DLDataType type;
    int32_t want;
  } types[] = {
      {{kDLBfloat, 16, 1}, TORSOR_BF16}, {{kDLFloat, 16, 1}, TORSOR_F16},
      {{kDLInt, 64, 1}, TORSOR_I64},     {{kDLUInt, 8, 1}, TORSOR_U8},
      {{6, 8, 1}, TORSOR_BOOL},          {{10, 8, 1}, TORSOR_F8E4M3}};
  for (const auto &row : types) {
    t.dtype = row.type;
    expectOk(torsor_from_dlpack(&t, &out));
    EXPECT_EQ(out.dtype, row.want);
  }
  t.device = {kDLCUDA, 3};
  expectOk(torsor_from_dlpack(&t, &out));
  EXPECT_EQ(out.device, TORSOR_CUDA);
  EXPECT_EQ(out.device_id, 3);
  t.dtype = {kDLFloat, 32, 4};
  expectFailure(torsor_from_dlpack(&t, &out), TORSOR_DTYPE, {"4 lanes"});
  t.dtype = {kDLComplex, 64, 1};
  expectFailure(torsor_from_dlpack(&t, &out), TORSOR_DTYPE, {"code 5"});
  EXPECT_EQ(out.rank, 0);
  t.dtype = {kDLFloat, 32, 1}, t.device = {kDLMetal, 0};
  expectFailure(torsor_from_dlpack(&t, &out), TORSOR_DTYPE, {"device of type"});
  t.device = {kDLCPU, 0}, t.ndim = 7;
  expectFailure(torsor_from_dlpack(&t, &out), TORSOR_SHAPE, {"rank 7"});
  expectFailure(torsor_from_dlpack(nullptr, &out), TORSOR_INVALID,
                {"the tensor is null"});
}

/// Ranges are checked on every type of element.
TEST(Values, ElementTypes) {
  const uint16_t bf16[2] = {0x3f80, 0xc040}; // 1, -3
  const uint16_t f16[2] = {0x3c00, 0xc200};  // 1, -3
  const uint8_t e4m3[2] = {0x38, 0xc4};      // 1, -3
  const uint8_t e5m2[2] = {0x3c, 0xc2};      // 1, -3
  const double f64[2] = {1, -3};
  const int64_t i64[2] = {1, -3};
  const int8_t i8[2] = {1, -3};
  const struct {
    int32_t dtype;
    const void *data;
  } rows[] = {{TORSOR_BF16, bf16},   {TORSOR_F16, f16}, {TORSOR_F64, f64},
              {TORSOR_F8E4M3, e4m3}, {TORSOR_I64, i64}, {TORSOR_I8, i8},
              {TORSOR_F8E5M2, e5m2}};
  for (const auto &row : rows) {
    torsor_field field = full.arguments[Slope];
    field.dtype = row.dtype, field.low = -3.5, field.high = 1;
    field.shape[0] = 2, field.condition = 0;
    torsor_variant variant = plain.variants[1];
    torsor_descriptor d = plain;
    d.arguments = &field, d.argument_count = 1;
    d.variants = &variant, d.variant_count = 1;
    const torsor_descriptor *list[] = {&d};
    torsor_module other = module;
    other.schemes = list, other.scheme_count = 1, other.layers = 0;
    for (bool good : {true, false}) {
      field.low = good ? -3 : -2.5;
      torsor_library *library;
      torsor_scheme *scheme;
      torsor_instance *instance;
      expectOk(torsor_library_link(&other, nullptr, &library));
      expectOk(torsor_library_at(library, 0, &scheme));
      torsor_binding p = {"slope", 0, 0, {}};
      p.tensor = torsor_array(const_cast<void *>(row.data),
                              torsor_dtype(row.dtype), 2, 0, 0);
      torsor_status status =
          torsor_instance_create(scheme, 2, 1, &p, 1, &instance);
      if (good)
        expectOk(status);
      else
        expectFailure(status, TORSOR_VALUE,
                      {"element [1] is -3, but its range is -2.5 .. 1"});
      torsor_instance_destroy(instance);
      torsor_scheme_destroy(scheme);
      torsor_library_destroy(library);
    }
  }
}

} // namespace

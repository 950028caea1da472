// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instances, the values of params, contracts, caches' errors, DLPack.

#include "test/runtime/Fixture.h"

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

/// A scheme with a square param in the last two axes, as a stack of two.
struct Square {
  torsor_field field = full.arguments[Turn];
  torsor_variant variant = plain.variants[1];
  torsor_descriptor d = plain;
  const torsor_descriptor *list[1] = {&d};
  torsor_module module = naive::module;
  torsor_library *library = nullptr;
  torsor_scheme *scheme = nullptr;
  int64_t n;
  std::vector<double> values;

  Square(int64_t n, double condition) : n(n) {
    field.name = "P", field.dtype = TORSOR_F64, field.condition = condition;
    field.rank = 3, field.shape[0] = 2, field.shape[1] = field.shape[2] = n;
    d.arguments = &field, d.argument_count = 1;
    d.variants = &variant, d.variant_count = 1;
    d.contract = "basis columns $P";
    module.schemes = list, module.scheme_count = 1, module.layers = 0;
    expectOk(torsor_library_link(&module, nullptr, &library));
    expectOk(torsor_library_at(library, 0, &scheme));
    values.assign(size_t(2 * n * n), 0);
    for (int64_t p = 0; p < 2; ++p)
      for (int64_t i = 0; i < n; ++i)
        values[size_t((p * n + i) * n + i)] = 1;
  }
  ~Square() {
    torsor_scheme_destroy(scheme);
    torsor_library_destroy(library);
  }
  torsor_status create() {
    torsor_binding p = {"P", 0, 0, {}};
    p.tensor = torsor_array(values.data(), TORSOR_F64, 2, n, n);
    torsor_instance *instance;
    torsor_status status =
        torsor_instance_create(scheme, 2, 1, &p, 1, &instance);
    torsor_instance_destroy(instance);
    return status;
  }
  /// Turns rows i and j of the second matrix: orthogonal stays orthogonal.
  void rotate(int64_t i, int64_t j, double angle) {
    double *a = &values[size_t((n + i) * n)], *b = &values[size_t((n + j) * n)];
    for (int64_t k = 0; k < n; ++k) {
      double x = a[k], y = b[k];
      a[k] = x * std::cos(angle) - y * std::sin(angle);
      b[k] = x * std::sin(angle) + y * std::cos(angle);
    }
  }
};

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

std::string textOf(const torsor_instance *instance) {
  return torsor_contract_text(torsor_instance_contract(instance));
}

TEST(Contract, IsTheStructureWithDigests) {
  Model m("full"), g("full", 4, 4), plain("plain");
  std::string text = textOf(m.instance);
  EXPECT_EQ(text.rfind("contract 1 groups 2 head 8 value 4 keys acted f32 f32 "
                       "action adjacent(rotation($turn:",
                       0),
            0u)
      << text;
  EXPECT_EQ(text.size(), text.find("$turn:") + 6 + 32 + 2); // digest and ))
  EXPECT_NE(textOf(g.instance), text);                      // G belongs to it
  EXPECT_EQ(textOf(plain.instance),
            "contract 1 groups 2 head 8 value 4 keys raw f32 f32");
  torsor_contract *read;
  expectOk(torsor_contract_parse(text.c_str(), &read));
  EXPECT_EQ(torsor_contract_fingerprint(read),
            torsor_contract_fingerprint(torsor_instance_contract(m.instance)));
  expectOk(torsor_contract_compare(read, torsor_instance_contract(m.instance)));
  torsor_contract_destroy(read);
}

/// The digest is of the values, however they lie.
TEST(Contract, DigestOfAStridedParam) {
  Square a(3, 0), b(3, 0);
  for (size_t n = 0; n < a.values.size(); ++n)
    a.values[n] = double(n);
  torsor_binding p = {"P", 0, 0,
                      torsor_array(a.values.data(), TORSOR_F64, 2, 3, 3)};
  torsor_instance *one, *two;
  expectOk(torsor_instance_create(a.scheme, 2, 1, &p, 1, &one));
  std::vector<double> spread(40, -1);
  for (size_t n = 0; n < 18; ++n)
    spread[n / 9 * 20 + n % 9 / 3 * 5 + n % 3] = double(n);
  p.tensor.data = spread.data();
  p.tensor.strides[0] = 20, p.tensor.strides[1] = 5;
  expectOk(torsor_instance_create(b.scheme, 2, 1, &p, 1, &two));
  EXPECT_EQ(textOf(one), textOf(two));
  torsor_instance_destroy(two);
  spread[6] += 1e-9;
  expectOk(torsor_instance_create(b.scheme, 2, 1, &p, 1, &two));
  EXPECT_NE(textOf(one), textOf(two));
  torsor_instance_destroy(one), torsor_instance_destroy(two);
}

torsor_status compare(const char *x, const char *y) {
  torsor_contract *a, *b;
  expectOk(torsor_contract_parse(x, &a));
  expectOk(torsor_contract_parse(y, &b));
  torsor_status status = torsor_contract_compare(a, b);
  torsor_contract_destroy(a), torsor_contract_destroy(b);
  return status;
}

TEST(Contract, RealsAgreeToFortyBits) {
  const char *base = "contract 1 groups 2 action split(rotation([1.0, 0.1]))";
  expectOk(compare(base, "contract 1  groups 2\naction split( rotation ( [1.0 ,"
                         " 0.1] ) )"));
  expectOk(compare(base, "contract 1 groups 2 action split(rotation([1.0, "
                         "0.10000000000005]))")); // 5e-13 < 2^-40
  expectFailure(compare(base, "contract 1 groups 2 action split(rotation([1.0, "
                              "0.1000000000002]))"), // 2e-12
                TORSOR_CONTRACT,
                {"first '0.1' against '0.1000000000002'",
                 "a has:\n  contract 1 groups 2", "b has:\n  contract 1"});
  expectOk(
      compare("contract 1 groups 2 x 1e-3", "contract 1 groups 2 x 0.001"));
  expectOk(compare("contract 1 groups 2 x 12.5e+30",
                   "contract 1 groups 2 x 1.25e31"));
  EXPECT_EQ(compare("contract 1 groups 2 x -0.5", "contract 1 groups 2 x 0.5"),
            TORSOR_CONTRACT);
  EXPECT_EQ(compare("contract 1 groups 2 x 3", "contract 1 groups 2 x 3.0"),
            TORSOR_CONTRACT); // an integer is structure
  EXPECT_EQ(compare("contract 1 groups 2 x", "contract 1 groups 2 x y"),
            TORSOR_CONTRACT);
  EXPECT_EQ(
      compare("contract 1 groups 2 x 0.0", "contract 1 groups 2 x 1e-300"),
      TORSOR_CONTRACT);
  EXPECT_EQ(compare("contract 1 groups 2 x", "contract 1 groups 4 x"),
            TORSOR_CONTRACT);
}

TEST(Contract, TextsThatAreNone) {
  const struct {
    const char *text, *says;
  } wrong[] = {
      {"", "must begin with 'contract'"},
      {"contract 2 groups 2 x", "is no version of contracts"},
      {"contract 1 group 2 x", "'groups' must stand here"},
      {"contract 1 groups 0 x", "the number of groups must stand here"},
      {"contract 1 groups 2", "the contract ends after its groups"},
      {"contract 1 groups 2 f(x", "a bracket is not closed"},
      {"contract 1 groups 2 f(x]", "byte 23 (']'): this bracket was not"},
      {"contract 1 groups 2 $w", "must stand with its digest"},
      {"contract 1 groups 2 $w:12", "must stand with its digest"},
      {"contract 1 groups 2 \x01", "is no character of a contract"},
      {"contract 1 groups 2 \xc3\xa4", "is no character of a contract"},
  };
  torsor_contract *out;
  for (const auto &w : wrong) {
    expectFailure(torsor_contract_parse(w.text, &out), TORSOR_INVALID,
                  {w.says});
    EXPECT_EQ(out, nullptr);
  }
  std::string deep = "contract 1 groups 2 " + std::string(100000, '(');
  expectFailure(torsor_contract_parse(deep.c_str(), &out), TORSOR_INVALID,
                {"brackets are nested too deep"});
  expectFailure(torsor_contract_parse(nullptr, &out), TORSOR_INVALID,
                {"text is null"});
}

struct CacheErrors : testing::Test {
  Model m{"full"};
  std::vector<float> k = std::vector<float>(2 * 2 * 9 * head);
  std::vector<float> v = std::vector<float>(2 * 2 * 9 * value);
  torsor_cache_options options = {};
  torsor_cache *out = nullptr;
  void SetUp() override {
    options.size = sizeof options;
    options.k = torsor_dense(k.data(), TORSOR_F32, 2, 2, 9, head);
    options.v = torsor_dense(v.data(), TORSOR_F32, 2, 2, 9, value);
  }
  void fails(torsor_status want, std::initializer_list<const char *> parts) {
    expectFailure(torsor_cache_create(m.instance, &options, &out), want, parts);
    EXPECT_EQ(out, nullptr);
  }
};

TEST_F(CacheErrors, Storage) {
  expectOk(torsor_cache_create(m.instance, &options, &out));
  torsor_cache_destroy(out);
  torsor_cache_options good = options;
  options.layout = TORSOR_PAGED;
  fails(TORSOR_UNSUPPORTED, {"paged storage is not in this version"});
  options.layout = TORSOR_RING;
  fails(TORSOR_UNSUPPORTED, {"ring storage"});
  options.layout = TORSOR_STATE;
  fails(TORSOR_UNSUPPORTED, {"state storage"});
  options.layout = 9;
  fails(TORSOR_INVALID, {"9 is no layout"});
  options = good, options.device = TORSOR_CUDA;
  fails(TORSOR_UNSUPPORTED, {"memory of device 1"});
  options = good, options.pinned = 4;
  fails(TORSOR_INVALID, {"pinned is 4, but only a ring"});
  options = good, options.v = {};
  fails(TORSOR_INVALID, {"k is given, but v is not"});
  options = good, options.k = {};
  fails(TORSOR_INVALID, {"v is given without k"});
  options = good, options.v.shape[2] = 8;
  fails(TORSOR_SHAPE,
        {"v: the extent of axis 2 is 8, but it must be 9, as the slots of k"});
  options = good, options.k.shape[1] = 3;
  fails(TORSOR_SHAPE, {"k: the extent of axis 1 is 3, but it must be 2, as G"});
  options = good, options.k.dtype = TORSOR_F16;
  fails(TORSOR_DTYPE, {"cache: k is f16, but it must be f32"});
  options = good, options.k.strides[1] = 8;
  fails(TORSOR_STRIDE, {"k is written, but its strides"});
  options = good, options.rows = 3;
  fails(TORSOR_SHAPE, {"rows and slots are 3 and 0, but k has 2 and 9"});
  options = good, options.k = options.v = {}, options.rows = -1;
  fails(TORSOR_RANGE, {"rows -1 and slots 0"});
  options.rows = INT32_MAX, options.slots = INT32_MAX;
  fails(TORSOR_MEMORY, {"cannot allocate 2147483647 rows"});
}

TEST_F(CacheErrors, Streams) {
  std::vector<int32_t> pos(18);
  torsor_binding streams[2] = {
      {"pos", 0, 0, torsor_array(pos.data(), TORSOR_I32, 2, 9, 0)},
      {"doc", 0, 0, {}}};
  options.streams = streams, options.stream_count = 2;
  expectOk(torsor_cache_create(m.instance, &options, &out));
  torsor_cache_destroy(out);
  streams[1].name = "pos";
  fails(TORSOR_NAME, {"stream 'pos' is given twice"});
  streams[1].name = "v";
  fails(TORSOR_NAME, {"'v' is given by its own field"});
  streams[1].name = "w";
  fails(TORSOR_NAME, {"has no stream 'w'; it has 'k', 'v', 'pos', 'doc'"});
  options.stream_count = 1;
  streams[0].tensor.shape[1] = 8;
  fails(TORSOR_SHAPE, {"pos: the extent of axis 1 is 8, but it must be 9"});
}

TEST_F(CacheErrors, Written) {
  Model other("full", 4, 4);
  options.written = torsor_instance_contract(other.instance);
  fails(TORSOR_CONTRACT,
        {"the memory of the cache", "the instance", "'4'", "'2'"});
  options.written = torsor_instance_contract(m.instance);
  expectOk(torsor_cache_create(m.instance, &options, &out));
  torsor_cache_destroy(out);
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

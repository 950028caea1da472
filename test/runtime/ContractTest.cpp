// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Contracts as texts, and what a cache is refused for.

#include "test/runtime/Square.h"

using namespace naive;

namespace {

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
  expectOk(torsor_cache_create(m.instance, &options, &out));
  torsor_cache_destroy(out);
  out = nullptr, options.layout = TORSOR_RING;
  options.pinned = 8; // one of the nine turns
  expectOk(torsor_cache_create(m.instance, &options, &out));
  torsor_cache_destroy(out);
  out = nullptr, options.pinned = 9;
  fails(TORSOR_RANGE, {"pinned is 9, but it must be 0 to 8"});
  options.pinned = -1;
  fails(TORSOR_RANGE, {"pinned is -1"});
  options = good;
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

} // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a wrong call is told, and that nothing is written then.

#include "test/runtime/Fixture.h"

#include <algorithm>
#include <cstring>
#include <functional>

using namespace naive;

namespace {

/// A good call of a scheme, to be spoiled in one place.
struct Case {
  Model m;
  Tensors t;
  torsor_sequence s = {0, 0, 4, 0, 0, 6};
  torsor_batch batch = {};
  torsor_cache *cache = nullptr;
  std::vector<int32_t> queryDocs, keyDocs;
  std::vector<float> bonus, gain;
  std::vector<torsor_binding> inputs;
  torsor_op op = TORSOR_ATTEND;

  explicit Case(const char *scheme) : m(scheme), t(m, 2, 5, 2, 8) {
    batch.size = sizeof batch, batch.count = 1, batch.sequences = &s;
    t.call.batch = &batch;
    if (std::string(scheme) != "full")
      return;
    queryDocs.assign(10, 1), keyDocs.assign(16, 1);
    bonus.assign(1, 0.f), gain.assign(4, 1.f);
    inputs = {{"doc", TORSOR_QUERY, 0,
               torsor_array(queryDocs.data(), TORSOR_I32, 2, 5, 0)},
              {"doc", TORSOR_KEY, 0,
               torsor_array(keyDocs.data(), TORSOR_I32, 2, 8, 0)},
              {"bonus", 0, 0, torsor_array(bonus.data(), TORSOR_F32, 1, 0, 0)},
              {"gain", 0, 0, torsor_array(gain.data(), TORSOR_F32, 4, 0, 0)}};
  }
  ~Case() { torsor_cache_destroy(cache); }

  void useCache() {
    torsor_cache_options options = {};
    options.size = sizeof options, options.rows = 2, options.slots = 8;
    expectOk(torsor_cache_create(m.instance, &options, &cache));
    t.call.cache = cache;
  }
  torsor_status run() {
    if (!inputs.empty())
      t.call.inputs = inputs.data(),
      t.call.input_count = int64_t(inputs.size());
    return torsor_run(m.instance, op, &t.call, nullptr);
  }
  void fails(torsor_status want, std::initializer_list<const char *> parts) {
    std::vector<float> o = t.o, lse = t.lse;
    expectFailure(run(), want, parts);
    EXPECT_EQ(o, t.o);
    EXPECT_EQ(lse, t.lse);
    torsor_plan *plan;
    expectOk(torsor_plan_create(&plan));
    torsor_plan_info info = {};
    info.size = sizeof info, info.phases = 9;
    EXPECT_EQ(torsor_plan_set(plan, m.instance, op, &t.call, 2, &info), want);
    EXPECT_EQ(info.phases, 0u);
    EXPECT_EQ(torsor_plan_run(plan, 0, 0, 1, 0), TORSOR_INVALID);
    torsor_plan_destroy(plan);
  }
};

using Spoil = std::function<void(Case &)>;
struct Wrong {
  const char *name;
  const char *scheme;
  Spoil spoil;
  torsor_status status;
  std::vector<const char *> parts;
};

void PrintTo(const Wrong &w, std::ostream *out) { *out << w.name; }

class Errors : public testing::TestWithParam<Wrong> {};

TEST_P(Errors, AreNamed) {
  const Wrong &wrong = GetParam();
  Case c(wrong.scheme);
  expectOk(c.run()); // the call is good before it is spoiled
  c.t.o.assign(c.t.o.size(), 3.f), c.t.lse.assign(c.t.lse.size(), 3.f);
  wrong.spoil(c);
  std::vector<float> o = c.t.o;
  expectFailure(c.run(), wrong.status, {});
  for (const char *part : wrong.parts)
    EXPECT_NE(std::string(torsor_error()).find(part), std::string::npos)
        << torsor_error() << "\nlacks: " << part;
  c.fails(wrong.status, {});
}

static const int32_t wild[16] = {0, 1, 2, 3, 4, 5, 6, 77};
static int64_t slotList[4] = {0, 1, 16, 3};

const Wrong cases[] = {
    // The call itself
    {"NullCall",
     "plain",
     [](Case &c) { c.t.call.size = 0; },
     TORSOR_INVALID,
     {"call: its size is 0, but the struct has"}},
    {"CallFlags",
     "plain",
     [](Case &c) { c.t.call.flags = 4; },
     TORSOR_INVALID,
     {"attend: unknown flags 0x4"}},
    {"NoOperation",
     "plain",
     [](Case &c) { c.op = torsor_op(12); },
     TORSOR_INVALID,
     {"12 is no operation"}},
    {"LaterOperation",
     "plain",
     [](Case &c) { c.op = TORSOR_REBASE; },
     TORSOR_UNSUPPORTED,
     {"rebase is not in this version"}},
    {"BatchFlags",
     "plain",
     [](Case &c) { c.batch.flags = 2; },
     TORSOR_INVALID,
     {"batch: unknown flags 0x2"}},
    {"BatchCount",
     "plain",
     [](Case &c) { c.batch.count = -1; },
     TORSOR_INVALID,
     {"count, -1"}},
    {"BatchSequences",
     "plain",
     [](Case &c) { c.batch.sequences = nullptr; },
     TORSOR_INVALID,
     {"sequences is null"}},
    {"Pages",
     "plain",
     [](Case &c) { c.batch.pages = wild; },
     TORSOR_INVALID,
     {"page tables are given, but there is no cache"}},
    {"InputsNull",
     "plain",
     [](Case &c) { c.t.call.inputs = nullptr, c.t.call.input_count = 2; },
     TORSOR_INVALID,
     {"inputs is null or their count, 2, is negative"}},
    {"QAbsent",
     "plain",
     [](Case &c) { c.t.call.q = {}; },
     TORSOR_INVALID,
     {"attend: q is absent"}},
    {"VAbsent",
     "plain",
     [](Case &c) { c.t.call.v = {}; },
     TORSOR_INVALID,
     {"attend: v is absent"}},
    {"KBesideCache",
     "plain",
     [](Case &c) { c.useCache(); },
     TORSOR_INVALID,
     {"attend: k must be absent: the keys come from the cache"}},
    {"CacheWithoutBatch",
     "plain",
     [](Case &c) { c.useCache(), c.t.call.batch = nullptr; },
     TORSOR_INVALID,
     {"a call with a cache needs a batch"}},
    {"PartsForAttend",
     "plain",
     [](Case &c) {
       static const torsor_part part = {};
       c.t.call.parts = &part, c.t.call.part_count = 1;
     },
     TORSOR_INVALID,
     {"attend: parts is given, but this operation does not"}},
    {"AppendWithoutCache",
     "plain",
     [](Case &c) {
       c.op = TORSOR_APPEND;
       c.t.call.q = c.t.call.o = c.t.call.lse = {};
     },
     TORSOR_INVALID,
     {"append: cache is absent"}},
    // Tensors
    {"Rank",
     "plain",
     [](Case &c) { c.t.call.q.rank = 2; },
     TORSOR_SHAPE,
     {"attend: q has rank 2, but it must have rank 4"}},
    {"RankSeven",
     "plain",
     [](Case &c) { c.t.call.q.rank = 7; },
     TORSOR_SHAPE,
     {"q has rank 7"}},
    {"Heads",
     "plain",
     [](Case &c) { c.t.call.q.shape[1] = 3; },
     TORSOR_SHAPE,
     {"attend: q: the extent of axis 1 is 3, but it must be 4, as H"}},
    {"Groups",
     "plain",
     [](Case &c) { c.t.call.k.shape[1] = 1; },
     TORSOR_SHAPE,
     {"k: the extent of axis 1 is 1, but it must be 2, as G"}},
    {"HeadWidth",
     "plain",
     [](Case &c) { c.t.call.k.shape[3] = 4; },
     TORSOR_SHAPE,
     {"k: the extent of axis 3 is 4, but it must be 8, as the head width"}},
    {"ValueWidth",
     "plain",
     [](Case &c) { c.t.call.o.shape[3] = 8; },
     TORSOR_SHAPE,
     {"o: the extent of axis 3 is 8, but it must be 4, as the value width"}},
    {"TokensOfO",
     "plain",
     [](Case &c) { c.t.call.o.shape[2] = 4; },
     TORSOR_SHAPE,
     {"o: the extent of axis 2 is 4, but it must be 5, as the tokens of q"}},
    {"KeysOfV",
     "plain",
     [](Case &c) { c.t.call.v.shape[2] = 7; },
     TORSOR_SHAPE,
     {"v: the extent of axis 2 is 7, but it must be 8, as the tokens of k"}},
    {"Negative",
     "plain",
     [](Case &c) { c.t.call.q.shape[2] = -5; },
     TORSOR_SHAPE,
     {"q: the extent of axis 2 is -5; it must not be negative"}},
    {"Dtype",
     "plain",
     [](Case &c) { c.t.call.k.dtype = TORSOR_BF16; },
     TORSOR_DTYPE,
     {"attend: k is bf16, but it must be f32"}},
    {"LseDtype",
     "plain",
     [](Case &c) { c.t.call.lse.dtype = TORSOR_F64; },
     TORSOR_DTYPE,
     {"attend: lse is f64, but it must be f32"}},
    {"Device",
     "plain",
     [](Case &c) { c.t.call.v.device = TORSOR_CUDA; },
     TORSOR_DTYPE,
     {"v lies on device 1, but this code runs on the host"}},
    {"InnerStride",
     "plain",
     [](Case &c) { c.t.call.q.strides[3] = 2; },
     TORSOR_STRIDE,
     {"q: the innermost stride is 2, but it must be 1"}},
    {"Misaligned",
     "plain",
     [](Case &c) {
       c.t.call.q.data = static_cast<char *>(c.t.call.q.data) + 2;
     },
     TORSOR_STRIDE,
     {"is not a multiple of 4, the bytes of f32"}},
    {"Overflow",
     "plain",
     [](Case &c) { c.t.call.k.strides[0] = INT64_MAX / 2; },
     TORSOR_STRIDE,
     {"k: axis 0 (extent 2, stride 4611686018427387903) reaches beyond 63"}},
    {"LeastStride",
     "plain",
     [](Case &c) { c.t.call.k.strides[0] = INT64_MIN; },
     TORSOR_STRIDE,
     {"reaches beyond 63 bits"}},
    {"OutputOverlapsItself",
     "plain",
     [](Case &c) { c.t.call.o.strides[0] = 4; },
     TORSOR_STRIDE,
     {"o is written, but its strides make elements share memory"}},
    {"OutputBroadcast",
     "plain",
     [](Case &c) { c.t.call.o.strides[1] = 0; },
     TORSOR_STRIDE,
     {"o is written"}},
    {"SameAddress",
     "plain",
     [](Case &c) { c.t.call.o.data = c.t.call.v.data; },
     TORSOR_STRIDE,
     {"o lies at the address of v"}},
    // Sequences
    {"QueryRow",
     "plain",
     [](Case &c) { c.s.query_row = 2; },
     TORSOR_RANGE,
     {"sequence 0: query_row is 2, but the rows of the tokens are 2"}},
    {"QueryRun",
     "plain",
     [](Case &c) { c.s.query_start = 2; },
     TORSOR_RANGE,
     {"its 4 tokens begin at 2 of row 0, but a row has 5"}},
    {"QueryOverflow",
     "plain",
     [](Case &c) { c.s.query_start = INT64_MAX; },
     TORSOR_RANGE,
     {"sequence 0"}},
    {"QueryLength",
     "plain",
     [](Case &c) { c.s.query_length = -1; },
     TORSOR_RANGE,
     {"query_length is -1"}},
    {"KeyRow",
     "plain",
     [](Case &c) { c.s.key_row = -1; },
     TORSOR_RANGE,
     {"key_row is -1, but the rows of the keys are 2"}},
    {"KeyRun",
     "plain",
     [](Case &c) { c.s.key_length = 9; },
     TORSOR_RANGE,
     {"its 9 keys begin at 0 of row 0, but a row has 8 keys"}},
    {"KeyLength",
     "plain",
     [](Case &c) { c.s.key_length = INT64_C(1) << 31; },
     TORSOR_RANGE,
     {"key_length is 2147483648"}},
    {"SequenceFlags",
     "plain",
     [](Case &c) { c.s.flags = 8; },
     TORSOR_INVALID,
     {"sequence 0: unknown flags 0x8"}},
    {"Shift",
     "plain",
     [](Case &c) { c.s.shift = 1; },
     TORSOR_INVALID,
     {"shift is 1, but only rebase shifts"}},
    {"NotPlaced",
     "plain",
     [](Case &c) { c.s.query_index = 5; },
     TORSOR_INVALID,
     {"query_index 5", "is given without TORSOR_PLACED"}},
    {"IndexLimit",
     "plain",
     [](Case &c) {
       c.s.flags = TORSOR_PLACED, c.s.total = 6;
       c.s.query_index = INT64_MAX;
     },
     TORSOR_RANGE,
     {"must keep indices below 2^31"}},
    {"Total",
     "plain",
     [](Case &c) {
       c.s.flags = TORSOR_PLACED, c.s.total = 6, c.s.key_index = 3;
     },
     TORSOR_RANGE,
     {"total is 6, but its last key has index 8"}},
    {"PartialWithoutLse",
     "plain",
     [](Case &c) {
       c.s.flags = TORSOR_PLACED | TORSOR_PARTIAL, c.s.total = 6;
       c.t.call.lse = {};
     },
     TORSOR_INVALID,
     {"sequence 0 is PARTIAL, so lse is required"}},
    {"Overlap",
     "plain",
     [](Case &c) {
       static torsor_sequence two[3] = {
           {0, 3, 2, 0, 0, 6}, {1, 0, 1, 0, 0, 6}, {0, 0, 4, 0, 0, 6}};
       c.batch.sequences = two, c.batch.count = 3;
       c.inputs.clear();
     },
     TORSOR_RANGE,
     {"the query runs of sequences 2 and 0 overlap: both have token 3"}},
    {"NoBatchRows",
     "plain",
     [](Case &c) {
       c.t.call.batch = nullptr, c.t.call.k.shape[0] = 1,
       c.t.call.v.shape[0] = 1;
     },
     TORSOR_SHAPE,
     {"q has 2 rows and k has 1"}},
    {"DecodeMany",
     "plain",
     [](Case &c) { c.op = TORSOR_DECODE; },
     TORSOR_UNSUPPORTED,
     {"sequence 0 has 4 queries, but this object decodes at most 2"}},
    {"AppendTooMany",
     "plain",
     [](Case &c) {
       c.useCache(), c.op = TORSOR_APPEND, c.s.key_length = 3;
       c.t.call.q = c.t.call.o = c.t.call.lse = {};
     },
     TORSOR_RANGE,
     {"append: sequence 0: query_length is 4, but the new tokens are the last "
      "of its keys, which are 3"}},
    {"CacheSlots",
     "plain",
     [](Case &c) {
       c.useCache(), c.s.key_length = 9;
       c.t.call.k = c.t.call.v = {};
     },
     TORSOR_RANGE,
     {"its 9 keys begin at 0 of row 0, but a row has 8 slots"}},
    // Names
    {"Unknown",
     "full",
     [](Case &c) { c.inputs[0].name = "dog"; },
     TORSOR_NAME,
     {"scheme 'full' has no clock or input 'dog'; did you mean 'doc'?"}},
    {"UnknownFar",
     "full",
     [](Case &c) { c.inputs[0].name = "elsewhere"; },
     TORSOR_NAME,
     {"there are 'pos', 'doc', 'bonus', 'gain'"}},
    {"Twice",
     "full",
     [](Case &c) { c.inputs.push_back(c.inputs[0]); },
     TORSOR_NAME,
     {"input 'doc' is given twice"}},
    {"InBothLists",
     "full",
     [](Case &c) {
       static torsor_binding other;
       other = c.inputs[1];
       c.inputs.erase(c.inputs.begin() + 1);
       c.batch.inputs = &other, c.batch.input_count = 1;
     },
     TORSOR_NAME,
     {"'doc' is given twice: in the batch and in the call"}},
    {"Missing",
     "full",
     [](Case &c) { c.inputs.pop_back(); },
     TORSOR_NAME,
     {"attend: 'gain' of scheme 'full' is missing"}},
    {"MissingAtKeys",
     "full",
     [](Case &c) { c.inputs.erase(c.inputs.begin() + 1); },
     TORSOR_NAME,
     {"'doc' of scheme 'full' is missing for keys (TORSOR_KEY)"}},
    {"NullDataIsMissing",
     "full",
     [](Case &c) { c.inputs[3].tensor.data = nullptr; },
     TORSOR_NAME,
     {"'gain' of scheme 'full' is missing"}},
    {"OneSidedPos",
     "full",
     [](Case &c) {
       static int32_t pos[10] = {};
       c.inputs.push_back(
           {"pos", TORSOR_QUERY, 0, torsor_array(pos, TORSOR_I32, 2, 5, 0)});
     },
     TORSOR_NAME,
     {"'pos'", "for keys (TORSOR_KEY); give both sides"}},
    {"NotAnInput",
     "full",
     [](Case &c) { c.inputs[0].name = "slope"; },
     TORSOR_NAME,
     {"'slope' is a param; it was bound when the instance"}},
    {"NoName",
     "full",
     [](Case &c) { c.inputs[0].name = nullptr; },
     TORSOR_INVALID,
     {"an input of the call has no name"}},
    {"Side",
     "full",
     [](Case &c) { c.inputs[0].side = 0; },
     TORSOR_INVALID,
     {"input 'doc': side is 0, but it must be TORSOR_QUERY"}},
    {"NeedlessSide",
     "full",
     [](Case &c) { c.inputs[2].side = 1; },
     TORSOR_INVALID,
     {"'bonus': side is 1, but it must be 0"}},
    {"InputShape",
     "full",
     [](Case &c) { c.inputs[0].tensor.shape[1] = 4; },
     TORSOR_SHAPE,
     {"doc: the extent of axis 1 is 4, but it must be 5, as the number of "
      "tokens"}},
    {"SequenceInput",
     "full",
     [](Case &c) { c.inputs[2].tensor.shape[0] = 2; },
     TORSOR_SHAPE,
     {"bonus: the extent of axis 0 is 2, but it must be 1, as the number of "
      "sequences"}},
    {"InputDtype",
     "full",
     [](Case &c) { c.inputs[3].tensor.dtype = TORSOR_I32; },
     TORSOR_DTYPE,
     {"gain is i32, but it must be f32"}},
    // Arrays
    {"QueryIndices",
     "plain",
     [](Case &c) {
       static int64_t indices[10] = {0, 1, INT64_C(1) << 31};
       c.batch.query_indices = torsor_array(indices, TORSOR_I64, 2, 5, 0);
     },
     TORSOR_RANGE,
     {"query_indices[0, 2] is 2147483648, but an index must be below"}},
    {"QueryIndicesDtype",
     "plain",
     [](Case &c) {
       static float indices[10] = {};
       c.batch.query_indices = torsor_array(indices, TORSOR_F32, 2, 5, 0);
     },
     TORSOR_DTYPE,
     {"query_indices is f32, but it must be i32 or i64"}},
    {"KeyIndices",
     "plain",
     [](Case &c) {
       static int32_t indices[16] = {0, 1, 2, 3, 4, 8};
       c.batch.key_indices = torsor_array(indices, TORSOR_I32, 2, 8, 0);
     },
     TORSOR_RANGE,
     {"key_indices[0, 5] is 8, but an index of a key must be below its total "
      "6"}},
    {"Slots",
     "plain",
     [](Case &c) {
       c.useCache(), c.op = TORSOR_APPEND, c.batch.slots = slotList;
       c.t.call.q = c.t.call.o = c.t.call.lse = {};
     },
     TORSOR_RANGE,
     {"slots[2] is 16, but the cache has 2 rows of 8 slots"}},
    {"Backwards",
     "full",
     [](Case &c) {
       static int32_t query[10] = {9, 9, 9, 9}, key[16] = {1, 9, 2, 10, 3};
       c.inputs.push_back(
           {"pos", TORSOR_QUERY, 0, torsor_array(query, TORSOR_I32, 2, 5, 0)});
       c.inputs.push_back(
           {"pos", TORSOR_KEY, 0, torsor_array(key, TORSOR_I32, 2, 8, 0)});
     },
     TORSOR_VALUE,
     {"clock 'pos' runs backwards: it is 10 at the key of index 3, but 9 at "
      "the query of index 3"}},
    {"Range",
     "full",
     [](Case &c) { c.batch.flags = TORSOR_CHECK_VALUES, c.keyDocs[5] = 101; },
     TORSOR_VALUE,
     {"at keys): input 'doc': element [0, 5] is 101, but its range is 0 .. "
      "100"}},
    {"RangePerCall",
     "full",
     [](Case &c) { c.batch.flags = TORSOR_CHECK_VALUES, c.gain[2] = NAN; },
     TORSOR_VALUE,
     {"input 'gain': element [2] is nan, but its range is 0"}},
};

INSTANTIATE_TEST_SUITE_P(Runtime, Errors, testing::ValuesIn(cases),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

/// What a run does not use may hold anything, and ranges are checked on
/// request only.
TEST(Errors, PaddingIsNotChecked) {
  Case c("full");
  c.batch.flags = TORSOR_CHECK_VALUES;
  c.keyDocs[6] = c.keyDocs[8] = 500, c.queryDocs[4] = -3;
  expectOk(c.run());
  c.keyDocs[5] = 500;
  EXPECT_EQ(c.run(), TORSOR_VALUE);
  c.batch.flags = 0;
  expectOk(c.run());
}

TEST(Errors, NullHandles) {
  Case c("plain");
  expectFailure(torsor_run(nullptr, TORSOR_ATTEND, &c.t.call, nullptr),
                TORSOR_INVALID, {"instance is null"});
  expectFailure(torsor_run(c.m.instance, TORSOR_ATTEND, nullptr, nullptr),
                TORSOR_INVALID, {"call is null"});
  expectFailure(torsor_plan_create(nullptr), TORSOR_INVALID, {"out is null"});
  expectFailure(torsor_plan_run(nullptr, 0, 0, 0, 0), TORSOR_INVALID,
                {"plan is null"});
  torsor_instance_destroy(nullptr), torsor_scheme_destroy(nullptr);
  torsor_library_destroy(nullptr), torsor_cache_destroy(nullptr);
  torsor_plan_destroy(nullptr), torsor_contract_destroy(nullptr);
  torsor_pool_destroy(nullptr);
}

/// A later host's struct is longer: zero is today's behaviour, else refused.
TEST(Errors, LongerStructs) {
  Case c("plain");
  struct {
    torsor_call call;
    uint64_t later[2];
  } longer = {};
  longer.call = c.t.call;
  longer.call.size = sizeof longer;
  expectOk(torsor_run(c.m.instance, TORSOR_ATTEND, &longer.call, nullptr));
  longer.later[1] = 1;
  expectFailure(torsor_run(c.m.instance, TORSOR_ATTEND, &longer.call, nullptr),
                TORSOR_INVALID, {"the host was built for a later version"});
  struct {
    torsor_plan_info info;
    uint64_t later[2];
  } info;
  std::memset(&info, 0xff, sizeof info);
  info.info.size = sizeof info;
  torsor_plan *plan;
  expectOk(torsor_plan_create(&plan));
  expectOk(torsor_plan_set(plan, c.m.instance, TORSOR_ATTEND, &c.t.call, 1,
                           &info.info));
  EXPECT_EQ(info.info.size, sizeof info);
  EXPECT_EQ(info.info.phases, 1u);
  EXPECT_EQ(info.later[0] | info.later[1], 0u);
  torsor_plan_destroy(plan);
}

TEST(Errors, EveryStatusHasAName) {
  std::vector<std::string> names;
  for (int s = 0; s <= TORSOR_INTERNAL; ++s)
    names.push_back(torsor_status_name(torsor_status(s)));
  EXPECT_EQ(names.front(), "ok");
  EXPECT_EQ(names[TORSOR_UNSUPPORTED], "unsupported");
  EXPECT_EQ(names.back(), "internal");
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
  EXPECT_STREQ(torsor_status_name(torsor_status(99)), "unknown");
}

} // namespace

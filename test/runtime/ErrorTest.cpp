// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a wrong call or a wrong tensor is told, and that nothing is written.

#include "test/runtime/Errors.h"

#include <algorithm>
#include <cstring>

using namespace naive;

namespace {

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
     [](Case &c) { c.op = TORSOR_CHUNK; },
     TORSOR_UNSUPPORTED,
     {"chunk is not in this version"}},
    {"NotCompiled",
     "plain",
     [](Case &c) { c.op = TORSOR_REBASE; },
     TORSOR_UNSUPPORTED,
     {"rebase: scheme 'plain' was compiled without it"}},
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

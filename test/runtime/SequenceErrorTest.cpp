// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What wrong sequences, names and arrays of a batch are told.

#include "test/runtime/Errors.h"

using namespace naive;

namespace {

static int64_t slotList[4] = {0, 1, 16, 3};

const Wrong cases[] = {
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

INSTANTIATE_TEST_SUITE_P(Batch, Errors, testing::ValuesIn(cases),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

} // namespace

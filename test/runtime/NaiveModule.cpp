// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The constants of the hand-written object: fields, variants, descriptors.

#include "test/runtime/Naive.h"

#include <cmath>

namespace naive {

namespace {

int64_t tableBytes(int64_t heads, int64_t, const torsor_tensor *) {
  return heads * 8;
}

void bindTables(int64_t heads, int64_t, const torsor_tensor *params,
                void *tables) {
  const torsor_tensor &slope = params[0];
  for (int64_t h = 0; h < heads; ++h)
    static_cast<double *>(tables)[h] =
        static_cast<const float *>(slope.data)[h * slope.strides[0]];
}

constexpr uint32_t tokenSides = TORSOR_QUERY | TORSOR_KEY;

torsor_field field(const char *name, int32_t stage, int32_t dtype,
                   uint32_t sides, uint32_t flags = 0, int64_t extent = 0,
                   double low = -INFINITY, double high = INFINITY,
                   uint32_t contract = 0) {
  torsor_field f = {};
  f.name = name, f.stage = stage, f.dtype = dtype, f.sides = sides;
  f.flags = flags, f.rank = extent != 0, f.shape[0] = extent;
  f.low = low, f.high = high, f.contract = contract;
  return f;
}

const torsor_field arguments[ArgumentCount] = {
    field("pos", TORSOR_PER_TOKEN, TORSOR_I32, tokenSides,
          TORSOR_ARG_CLOCK | TORSOR_ARG_RISING | TORSOR_ARG_OPTIONAL),
    field("doc", TORSOR_PER_TOKEN, TORSOR_I32, tokenSides, 0, 0, 0, 100),
    field("bonus", TORSOR_PER_SEQUENCE, TORSOR_F32, 0, 0, 0, -8, 8),
    field("gain", TORSOR_PER_CALL, TORSOR_F32, 0, 0, TORSOR_EXTENT_H, 0, 4),
    field("slope", TORSOR_LOADED, TORSOR_F32, 0, 0, TORSOR_EXTENT_H, 0, 1),
    field("sink", TORSOR_LOADED, TORSOR_F32, 0, 0, TORSOR_EXTENT_H),
    field("turn", TORSOR_LOADED, TORSOR_F32, 0, 0, head / 2, -INFINITY,
          INFINITY, 1)};

torsor_field store(const char *name, int64_t width) {
  torsor_field f = field(name, TORSOR_PER_TOKEN, TORSOR_F32, TORSOR_KEY);
  f.rank = 2, f.shape[0] = TORSOR_EXTENT_G, f.shape[1] = width;
  return f;
}

const torsor_field streams[StreamCount] = {
    store("k", head), store("v", value),
    field("pos", TORSOR_PER_TOKEN, TORSOR_I32, TORSOR_KEY, TORSOR_ARG_OPTIONAL),
    field("doc", TORSOR_PER_TOKEN, TORSOR_I32, TORSOR_KEY, TORSOR_ARG_OPTIONAL),
    field("index", TORSOR_PER_TOKEN, TORSOR_I64, TORSOR_KEY,
          TORSOR_ARG_OPTIONAL)};

/// The first needs what no machine here has; the core must pass it over.
torsor_variant variant(const torsor_kernel_op *ops, bool here, bool tables) {
  torsor_variant v = {};
  v.name = here ? "everywhere" : "elsewhere";
  if (!here)
    v.features[1] = UINT64_C(1) << (TORSOR_SM_90A - 64);
  v.ops = ops, v.op_count = 4, v.op_size = sizeof(torsor_kernel_op);
  if (tables)
    v.tables = tableBytes, v.bind = bindTables;
  return v;
}

const torsor_variant plainVariants[] = {variant(plainOps, false, false),
                                        variant(plainOps, true, false)};
const torsor_variant fullVariants[] = {variant(fullOps, false, true),
                                       variant(fullOps, true, true)};

torsor_descriptor describe(const char *name, const torsor_variant *variants,
                           bool hasArguments) {
  torsor_descriptor d = {};
  d.size = sizeof d;
  d.name = name, d.canonical = "scheme", d.manifest = "{}";
  d.contract = hasArguments ? "head 8 value 4 keys acted f32 f32 action "
                              "adjacent(rotation($turn))"
                            : "head 8 value 4 keys raw f32 f32";
  d.head = head, d.value = value;
  d.q = d.k = d.v = d.o = TORSOR_F32;
  d.arguments = arguments, d.argument_size = sizeof(torsor_field);
  d.argument_count = hasArguments ? int(ArgumentCount) : 0;
  d.streams = streams, d.stream_size = sizeof(torsor_field);
  d.stream_count = hasArguments ? int(StreamCount) : 2;
  d.variants = variants, d.variant_count = 2;
  d.variant_size = sizeof(torsor_variant);
  d.decode_queries = decodeQueries;
  d.window = -1;
  return d;
}

} // namespace

const torsor_descriptor plain = describe("plain", plainVariants, false);
const torsor_descriptor full = describe("full", fullVariants, true);

namespace {
const torsor_descriptor *const schemes[] = {&plain, &full};
const uint32_t layers[] = {1, 0, UINT32_MAX};
} // namespace

const torsor_module module = {TORSOR_MAGIC,
                              sizeof(torsor_module),
                              TORSOR_KERNEL_ABI_MAJOR,
                              0,
                              "by hand",
                              schemes,
                              2,
                              3,
                              1,
                              0,
                              layers};

} // namespace naive

/// What a shared object of `torsor compile --shared` exports.
extern "C" __attribute__((visibility("default")))
const torsor_module *const torsor_entry;
const torsor_module *const torsor_entry = &naive::module;

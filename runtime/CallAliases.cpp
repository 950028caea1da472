// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a call writes must not lie where anything else of it lies; tensors that
// begin at one address are found.
#include "runtime/Cache.h"
#include "runtime/Call.h"

namespace torsor {

/// Calls `use` with each tensor of the call and its name, until one returns a
/// status; `isStored`: of the cache.
template <typename F>
static torsor_status forEachTensor(const torsor_call &call,
                                   const torsor_batch &batch, F &&use) {
  struct {
    const char *name;
    const torsor_tensor &tensor;
  } own[] = {{"o", call.o},
             {"lse", call.lse},
             {"q", call.q},
             {"k", call.k},
             {"v", call.v},
             {"query_indices", batch.query_indices},
             {"key_indices", batch.key_indices}};
  for (const auto &[name, tensor] : own)
    if (torsor_status status = use(name, tensor, false))
      return status;
  if (const torsor_cache *cache = call.cache)
    for (int64_t s = 0; s < cache->streams.size(); ++s)
      if (torsor_status status =
              use(cache->scheme().streams[s].name, cache->streams[s], true))
        return status;
  auto useInputs = [&](const torsor_binding *inputs, int64_t count) {
    for (int64_t n = 0; n < count; ++n)
      if (torsor_status status =
              use(orEmpty(inputs[n].name), inputs[n].tensor, false))
        return status;
    return TORSOR_OK;
  };
  torsor_status status = useInputs(call.inputs, call.input_count);
  return status ? status : useInputs(batch.inputs, batch.input_count);
}

torsor_status Call::checkAliases() const {
  if (!rows || !tokens)
    return TORSOR_OK;
  return forEachTensor(
      call, batch,
      [&](const char *output, const torsor_tensor &written, bool isStored) {
        bool isWritten = &written == &call.o || &written == &call.lse ||
                         (isStored && appends());
        if (!isWritten || !written.data)
          return TORSOR_OK;
        return forEachTensor(
            call, batch,
            [&](const char *other, const torsor_tensor &tensor, bool isCached) {
              if (&tensor == &written || tensor.data != written.data)
                return TORSOR_OK;
              return fail(TORSOR_STRIDE,
                          "%s: %s%s lies at the address of %s%s; an output "
                          "must not overlap another tensor",
                          name, isStored ? "the cache's " : "", output,
                          isCached ? "the cache's " : "", other);
            });
      });
}

} // namespace torsor

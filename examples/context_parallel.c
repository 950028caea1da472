/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Context parallelism: two ranks hold one half of the keys each. Both attend
   with all queries, as partial results; the merge adds the sink, once. */
#include "example.h"
#include "gptoss.h"

enum { H = 8, G = 2, L = 512, D = 64, HALF = L / 2 };

static int64_t size(int64_t heads, int64_t tokens) {
  return heads * tokens * D;
}

/// What a rank does: keys HALF * rank … of the sequence, with their own first
/// index; N is that of the whole sequence.
static void rank_attend(const torsor_instance *instance, int rank, float *q,
                        float *k, float *v, torsor_part *part) {
  torsor_sequence half = {.query_length = L,
                          .key_length = HALF,
                          .key_index = HALF * rank,
                          .total = L,
                          .flags = TORSOR_PLACED | TORSOR_PARTIAL};
  torsor_batch batch = {.size = sizeof batch, .count = 1, .sequences = &half};
  torsor_call call = {.size = sizeof call, .batch = &batch};
  call.q = torsor_token_major(q, TORSOR_F32, 1, L, H, D);
  call.k =
      torsor_token_major(k + size(G, HALF) * rank, TORSOR_F32, 1, HALF, G, D);
  call.v =
      torsor_token_major(v + size(G, HALF) * rank, TORSOR_F32, 1, HALF, G, D);
  call.o = part->o, call.lse = part->lse;
  check(torsor_run(instance, TORSOR_ATTEND, &call, NULL));
}

int main(void) {
  torsor_library *library = NULL;
  torsor_scheme *scheme = NULL;
  torsor_instance *instance = NULL;
  float *sinkValues = numbers(H, 7);
  torsor_binding sinks = {"sinks", 0, 0,
                          torsor_array(sinkValues, TORSOR_F32, H, 0, 0)};
  check(torsor_library_link(&torsor_module_gptoss, NULL, &library));
  check(torsor_library_find(library, "gptoss", TORSOR_F32, &scheme));
  check(torsor_instance_create(scheme, H, G, &sinks, 1, &instance));

  float *q = numbers(size(H, L), 1), *k = numbers(size(G, L), 2);
  float *v = numbers(size(G, L), 3);
  torsor_part parts[2];
  for (int rank = 0; rank < 2; ++rank) { /* in life: two processes */
    parts[rank].o =
        torsor_token_major(numbers(size(H, L), 4), TORSOR_F32, 1, L, H, D);
    parts[rank].lse =
        torsor_array(numbers((int64_t)H * L, 5), TORSOR_F32, 1, H, L);
    rank_attend(instance, rank, q, k, v, &parts[rank]);
  }

  /* What one of them does with both results. */
  float *merged = numbers(size(H, L), 6), *once = numbers(size(H, L), 6);
  torsor_call merge = {.size = sizeof merge, .parts = parts, .part_count = 2};
  merge.o = torsor_token_major(merged, TORSOR_F32, 1, L, H, D);
  check(torsor_run(instance, TORSOR_MERGE, &merge, NULL));

  /* The same in one piece. */
  torsor_call call = {.size = sizeof call};
  call.q = torsor_token_major(q, TORSOR_F32, 1, L, H, D);
  call.k = torsor_token_major(k, TORSOR_F32, 1, L, G, D);
  call.v = torsor_token_major(v, TORSOR_F32, 1, L, G, D);
  call.o = torsor_token_major(once, TORSOR_F32, 1, L, H, D);
  check(torsor_run(instance, TORSOR_ATTEND, &call, NULL));
  int wrong = report("two halves, merged, against the whole",
                     difference(merged, once, size(H, L)));

  for (int rank = 0; rank < 2; ++rank)
    free(parts[rank].o.data), free(parts[rank].lse.data);
  free(q), free(k), free(v), free(merged), free(once), free(sinkValues);
  torsor_instance_destroy(instance);
  torsor_scheme_destroy(scheme);
  torsor_library_destroy(library);
  return wrong;
}

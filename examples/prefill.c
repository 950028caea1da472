/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Ahead of time, linked: one padded batch through causal Llama 3.1 attention,
   then the same as a ragged batch.
     torsor compile llama31.torsor
     cc prefill.c llama31.o libtorsor.a -lm */
#include <string.h>

#include "example.h"
#include "llama31.h"

enum { B = 2, H = 8, G = 2, L = 384, SHORT = 300, D = 128 };

int main(void) {
  torsor_library *library;
  torsor_scheme *scheme;
  torsor_instance *instance;
  check(torsor_library_link(&torsor_module_llama31, NULL, &library));
  check(torsor_library_find(library, "llama31", TORSOR_F32, &scheme));
  check(torsor_instance_create(scheme, H, G, NULL, 0, &instance));

  /* Memory as a projection leaves it: [batch, tokens, heads, width]. */
  float *q = numbers((int64_t)B * L * H * D, 1);
  float *k = numbers((int64_t)B * L * G * D, 2);
  float *v = numbers((int64_t)B * L * G * D, 3);
  float *o = numbers((int64_t)B * L * H * D, 4);
  torsor_call call = {.size = sizeof call};
  call.q = torsor_token_major(q, TORSOR_F32, B, L, H, D);
  call.k = torsor_token_major(k, TORSOR_F32, B, L, G, D);
  call.v = torsor_token_major(v, TORSOR_F32, B, L, G, D);
  call.o = torsor_token_major(o, TORSOR_F32, B, L, H, D);
  check(torsor_run(instance, TORSOR_ATTEND, &call, NULL));
  float *padded = numbers((int64_t)B * L * H * D, 5);
  memcpy(padded, o, (size_t)B * L * H * D * sizeof(float));

  /* The same for a ragged batch: row 1 holds 300 tokens, row 0 all of them. */
  torsor_sequence sequences[B] = {{.query_length = L, .key_length = L},
                                  {.query_row = 1,
                                   .query_length = SHORT,
                                   .key_row = 1,
                                   .key_length = SHORT}};
  torsor_batch batch = {
      .size = sizeof batch, .count = B, .sequences = sequences};
  call.batch = &batch;
  check(torsor_run(instance, TORSOR_ATTEND, &call, NULL));

  /* Causal: what lies behind a row's end does not change what comes before. */
  int64_t kept = (int64_t)(L + SHORT) * H * D;
  int wrong = report("ragged against padded", difference(o, padded, kept));

  torsor_instance_destroy(instance);
  torsor_scheme_destroy(scheme);
  torsor_library_destroy(library);
  free(q), free(k), free(v), free(o), free(padded);
  return wrong;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A text without end in a cache of fixed size (StreamingLLM): the first tokens
   stay as sinks, the others leave one by one, and positions are places in the
   cache. Keys lie turned; when a token leaves, those behind it are moved down
   by one instead of being turned again in every call.
     torsor compile llama31.torsor
     cc streaming.c llama31.o libtorsor.a -lm */
#include <string.h>

#include "example.h"
#include "llama31.h"

enum { H = 8, G = 2, D = 128, TOKENS = 300 };
enum { SINKS = 4, WINDOW = 60, SLOTS = SINKS + WINDOW };

typedef struct {
  torsor_instance *instance;
  torsor_cache *cache; /* slots 0 … SINKS-1, then a ring */
  float *q, *k, *v, *o;
} stream;

static void run(const stream *t, torsor_op op, torsor_sequence s,
                torsor_call call) {
  torsor_batch batch = {.size = sizeof batch, .count = 1, .sequences = &s};
  call.size = sizeof call;
  call.batch = &batch;
  check(torsor_run(t->instance, op, &call, NULL));
}

static torsor_tensor tokens(float *data, int64_t count, int64_t heads) {
  return torsor_token_major(data, TORSOR_F32, 1, count, heads, D);
}

/// Token n of the text: its output goes to o.
static void step(const stream *t, int64_t n) {
  torsor_sequence s = {.query_start = n, .query_length = 1};
  s.flags = TORSOR_PLACED;
  s.query_index = n < SLOTS ? n : SLOTS - 1; /* its place in the cache */
  s.total = s.query_index + 1;
  if (n >= SLOTS) { /* the oldest behind the sinks leaves */
    torsor_sequence window = {
        .key_start = SINKS, .key_length = WINDOW, .shift = -1};
    run(t, TORSOR_REBASE, window, (torsor_call){.cache = t->cache});
  }
  s.key_length = n + 1; /* a ring goes on counting */
  run(t, TORSOR_APPEND, s,
      (torsor_call){.k = tokens(t->k, TOKENS, G),
                    .v = tokens(t->v, TOKENS, G),
                    .cache = t->cache});
  s.key_length = s.total; /* each slot once; the cache knows their places */
  run(t, TORSOR_ATTEND, s,
      (torsor_call){.q = tokens(t->q, TOKENS, H),
                    .o = tokens(t->o, TOKENS, H),
                    .cache = t->cache});
}

/// The same from the keys that are left, as they came.
static void again(const stream *t, int64_t n, float *o) {
  static float k[SLOTS * G * D], v[SLOTS * G * D];
  int64_t left = 0, row = G * D;
  for (int64_t token = 0; token <= n; ++token)
    if (token < SINKS || token > n - WINDOW) {
      memcpy(k + left * row, t->k + token * row, (size_t)row * sizeof *k);
      memcpy(v + left * row, t->v + token * row, (size_t)row * sizeof *v);
      ++left;
    }
  torsor_sequence s = {.query_length = 1, .key_length = left};
  run(t, TORSOR_ATTEND, s,
      (torsor_call){.q = tokens(t->q + n * H * D, 1, H),
                    .k = tokens(k, left, G),
                    .v = tokens(v, left, G),
                    .o = tokens(o, 1, H)});
}

int main(void) {
  torsor_library *library;
  torsor_scheme *scheme;
  stream t = {.q = numbers((int64_t)TOKENS * H * D, 1),
              .k = numbers((int64_t)TOKENS * G * D, 2),
              .v = numbers((int64_t)TOKENS * G * D, 3),
              .o = numbers((int64_t)TOKENS * H * D, 4)};
  check(torsor_library_link(&torsor_module_llama31, NULL, &library));
  check(torsor_library_find(library, "llama31", TORSOR_F32, &scheme));
  check(torsor_instance_create(scheme, H, G, NULL, 0, &t.instance));

  /* The library allocates: k, v, and the place of each key. */
  torsor_binding places = {.name = "index"};
  torsor_cache_options options = {.size = sizeof options,
                                  .layout = TORSOR_RING,
                                  .rows = 1,
                                  .slots = SLOTS,
                                  .pinned = SINKS,
                                  .streams = &places,
                                  .stream_count = 1};
  check(torsor_cache_create(t.instance, &options, &t.cache));

  float worst = 0, o[H * D];
  for (int64_t n = 0; n < TOKENS; ++n) {
    step(&t, n);
    again(&t, n, o);
    float off = difference(t.o + n * H * D, o, H * D);
    worst = off > worst ? off : worst;
  }
  int wrong = report("moved keys against keys as they came", worst);

  torsor_cache_destroy(t.cache);
  torsor_instance_destroy(t.instance);
  torsor_scheme_destroy(scheme);
  torsor_library_destroy(library);
  free(t.q), free(t.k), free(t.v), free(t.o);
  return wrong;
}

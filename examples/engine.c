/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* An engine with threads of its own: three sequences at different lengths, one
   of them still in its prompt, over a paged cache in each layer. */
#include "engine_pool.h"
#include "example.h"
#include "llama31.h"

enum { LAYERS = 2, H = 8, G = 2, D = 128, SEQUENCES = 3, SLOTS = 256 };
enum { TOKENS = 256 }; /* at most so many new ones in a step */
enum { PAGE = 16, PAGES = 40, TABLE = SLOTS / PAGE };

/* The engine's own bookkeeping: tokens in the cache, and the pages they lie in,
   which are the same ones in every layer. */
typedef struct {
  int64_t length;
  int32_t pages[TABLE];
} request;

typedef struct {
  torsor_instance *instance;
  torsor_plan *plan;
  torsor_cache *caches[LAYERS];
  float *keys[LAYERS], *values[LAYERS]; /* the engine's memory */
  int32_t free_pages[PAGES];
  int free_count;
  pool *threads;
} engine;

static void engine_start(engine *e) {
  torsor_library *library = NULL;
  torsor_scheme *scheme = NULL;
  check(torsor_library_link(&torsor_module_llama31, NULL, &library));
  check(torsor_library_find(library, NULL, TORSOR_F32, &scheme));
  check(torsor_instance_create(scheme, H, G, NULL, 0, &e->instance));
  check(torsor_plan_create(&e->plan));
  for (int layer = 0; layer < LAYERS; ++layer) {
    int64_t count = (int64_t)PAGES * PAGE * G * D;
    torsor_cache_options options = {.size = sizeof options};
    options.layout = TORSOR_PAGED;
    e->keys[layer] = numbers(count, 0), e->values[layer] = numbers(count, 0);
    options.k =
        torsor_token_major(e->keys[layer], TORSOR_F32, PAGES, PAGE, G, D);
    options.v =
        torsor_token_major(e->values[layer], TORSOR_F32, PAGES, PAGE, G, D);
    check(torsor_cache_create(e->instance, &options, &e->caches[layer]));
  }
  torsor_scheme_destroy(scheme); /* the instance keeps what it needs */
  torsor_library_destroy(library);
  for (int n = 0; n < PAGES; ++n) /* handed out in no order, as in real life */
    e->free_pages[n] = n * 7 % PAGES;
  e->free_count = PAGES;
  e->threads = pool_create(4);
}

/// Room for `fresh` more tokens.
static void grow(engine *e, request *r, int64_t fresh) {
  int64_t have = (r->length + PAGE - 1) / PAGE;
  r->length += fresh;
  for (; have * PAGE < r->length; ++have) {
    if (!e->free_count) {
      fprintf(stderr, "the engine is out of pages\n");
      exit(1);
    }
    r->pages[have] = e->free_pages[--e->free_count];
  }
}

static void engine_stop(engine *e) {
  pool_destroy(e->threads);
  torsor_plan_destroy(e->plan);
  for (int layer = 0; layer < LAYERS; ++layer) {
    torsor_cache_destroy(e->caches[layer]);
    free(e->keys[layer]), free(e->values[layer]);
  }
  torsor_instance_destroy(e->instance);
}

typedef struct {
  torsor_plan *plan;
  uint32_t phase;
} job;

static void work(void *argument, int64_t begin, int64_t end, int64_t worker) {
  job *j = (job *)argument;
  check(torsor_plan_run(j->plan, j->phase, begin, end, worker));
}

/// One layer: stores the new keys, then attends with all queries. q, k, v, o
/// are ragged, token-major: [tokens, heads, width].
static void engine_attend(engine *e, int layer, const torsor_batch *batch,
                          int64_t tokens, float *q, float *k, float *v,
                          float *o) {
  torsor_call call = {.size = sizeof call};
  call.batch = batch, call.cache = e->caches[layer];
  call.q = torsor_token_major(q, TORSOR_F32, 1, tokens, H, D);
  call.k = torsor_token_major(k, TORSOR_F32, 1, tokens, G, D);
  call.v = torsor_token_major(v, TORSOR_F32, 1, tokens, G, D);
  call.o = torsor_token_major(o, TORSOR_F32, 1, tokens, H, D);
  torsor_plan_info info = {.size = sizeof info};
  check(torsor_plan_set(e->plan, e->instance, TORSOR_STEP, &call,
                        pool_size(e->threads), &info));
  for (uint32_t phase = 0; phase < info.phases; ++phase) {
    job j = {e->plan, phase};
    pool_for(e->threads, info.items[phase], work, &j);
  }
}

/* What stands for the model: every token of a sequence has its q, k and v. */
static float *history_q, *history_k, *history_v;

static const float *token(const float *history, int sequence, int64_t place,
                          int64_t size) {
  return history + (sequence * (int64_t)SLOTS + place) * size;
}

static void project(float *to, const float *history, int sequence,
                    int64_t place, int64_t size) {
  const float *from = token(history, sequence, place, size);
  for (int64_t n = 0; n < size; ++n)
    to[n] = from[n];
}

/// One step: fresh[n] new tokens of sequence n, whose queries lie one after
/// another; every layer stores and attends.
static void engine_step(engine *e, request requests[SEQUENCES],
                        const int64_t fresh[SEQUENCES], float *o) {
  static float q[TOKENS * H * D], k[TOKENS * G * D], v[TOKENS * G * D];
  int32_t table[SEQUENCES * TABLE];
  torsor_sequence sequences[SEQUENCES];
  int64_t tokens = 0;
  for (int n = 0; n < SEQUENCES; ++n) {
    for (int64_t t = 0; t < fresh[n]; ++t) {
      int64_t at = tokens + t, place = requests[n].length + t;
      project(q + at * H * D, history_q, n, place, H * D);
      project(k + at * G * D, history_k, n, place, G * D);
      project(v + at * G * D, history_v, n, place, G * D);
    }
    grow(e, &requests[n], fresh[n]);
    for (int p = 0; p < TABLE; ++p)
      table[n * TABLE + p] = requests[n].pages[p];
    torsor_sequence s = {.query_start = tokens,
                         .query_length = fresh[n],
                         .key_row = n * TABLE, /* its first entry */
                         .key_length = requests[n].length};
    sequences[n] = s;
    tokens += fresh[n];
  }
  torsor_batch batch = {
      .size = sizeof batch, .count = SEQUENCES, .sequences = sequences};
  batch.pages = table, batch.page_count = SEQUENCES * TABLE;
  for (int layer = 0; layer < LAYERS; ++layer)
    engine_attend(e, layer, &batch, tokens, q, k, v, o);
}

/// The same tokens at once, without a cache: their last row is what the last
/// step must have given.
static float whole(const engine *e, int sequence, int64_t length,
                   const float *o) {
  torsor_call call = {.size = sizeof call};
  int64_t from = (int64_t)sequence * SLOTS;
  float *all = numbers(length * H * D, 0);
  call.q =
      torsor_token_major(history_q + from * H * D, TORSOR_F32, 1, length, H, D);
  call.k =
      torsor_token_major(history_k + from * G * D, TORSOR_F32, 1, length, G, D);
  call.v =
      torsor_token_major(history_v + from * G * D, TORSOR_F32, 1, length, G, D);
  call.o = torsor_token_major(all, TORSOR_F32, 1, length, H, D);
  check(torsor_run(e->instance, TORSOR_PREFILL, &call, NULL));
  float most = difference(all + (length - 1) * H * D, o, H * D);
  free(all);
  return most;
}

int main(void) {
  static engine e;
  static float o[TOKENS * H * D];
  static request requests[SEQUENCES];
  const int64_t steps[4][SEQUENCES] = {
      {120, 17, 0}, {1, 1, 90}, {1, 1, 1}, {1, 3, 1}};
  history_q = numbers((int64_t)SEQUENCES * SLOTS * H * D, 1);
  history_k = numbers((int64_t)SEQUENCES * SLOTS * G * D, 2);
  history_v = numbers((int64_t)SEQUENCES * SLOTS * G * D, 3);
  engine_start(&e);
  int wrong = 0;
  for (int step = 0; step < 4; ++step) {
    engine_step(&e, requests, steps[step], o);
    int64_t last = 0;
    for (int n = 0; n < SEQUENCES; ++n) {
      last += steps[step][n];
      char what[64];
      snprintf(what, sizeof what, "step %d, sequence %d of %d tokens", step, n,
               (int)requests[n].length);
      if (steps[step][n])
        wrong += report(
            what, whole(&e, n, requests[n].length, o + (last - 1) * H * D));
    }
  }
  engine_stop(&e);
  free(history_q), free(history_k), free(history_v);
  return wrong != 0;
}

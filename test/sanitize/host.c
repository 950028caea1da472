/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Runs instrumented kernels under a sanitizer: prefill and decode of fresh
   keys, append into a cache and decode from it. host [KERNEL [TENSOR]] KERNEL:
   prefill, decode or append alone; race: two calls write one output at a time;
   all: everything. TENSOR is a row too short. */
#include <pthread.h>
#include <string.h>

#include "examples/example.h"

extern const torsor_module torsor_module_kernels;

enum { H = 4, G = 2, L = 75, D = 32, LAST = 3, THREADS = 2 };

static const char *kernel = "all", *broken = "";

static int wants(const char *name) {
  return !strcmp(kernel, name) || !strcmp(kernel, "all");
}

/// `rows` rows of `width` numbers; one less where `name` is the broken tensor.
static float *rows_of(const char *name, int64_t rows, int64_t width) {
  return numbers((rows - !strcmp(name, broken)) * width, 1);
}

typedef struct {
  torsor_body body;
  void *argument;
  int64_t begin, end, worker;
} piece;

/// Both calls of a race start each piece together.
static pthread_barrier_t together;
static int race;

static void *run_piece(void *memory) {
  piece *p = (piece *)memory;
  if (race)
    pthread_barrier_wait(&together);
  p->body(p->argument, p->begin, p->end, p->worker);
  return NULL;
}

/// A loop on threads whose starts and ends the sanitizer sees.
static void loop(void *context, int64_t items, torsor_body body,
                 void *argument) {
  (void)context;
  pthread_t threads[THREADS];
  piece pieces[THREADS];
  for (int n = 0; n < THREADS; ++n) {
    pieces[n] = (piece){body, argument, items * n / THREADS,
                        items * (n + 1) / THREADS, n};
    if (pthread_create(&threads[n], NULL, run_piece, &pieces[n]))
      exit(2);
  }
  for (int n = 0; n < THREADS; ++n)
    pthread_join(threads[n], NULL);
}

static const torsor_executor executor = {sizeof executor, 0, THREADS, NULL,
                                         loop};

typedef struct {
  torsor_instance *instance;
  float *q, *k, *v, *o, *cached_k, *cached_v;
  int32_t *doc;
  torsor_binding inputs[1];
  torsor_cache *cache;
} host;

static void run(host *h, torsor_op op, const torsor_batch *batch,
                torsor_call *call) {
  call->size = sizeof *call;
  call->batch = batch;
  check(torsor_run(h->instance, op, call, &executor));
}

/// PREFILL, and DECODE of the last queries, of fresh keys.
static void attend(host *h) {
  torsor_batch batch = {
      .size = sizeof batch, .inputs = h->inputs, .input_count = 1};
  torsor_sequence sequence = {.query_length = L, .key_length = L};
  batch.count = 1, batch.sequences = &sequence;
  torsor_call call = {0};
  call.q = torsor_token_major(h->q, TORSOR_F32, 1, L, H, D);
  call.k = torsor_token_major(h->k, TORSOR_F32, 1, L, G, D);
  call.v = torsor_token_major(h->v, TORSOR_F32, 1, L, G, D);
  call.o = torsor_token_major(h->o, TORSOR_F32, 1, L, H, D);
  if (strcmp(kernel, "decode"))
    run(h, TORSOR_PREFILL, &batch, &call);
  sequence.query_start = L - LAST, sequence.query_length = LAST;
  if (wants("decode"))
    run(h, TORSOR_DECODE, &batch, &call);
}

/// APPEND into a cache as long as the sequence, then DECODE from it.
static void step(host *h) {
  torsor_binding stream = h->inputs[0];
  torsor_cache_options options = {.size = sizeof options};
  options.k = torsor_token_major(h->cached_k, TORSOR_F32, 1, L, G, D);
  options.v = torsor_token_major(h->cached_v, TORSOR_F32, 1, L, G, D);
  int32_t *docs = (int32_t *)calloc(L, sizeof *docs);
  stream.tensor = torsor_array(docs, TORSOR_I32, 1, L, 0);
  options.streams = &stream, options.stream_count = 1;
  check(torsor_cache_create(h->instance, &options, &h->cache));
  torsor_sequence sequence = {.query_length = L, .key_length = L};
  h->inputs[0].side = TORSOR_QUERY;
  torsor_batch batch = {.size = sizeof batch,
                        .count = 1,
                        .sequences = &sequence,
                        .inputs = h->inputs,
                        .input_count = 1};
  torsor_call call = {.cache = h->cache};
  call.k = torsor_token_major(h->k, TORSOR_F32, 1, L, G, D);
  call.v = torsor_token_major(h->v, TORSOR_F32, 1, L, G, D);
  run(h, TORSOR_APPEND, &batch, &call);
  call.k = call.v = (torsor_tensor){0};
  call.q = torsor_token_major(h->q, TORSOR_F32, 1, L, H, D);
  call.o = torsor_token_major(h->o, TORSOR_F32, 1, L, H, D);
  sequence.query_start = L - LAST, sequence.query_length = LAST;
  run(h, TORSOR_DECODE, &batch, &call);
  torsor_cache_destroy(h->cache);
  free(docs);
}

static void *attend_alone(void *memory) {
  attend((host *)memory);
  return NULL;
}

int main(int argc, char **argv) {
  if (argc > 1)
    kernel = argv[1];
  if (argc > 2)
    broken = argv[2];
  torsor_library *library;
  torsor_scheme *scheme;
  host h;
  check(torsor_library_link(&torsor_module_kernels, NULL, &library));
  check(torsor_library_find(library, NULL, TORSOR_F32, &scheme));
  check(torsor_instance_create(scheme, H, G, NULL, 0, &h.instance));
  h.q = rows_of("q", L, H * D), h.o = rows_of("o", L, H * D);
  h.k = rows_of("k", L, G * D), h.v = rows_of("v", L, G * D);
  h.cached_k = rows_of("cached-k", L, G * D);
  h.cached_v = rows_of("cached-v", L, G * D);
  int64_t docs = L - !strcmp(broken, "doc");
  h.doc = (int32_t *)calloc((size_t)docs, sizeof *h.doc);
  h.inputs[0] = (torsor_binding){"doc", TORSOR_QUERY | TORSOR_KEY, 0,
                                 torsor_array(h.doc, TORSOR_I32, 1, L, 0)};
  pthread_t other;
  race = !strcmp(kernel, "race");
  pthread_barrier_init(&together, NULL, 2 * THREADS);
  if (race && pthread_create(&other, NULL, attend_alone, &h))
    return 2;
  if (strcmp(kernel, "append"))
    attend(&h);
  if (race)
    pthread_join(other, NULL);
  if (wants("append"))
    step(&h);
  torsor_instance_destroy(h.instance);
  torsor_scheme_destroy(scheme);
  torsor_library_destroy(library);
  free(h.q), free(h.k), free(h.v), free(h.o), free(h.doc);
  free(h.cached_k), free(h.cached_v);
  puts("clean");
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A pool with one lock: enough for an example. */
#include "engine_pool.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct {
  pool *owner;
  int64_t worker;
  pthread_t thread;
} member;

struct pool {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int64_t size, round, running, next, items;
  int stop;
  pool_body body;
  void *argument;
  member *members;
};

/// Takes items one by one until none is left; the lock is held at both ends.
static void work(pool *p, int64_t worker) {
  while (p->next < p->items) {
    int64_t item = p->next++;
    pthread_mutex_unlock(&p->lock);
    p->body(p->argument, item, item + 1, worker);
    pthread_mutex_lock(&p->lock);
  }
}

static void *serve(void *argument) {
  member *self = (member *)argument;
  pool *p = self->owner;
  int64_t seen = 0;
  pthread_mutex_lock(&p->lock);
  for (;;) {
    while (p->round == seen && !p->stop)
      pthread_cond_wait(&p->changed, &p->lock);
    if (p->stop)
      break;
    seen = p->round;
    work(p, self->worker);
    if (--p->running == 0)
      pthread_cond_broadcast(&p->changed);
  }
  pthread_mutex_unlock(&p->lock);
  return NULL;
}

pool *pool_create(int threads) {
  pool *p = (pool *)calloc(1, sizeof *p);
  member *members = (member *)calloc((size_t)threads, sizeof *members);
  if (!p || !members)
    exit(1);
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->changed, NULL);
  p->size = threads, p->members = members;
  for (int n = 1; n < threads; ++n) {
    members[n].owner = p, members[n].worker = n;
    if (pthread_create(&members[n].thread, NULL, serve, &members[n]))
      exit(1);
  }
  return p;
}

void pool_destroy(pool *p) {
  pthread_mutex_lock(&p->lock);
  p->stop = 1;
  pthread_cond_broadcast(&p->changed);
  pthread_mutex_unlock(&p->lock);
  for (int64_t n = 1; n < p->size; ++n)
    pthread_join(p->members[n].thread, NULL);
  free(p->members), free(p);
}

int64_t pool_size(const pool *p) { return p->size; }

void pool_for(pool *p, int64_t items, pool_body body, void *argument) {
  pthread_mutex_lock(&p->lock);
  p->body = body, p->argument = argument;
  p->items = items, p->next = 0;
  p->running = p->size - 1;
  ++p->round;
  pthread_cond_broadcast(&p->changed);
  work(p, 0);
  while (p->running)
    pthread_cond_wait(&p->changed, &p->lock);
  pthread_mutex_unlock(&p->lock);
}

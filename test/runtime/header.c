/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The headers are C11; a C program links libtorsor.a with a C compiler. */
#include "runtime/torsor.h"
#include "runtime/torsor_jit.h"
#include "runtime/torsor_kernel.h"

#include <stdio.h>
#include <string.h>

static void plan(const torsor_kernel_args *args, torsor_kernel_plan *out) {
  out->phases = 1;
  out->items[0] = args->count;
}

/* Writes the number of keys that each query may see. */
static void run(const torsor_kernel_args *args, const torsor_kernel_plan *made,
                uint32_t phase, int64_t begin, int64_t end, void *scratch) {
  const torsor_tensor *o = &args->tensors[TORSOR_AT_O];
  (void)made, (void)phase, (void)scratch;
  for (int64_t b = begin; b < end; ++b) {
    const torsor_sequence *s = &args->sequences[b];
    for (int64_t n = 0; n < s->query_length; ++n)
      ((float *)o->data)[s->query_row * o->strides[0] +
                         (s->query_start + n) * o->strides[2]] =
          (float)(s->query_index + n + 1);
  }
}

static const torsor_kernel_op ops[] = {
    {.op = TORSOR_PREFILL, .plan = plan, .run = run}};
static const torsor_variant variants[] = {
    {.name = "any", .ops = ops, .op_count = 1, .op_size = sizeof ops[0]}};
static const torsor_descriptor scheme = {.size = sizeof scheme,
                                         .name = "counting",
                                         .contract = "head 1",
                                         .head = 1,
                                         .value = 1,
                                         .q = TORSOR_F32,
                                         .k = TORSOR_F32,
                                         .v = TORSOR_F32,
                                         .o = TORSOR_F32,
                                         .variants = variants,
                                         .variant_count = 1,
                                         .variant_size = sizeof variants[0]};
static const torsor_descriptor *const schemes[] = {&scheme};
static const torsor_module module = {.magic = TORSOR_MAGIC,
                                     .size = sizeof module,
                                     .abi = TORSOR_KERNEL_ABI_MAJOR,
                                     .schemes = schemes,
                                     .scheme_count = 1};

static int check(torsor_status status) {
  if (status)
    fprintf(stderr, "%s: %s\n", torsor_status_name(status), torsor_error());
  return status == TORSOR_OK;
}

int main(void) {
  torsor_library *library = NULL;
  torsor_scheme *found = NULL;
  torsor_instance *instance = NULL;
  float q[4] = {0}, k[6] = {0}, v[6] = {0}, o[4] = {0};
  torsor_call call = {.size = sizeof call};
  call.q = torsor_dense(q, TORSOR_F32, 1, 1, 4, 1);
  call.k = torsor_dense(k, TORSOR_F32, 1, 1, 6, 1);
  call.v = torsor_dense(v, TORSOR_F32, 1, 1, 6, 1);
  call.o = torsor_dense(o, TORSOR_F32, 1, 1, 4, 1);
  int ok = check(torsor_library_link(&module, NULL, &library)) &&
           check(torsor_library_find(library, NULL, TORSOR_ANY, &found)) &&
           check(torsor_instance_create(found, 1, 1, NULL, 0, &instance)) &&
           check(torsor_run(instance, TORSOR_ATTEND, &call, NULL));
  for (int n = 0; n < 4; ++n)
    ok = ok && o[n] == (float)(n + 3);
  call.k.shape[1] = 2;
  ok = ok && torsor_run(instance, TORSOR_ATTEND, &call, NULL) == TORSOR_SHAPE &&
       strstr(torsor_error(), "as G") != NULL;
  torsor_instance_destroy(instance);
  torsor_scheme_destroy(found);
  torsor_library_destroy(library);
  puts(ok ? "good" : "bad");
  return !ok;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Just in time: compile a source text, print what is said about it, run it. */
#include <torsor_jit.h>

#include "example.h"

static const char source[] = "torsor 1\n"
                             "scheme windowed(size: int) {\n"
                             "  param  slope: f32[H]\n"
                             "  action split(rope(64, base = 10_000))\n"
                             "  bias   -slope[h] * age\n"
                             "  mask   last(size)\n"
                             "}\n";
static const char misspelt[] = "torsor 1\n"
                               "scheme x { action split(rope(64, bass = 1e4)) "
                               "mask causal }\n";

enum { H = 4, G = 2, L = 100, D = 64 };

/// Compiles and prints every message; NULL where the source has errors.
static torsor_library *compile(torsor_compiler *compiler, const char *text,
                               const torsor_compile_options *options) {
  torsor_diagnostics *diagnostics = NULL;
  torsor_library *library = NULL;
  torsor_status status = torsor_compile(compiler, text, -1, "example.torsor",
                                        options, &diagnostics, &library);
  for (int64_t n = 0; n < torsor_diagnostics_count(diagnostics); ++n) {
    torsor_diagnostic d = {.size = sizeof d};
    check(torsor_diagnostics_at(diagnostics, n, &d));
    printf("%s:%d:%d: %s [%s]\n", d.file, (int)d.line, (int)d.column, d.text,
           d.id);
  }
  if (status != TORSOR_COMPILE)
    check(status);
  torsor_diagnostics_destroy(diagnostics);
  return library;
}

int main(void) {
  torsor_compiler *compiler = NULL;
  torsor_scheme *scheme = NULL;
  torsor_instance *instance = NULL;
  check(torsor_compiler_create(NULL, &compiler));

  /* A mistake is a list of messages, not a crash. */
  if (compile(compiler, misspelt, NULL))
    return 1;

  torsor_setting size = {"size", "32"};
  torsor_compile_options options = {.size = sizeof options,
                                    .flags = TORSOR_REMARKS,
                                    .scheme = "windowed",
                                    .settings = &size,
                                    .setting_count = 1};
  torsor_library *library = compile(compiler, source, &options);
  if (!library)
    return 1;

  float slopes[H] = {0.5f, 0.25f, 0.125f, 0.0625f};
  float *q = numbers(H * L * D, 1), *k = numbers(G * L * D, 2);
  float *v = numbers(G * L * D, 3), *o = numbers(H * L * D, 4);
  float *lse = numbers(H * L, 5);
  torsor_binding params[] = {
      {"slope", 0, 0, torsor_array(slopes, TORSOR_F32, H, 0, 0)}};
  torsor_call call = {.size = sizeof call};
  call.q = torsor_dense(q, TORSOR_F32, 1, H, L, D);
  call.k = torsor_dense(k, TORSOR_F32, 1, G, L, D);
  call.v = torsor_dense(v, TORSOR_F32, 1, G, L, D);
  call.o = torsor_dense(o, TORSOR_F32, 1, H, L, D);
  call.lse = torsor_array(lse, TORSOR_F32, 1, H, L);
  check(torsor_library_find(library, NULL, TORSOR_ANY, &scheme));
  check(torsor_instance_create(scheme, H, G, params, 1, &instance));
  check(torsor_run(instance, TORSOR_ATTEND, &call, NULL));

  /* The first query sees its own key only: its output is that value. */
  int wrong = report("first row against its value", difference(o, v, D));

  torsor_instance_destroy(instance);
  torsor_scheme_destroy(scheme);
  torsor_library_destroy(library);
  torsor_compiler_destroy(compiler);
  free(q), free(k), free(v), free(o), free(lse);
  return wrong;
}

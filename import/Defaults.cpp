// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes that published configs leave out: those of each family's own class.
// The text parts of multimodal checkpoints hold only what differs from them.
#include "import/Defaults.h"

using namespace torsor;

/// As transformers 5.24.0 has them.
static constexpr FamilyDefaults defaults[] = {
    // A head's width of its own, whatever the hidden size is.
    {.type = "gemma", .width = 3072, .heads = 16, .head = 256},
    {.type = "gemma2", .width = 2304, .heads = 8, .head = 256, .layers = 26},
    {.type = "gemma3_text",
     .width = 2304,
     .heads = 8,
     .head = 256,
     .layers = 26},
    {.type = "gemma3n_text",
     .width = 2048,
     .heads = 8,
     .head = 256,
     .layers = 35},
    {.type = "gemma4_text",
     .width = 2304,
     .heads = 8,
     .head = 256,
     .layers = 30},
    {.type = "gpt_oss", .width = 2880, .heads = 64, .head = 64, .layers = 36},
    {.type = "llama4_text",
     .width = 5120,
     .heads = 40,
     .head = 128,
     .layers = 48},
    {.type = "qwen3", .width = 4096, .heads = 32, .head = 128},
    {.type = "qwen3_vl_text", .width = 4096, .heads = 32, .head = 128},
    {.type = "qwen3_next",
     .width = 2048,
     .heads = 16,
     .head = 256,
     .layers = 48},
    {.type = "qwen3_5_text",
     .width = 4096,
     .heads = 16,
     .head = 256,
     .layers = 32},
    {.type = "qwen3_5_moe_text",
     .width = 2048,
     .heads = 16,
     .head = 256,
     .layers = 40},
    {.type = "glm", .width = 4096, .heads = 32, .head = 128},
    {.type = "glm4", .width = 4096, .heads = 32, .head = 128},
    {.type = "seed_oss", .width = 4096, .heads = 80, .head = 128},
    {.type = "ernie4_5", .width = 1024, .heads = 16, .head = 128},
    {.type = "ministral3", .width = 4096, .heads = 32, .head = 128},
    {.type = "internlm3", .width = 4096, .heads = 32, .head = 128},
    {.type = "minimax_m2", .width = 3072, .heads = 48, .head = 128},
    {.type = "helium", .width = 2560, .heads = 20, .head = 128},
    {.type = "nemotron_h", .width = 4096, .heads = 32, .head = 128},
    {.type = "step3p5", .width = 4096, .heads = 64, .head = 128},
    {.type = "mimo_v2_flash",
     .width = 4096,
     .heads = 64,
     .head = 192,
     .layers = 48},
    // Hidden size over heads.
    {.type = "llama", .width = 4096, .heads = 32},
    {.type = "mistral", .width = 4096, .heads = 32},
    {.type = "mixtral", .width = 4096, .heads = 32},
    {.type = "qwen2", .width = 4096, .heads = 32},
    {.type = "qwen2_vl_text", .width = 8192, .heads = 64},
    {.type = "qwen2_5_vl_text", .width = 8192, .heads = 64},
    {.type = "qwen3_moe", .width = 2048, .heads = 32},
    {.type = "phi3", .width = 3072, .heads = 32},
};

const FamilyDefaults *torsor::findDefaults(std::string_view type) {
  for (const FamilyDefaults &family : defaults)
    if (family.type == type)
      return &family;
  return nullptr;
}

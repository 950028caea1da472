// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Hints for words that other languages have taught, and for misspelt ones.
#include "frontend/Habits.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSwitch.h"

#include <algorithm>

using namespace torsor;

/// Edit distance in which two swapped neighbours count as one edit.
static unsigned getDistance(llvm::StringRef a, llvm::StringRef b) {
  size_t width = b.size() + 1;
  llvm::SmallVector<unsigned> table((a.size() + 1) * width);
  auto at = [&](size_t i, size_t j) -> unsigned & {
    return table[i * width + j];
  };
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        at(i, j) = unsigned(i + j);
        continue;
      }
      unsigned best = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1,
                                at(i - 1, j - 1) + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        best = std::min(best, at(i - 2, j - 2) + 1);
      at(i, j) = best;
    }
  return at(a.size(), b.size());
}

llvm::StringRef torsor::getNearest(llvm::StringRef word,
                                   llvm::ArrayRef<llvm::StringRef> candidates) {
  // Longer words are no misspellings, and the table stays small.
  if (word.size() < 2 || word.size() > 64)
    return {};
  size_t limit = std::max<size_t>(1, (word.size() + 1) / 3);
  llvm::StringRef nearest;
  for (llvm::StringRef candidate : candidates) {
    if (candidate.size() > word.size() + limit ||
        candidate.size() + limit < word.size() || candidate == word)
      continue;
    unsigned distance = getDistance(word, candidate);
    if (distance < std::min<size_t>(candidate.size(), limit + 1)) {
      limit = distance - 1;
      nearest = candidate;
      if (distance <= 1)
        break;
    }
  }
  return nearest;
}

llvm::StringRef torsor::getHabitHint(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Cases({"True", "TRUE"}, "write 'true'")
      .Cases({"False", "FALSE"}, "write 'false'")
      .Cases({"None", "none", "null", "nil", "nullptr", "undefined"},
             "every expression has a value; leave the clause out")
      .Case("lambda", "functions are defined with 'fn' and have names")
      .Cases({"range", "arange"},
             "a list is written [for p < n: …], a sum 'sum p < n: …'")
      .Cases({"q_idx", "query_idx", "q_index", "q_pos", "row_idx"},
             "the query's index is 'i', its position 's'")
      .Cases({"kv_idx", "k_idx", "key_idx", "k_index", "k_pos", "col_idx"},
             "the key's index is 'j', its position 't'")
      .Cases({"head_idx", "head_index", "h_idx"}, "the query head is 'h'")
      .Cases({"num_heads", "n_heads", "nheads", "heads", "n_head",
              "num_attention_heads"},
             "the number of query heads is 'H'")
      .Cases({"num_kv_heads", "num_key_value_heads", "n_kv_heads", "kv_heads"},
             "the number of key heads is 'G'")
      .Cases({"head_dim", "d_head", "head_size", "hidden_size", "dim", "d_k",
              "d_qk"},
             "the head width is 'D', set by the clause 'head'")
      .Cases({"d_v", "value_dim"}, "the width of values is 'V'")
      .Cases({"seq_len", "seqlen", "seq_length", "kv_len", "context_length"},
             "the number of tokens so far is 'N'")
      .Cases({"layer_idx", "layer_id", "layer_index"},
             "the layer's index is 'layer', known in a stack")
      .Cases({"num_layers", "num_hidden_layers", "n_layers"},
             "the number of layers is 'L', known in a stack")
      .Cases({"rope_theta", "rotary_base", "rope_base"},
             "the base of a spectrum is its argument 'base'")
      .Cases({"softmax_scale", "sm_scale", "attn_scale"},
             "the factor of the score is the clause 'scale'")
      .Cases({"sliding_window", "window_size"},
             "a window is the condition last(…) of the clause 'mask'")
      .Cases({"where", "select", "when"},
             "a choice is written 'if c then a else b'")
      .Cases({"distance", "dist", "rel_pos", "relative_position"},
             "the distance 's - t' is 'age'")
      .Cases({"ln"}, "the natural logarithm is 'log'")
      .Cases({"pow", "power"}, "a power is written x ^ y")
      .Cases({"round", "trunc"}, "write floor(x + 0.5)")
      .Cases({"float", "double"}, "a number becomes real where one is needed")
      .Case("int", "an int is made of a real by floor(…)")
      .Case("relu", "write max(x, 0)")
      .Cases({"logsigmoid", "log_sigmoid"}, "write -softplus(-x)")
      .Cases({"rsqrt", "inverse_sqrt"}, "write 1 / sqrt(x)")
      .Cases({"sign", "sgn"}, "write (if x < 0 then -1 else 1)")
      .Cases({"len", "length", "size"},
             "a vector's length has the name that its type gives it: "
             "'v: real[n]'")
      .Cases({"cumsum", "prefix_sum", "scan"},
             "a running sum is 'clock c = sum l <= j: …'")
      .Cases({"matmul", "inner", "einsum"}, "a product of vectors is dot(u, v)")
      .Cases({"concat", "cat", "stack_lanes"},
             "actions side by side are written A + B")
      .Cases({"half", "halves", "rotate_half", "neox"},
             "lane p pairs with p + width/2 in split(…)")
      .Cases({"interleaved", "interleave", "gptj", "pairs"},
             "lanes 2p and 2p + 1 pair in adjacent(…)")
      .Cases({"nope", "identity", "eye"}, "lanes without position are zero(n)")
      .Case("softmax", "the readout is softmax; a term of the logit comes "
                       "before it")
      .Cases({"v", "values"}, "no term of the logit reads values; what is "
                              "added to them is 'value_bias'")
      .Cases({"minimum", "fmin"}, "write min(x, y)")
      .Cases({"maximum", "fmax"}, "write max(x, y)")
      .Cases({"rotate", "rotary"}, "write rope(width, base = …)")
      .Default("");
}

llvm::StringRef torsor::getClauseHint(llvm::StringRef word) {
  return llvm::StringSwitch<llvm::StringRef>(word)
      .Cases({"head_dim", "d_head", "head_size", "width", "dim"},
             "write 'head …'")
      .Cases({"softmax_scale", "sm_scale", "attn_scale"}, "write 'scale …'")
      .Cases({"rope_theta", "rotary_base", "base", "theta"},
             "the base is an argument: split(rope(width, base = …))")
      .Cases({"rope", "rotation", "rotary", "rotate"},
             "write 'action split(rope(width, base = …))'")
      .Cases({"sliding_window", "window", "window_size", "last"},
             "write 'mask last(…)'")
      .Cases({"causal", "all", "chunk"}, "a condition follows the word 'mask'")
      .Cases({"split", "adjacent", "decay", "gain", "zero", "turn", "jordan",
              "plane", "basis"},
             "an action follows the word 'action'")
      .Cases({"when", "unless"}, "a choice is written 'if c then a else b'")
      .Case("xor", "'exactly one' is written 'a and not b or b and not a'")
      .Cases({"layer", "layers"},
             "layers stand in a stack: 'stack name { layers n  use … }'")
      .Cases(
          {"i32", "i64", "f16", "bf16", "f32", "f64", "int", "float", "real"},
          "a type stands behind ':', as in 'clock time: f64'")
      .Cases({"alibi", "slope"},
             "write 'bias -alibi_slope(h, heads = H) * age'")
      .Cases({"logits_soft_cap", "logit_softcap", "soft_cap", "cap"},
             "write 'softcap …'")
      .Cases({"sinks", "attention_sink"}, "write 'sink …'")
      .Cases({"position", "positions", "position_ids"},
             "positions are the clock 'pos', given by the call")
      .Cases({"softmax", "linear", "delta"}, "write 'readout …'")
      .Cases({"def", "function", "func"},
             "functions stand outside schemes: 'fn name(x: real) -> real = …'")
      .Cases({"const", "var", "val", "set", "auto"}, "write 'let name = …'")
      .Cases({"assert", "check"}, "write 'require condition, \"rule\"'")
      .Default("");
}

llvm::StringRef torsor::getItemHint(llvm::StringRef word) {
  return llvm::StringSwitch<llvm::StringRef>(word)
      .Cases({"def", "function", "func", "lambda"},
             "a function is written 'fn name(x: real) -> real = …'")
      .Cases({"class", "struct", "kernel", "attention"},
             "write 'scheme name { … }'")
      .Cases({"const", "var", "val", "set", "auto"}, "write 'let name = …'")
      .Cases({"model", "layers", "network"}, "write 'stack name { … }'")
      .Cases({"include", "use", "from", "using"},
             "another file is named at the head: import \"file.torsor\"")
      .Default("");
}

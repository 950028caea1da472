// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plain attention behind the kernel ABI: prefill, decode with splits, append,
// merge. It computes in f64 and reads addresses as a generated kernel does.

#include "test/runtime/Naive.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace naive {

namespace {

constexpr double none = -INFINITY;

template <class T>
T *at(const torsor_tensor &t, int64_t row, int64_t second, int64_t third = 0) {
  int64_t offset = row * t.strides[0] + second * t.strides[1];
  if (t.rank > 3 || (t.rank == 3 && third))
    offset += third * t.strides[2];
  return static_cast<T *>(t.data) + offset;
}

const torsor_tensor &argument(const torsor_kernel_args &args, int a,
                              bool key = false) {
  return args.tensors[TORSOR_AT_SCHEME + 2 * a + key];
}

int64_t indexOf(const torsor_tensor &indices, int64_t row, int64_t token,
                int64_t first, int64_t n) {
  return indices.data ? *at<const int64_t>(indices, row, token) : first + n;
}

/// One token of a sequence: where it lies and what it is.
struct Token {
  int64_t row, place, index, pos, doc;
};

template <bool Full>
Token token(const torsor_kernel_args &args, const torsor_sequence &s, bool key,
            int64_t n) {
  Token t;
  t.row = key ? s.key_row : s.query_row;
  t.place = (key ? s.key_start : s.query_start) + n;
  t.index = indexOf(
      args.tensors[key ? TORSOR_AT_KEY_INDICES : TORSOR_AT_QUERY_INDICES],
      t.row, t.place, key ? s.key_index : s.query_index, n);
  t.pos = t.index, t.doc = 0;
  if (!Full)
    return t;
  const torsor_tensor &pos = argument(args, Pos, key);
  if (pos.data)
    t.pos = *at<const int32_t>(pos, t.row, t.place);
  t.doc = *at<const int32_t>(argument(args, Doc, key), t.row, t.place);
  return t;
}

const float *turnsOf(const torsor_kernel_args &args) {
  return static_cast<const float *>(argument(args, Turn).data);
}

void turn(double *x, const float *turns, double position) {
  for (int64_t p = 0; p < head / 2; ++p) {
    double c = std::cos(position * turns[p]), s = std::sin(position * turns[p]);
    double a = x[2 * p], b = x[2 * p + 1];
    x[2 * p] = a * c - b * s, x[2 * p + 1] = a * s + b * c;
  }
}

/// The logit of a pair, -inf where it is hidden.
template <bool Full>
double logit(const torsor_kernel_args &args, const torsor_sequence &s,
             int64_t h, int64_t queryNumber, int64_t keyNumber) {
  Token q = token<Full>(args, s, false, queryNumber);
  Token k = token<Full>(args, s, true, keyNumber);
  if (q.index < 0 || k.index < 0 || k.index > q.index || q.doc != k.doc)
    return none;
  double x[head], y[head], score = 0;
  const float *qs =
      at<const float>(args.tensors[TORSOR_AT_Q], q.row, h, q.place);
  const float *ks = at<const float>(args.tensors[TORSOR_AT_K], k.row,
                                    h / (args.heads / args.groups), k.place);
  std::copy(qs, qs + head, x), std::copy(ks, ks + head, y);
  if (Full) {
    turn(x, turnsOf(args), double(q.pos));
    if (!(args.flags & TORSOR_KEYS_ACTED))
      turn(y, turnsOf(args), double(k.pos));
  }
  for (int64_t d = 0; d < head; ++d)
    score += x[d] * y[d];
  score /= std::sqrt(double(head));
  if (!Full)
    return score;
  // slope comes through the tables that `bind` made
  score -= static_cast<const double *>(args.tables)[h] * double(q.pos - k.pos);
  const torsor_tensor &gain = argument(args, Gain);
  score *= static_cast<const float *>(gain.data)[h * gain.strides[0]];
  const torsor_tensor &bonus = argument(args, Bonus);
  return score +
         static_cast<const float *>(bonus.data)[s.reserved * bonus.strides[0]];
}

const float *valueAt(const torsor_kernel_args &args, const torsor_sequence &s,
                     int64_t h, int64_t n) {
  return at<const float>(args.tensors[TORSOR_AT_V], s.key_row,
                         h / (args.heads / args.groups), s.key_start + n);
}

/// A softmax under way.
struct Sum {
  double most = none, weight = 0, out[value] = {};

  void rescale(double to) {
    if (to <= most)
      return;
    double factor = most == none ? 0 : std::exp(most - to);
    weight *= factor;
    for (double &x : out)
      x *= factor;
    most = to;
  }
  template <class T> void add(double z, double w, const T *v) {
    if (z == none || w == 0)
      return;
    rescale(z);
    double factor = std::exp(z - most) * w;
    weight += factor;
    for (int64_t d = 0; d < value; ++d)
      out[d] += factor * v[d];
  }
  void addSink(double z) {
    if (most == none)
      return; // an empty row stays empty
    rescale(z);
    weight += std::exp(z - most);
  }
};

template <bool Full>
void finish(const torsor_kernel_args &args, const torsor_sequence &s, int64_t h,
            int64_t n, Sum sum) {
  if (Full && !(s.flags & TORSOR_PARTIAL))
    sum.addSink(static_cast<const float *>(argument(args, Sink).data)[h]);
  float *o =
      at<float>(args.tensors[TORSOR_AT_O], s.query_row, h, s.query_start + n);
  for (int64_t d = 0; d < value; ++d)
    o[d] = sum.most == none ? 0.f : float(sum.out[d] / sum.weight);
  const torsor_tensor &lse = args.tensors[TORSOR_AT_LSE];
  if (lse.data)
    at<float>(lse, s.query_row, h)[(s.query_start + n) * lse.strides[2]] =
        float(sum.most == none ? none : sum.most + std::log(sum.weight));
}

/// Rows of all sequences, each with all heads; calls body(sequence, h, n).
template <class Body>
void forRows(const torsor_kernel_args &args, int64_t begin, int64_t end,
             Body body) {
  int64_t first = 0;
  for (int64_t b = 0; b < args.count && first < end; ++b) {
    const torsor_sequence &s = args.sequences[b];
    int64_t items = s.query_length * args.heads;
    for (int64_t x = std::max(begin, first); x < std::min(end, first + items);
         ++x)
      body(s, (x - first) % args.heads, (x - first) / args.heads);
    first += items;
  }
}

int64_t countRows(const torsor_kernel_args &args) {
  int64_t rows = 0;
  for (int64_t b = 0; b < args.count; ++b)
    rows += args.sequences[b].query_length * args.heads;
  return rows;
}

void prefillPlan(const torsor_kernel_args *args, torsor_kernel_plan *plan) {
  plan->phases = 1;
  plan->items[0] = countRows(*args);
  for (int64_t b = 0; b < args->count; ++b)
    plan->scratch_bytes =
        std::max(plan->scratch_bytes, args->sequences[b].key_length * 8);
  plan->flops = double(plan->items[0]) * 1e6;
}

/// Logits go through the worker's scratch.
template <bool Full>
void prefillRun(const torsor_kernel_args *args, const torsor_kernel_plan *,
                uint32_t, int64_t begin, int64_t end, void *scratch) {
  double *logits = static_cast<double *>(scratch);
  forRows(*args, begin, end,
          [&](const torsor_sequence &s, int64_t h, int64_t n) {
            for (int64_t j = 0; j < s.key_length; ++j)
              logits[j] = logit<Full>(*args, s, h, n, j);
            Sum sum;
            for (int64_t j = 0; j < s.key_length; ++j)
              sum.add(logits[j], 1, valueAt(*args, s, h, j));
            finish<Full>(*args, s, h, n, sum);
          });
}

int64_t splitsOf(const torsor_sequence &s) {
  return (s.key_length + split - 1) / split;
}

void decodePlan(const torsor_kernel_args *args, torsor_kernel_plan *plan) {
  plan->phases = 2;
  for (int64_t b = 0; b < args->count; ++b)
    plan->items[0] += args->sequences[b].query_length * args->heads *
                      splitsOf(args->sequences[b]);
  plan->items[1] = countRows(*args);
  plan->workspace_bytes = plan->items[0] * int64_t(sizeof(Sum));
  plan->flops = double(plan->items[0]) * 1e6;
}

template <bool Full>
void decodeRun(const torsor_kernel_args *args, const torsor_kernel_plan *,
               uint32_t phase, int64_t begin, int64_t end, void *) {
  Sum *sums = static_cast<Sum *>(args->workspace);
  int64_t first = 0, row = 0;
  for (int64_t b = 0; b < args->count; ++b) {
    const torsor_sequence &s = args->sequences[b];
    int64_t splits = splitsOf(s);
    for (int64_t n = 0; n < s.query_length; ++n)
      for (int64_t h = 0; h < args->heads; ++h, ++row, first += splits) {
        for (int64_t x = 0; x < splits && phase == 0; ++x) {
          if (first + x < begin || first + x >= end)
            continue;
          Sum sum;
          int64_t last = std::min(s.key_length, (x + 1) * split);
          for (int64_t j = x * split; j < last; ++j)
            sum.add(logit<Full>(*args, s, h, n, j), 1, valueAt(*args, s, h, j));
          sums[first + x] = sum;
        }
        if (phase == 0 || row < begin || row >= end)
          continue;
        Sum all;
        for (int64_t x = 0; x < splits; ++x) {
          const Sum &part = sums[first + x];
          all.rescale(part.most);
          double factor =
              part.most == none ? 0 : std::exp(part.most - all.most);
          all.weight += part.weight * factor;
          for (int64_t d = 0; d < value; ++d)
            all.out[d] += part.out[d] * factor;
        }
        finish<Full>(*args, s, h, n, all);
      }
  }
}

void appendPlan(const torsor_kernel_args *args, torsor_kernel_plan *plan) {
  plan->phases = 1;
  for (int64_t b = 0; b < args->count; ++b)
    plan->items[0] += args->sequences[b].query_length;
}

template <bool Full>
void storeToken(const torsor_kernel_args &args, const torsor_sequence &s,
                int64_t n) {
  const torsor_tensor *streams =
      args.tensors + TORSOR_AT_SCHEME + 2 * (Full ? int(ArgumentCount) : 0);
  int64_t row = s.key_row;
  int64_t slot = s.key_start + s.key_length - s.query_length + n;
  if (args.slots) {
    int64_t given = args.slots[s.shift + n];
    if (given < 0)
      return;
    row = given / args.page, slot = given % args.page;
  }
  int64_t place = s.query_start + n;
  int64_t index = indexOf(args.tensors[TORSOR_AT_QUERY_INDICES], s.query_row,
                          place, s.query_index, n);
  int64_t pos = index;
  if (Full && argument(args, Pos).data)
    pos = *at<const int32_t>(argument(args, Pos), s.query_row, place);
  for (int64_t g = 0; g < args.groups; ++g) {
    const float *k =
        at<const float>(args.tensors[TORSOR_AT_K], s.query_row, g, place);
    double x[head];
    std::copy(k, k + head, x);
    if (Full)
      turn(x, turnsOf(args), double(pos));
    std::copy(x, x + head, at<float>(streams[K], row, g, slot));
    const float *v =
        at<const float>(args.tensors[TORSOR_AT_V], s.query_row, g, place);
    std::copy(v, v + value, at<float>(streams[V], row, g, slot));
  }
  if (!Full)
    return;
  if (streams[PosStream].data)
    *at<int32_t>(streams[PosStream], row, slot) = int32_t(pos);
  if (streams[DocStream].data)
    *at<int32_t>(streams[DocStream], row, slot) =
        *at<const int32_t>(argument(args, Doc), s.query_row, place);
  if (streams[Index].data)
    *at<int64_t>(streams[Index], row, slot) = index;
}

template <bool Full>
void appendRun(const torsor_kernel_args *args, const torsor_kernel_plan *,
               uint32_t, int64_t begin, int64_t end, void *) {
  int64_t first = 0;
  for (int64_t b = 0; b < args->count; ++b) {
    const torsor_sequence &s = args->sequences[b];
    for (int64_t n = 0; n < s.query_length; ++n)
      if (first + n >= begin && first + n < end)
        storeToken<Full>(*args, s, n);
    first += s.query_length;
  }
}

void mergePlan(const torsor_kernel_args *args, torsor_kernel_plan *plan) {
  plan->phases = 1;
  plan->items[0] = countRows(*args);
}

template <bool Full>
void mergeRun(const torsor_kernel_args *args, const torsor_kernel_plan *,
              uint32_t, int64_t begin, int64_t end, void *) {
  forRows(
      *args, begin, end, [&](const torsor_sequence &s, int64_t h, int64_t n) {
        Sum sum;
        for (int64_t p = 0; p < args->part_count; ++p) {
          const torsor_part &part = args->parts[p];
          double lse =
              at<const float>(part.lse, s.query_row, h)[s.query_start + n];
          sum.add(lse, 1,
                  at<const float>(part.o, s.query_row, h, s.query_start + n));
        }
        finish<Full>(*args, s, h, n, sum);
      });
}

constexpr uint32_t abilities = TORSOR_CAN_PARTIAL | TORSOR_CAN_LSE;
constexpr uint32_t tokenReads = TORSOR_READS_QUERY | TORSOR_READS_KEY;

/// What each operation of `full` reads, in the order of its arguments.
const uint8_t attendReads[ArgumentCount] = {tokenReads, tokenReads, 1, 1,
                                            1,          1,          1};
const uint8_t appendReads[ArgumentCount] = {TORSOR_READS_KEY, 0, 0, 0, 0, 0, 1};
const uint8_t mergeReads[ArgumentCount] = {0, 0, 0, 0, 0, 1, 0};

} // namespace

const torsor_kernel_op plainOps[4] = {
    {TORSOR_PREFILL, abilities, prefillPlan, prefillRun<false>, nullptr},
    {TORSOR_DECODE, abilities, decodePlan, decodeRun<false>, nullptr},
    {TORSOR_APPEND, 0, appendPlan, appendRun<false>, nullptr},
    {TORSOR_MERGE, abilities, mergePlan, mergeRun<false>, nullptr}};
const torsor_kernel_op fullOps[4] = {
    {TORSOR_PREFILL, abilities, prefillPlan, prefillRun<true>, attendReads},
    {TORSOR_DECODE, abilities, decodePlan, decodeRun<true>, attendReads},
    {TORSOR_APPEND, 0, appendPlan, appendRun<true>, appendReads},
    {TORSOR_MERGE, abilities, mergePlan, mergeRun<true>, mergeReads}};

} // namespace naive

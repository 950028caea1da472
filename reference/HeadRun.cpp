// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scores, and the softmax, linear and delta readouts.
#include "reference/HeadRun.h"

#include "llvm/ADT/DenseMap.h"

#include <cmath>
#include <limits>

namespace torsor::reference {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The pair of a key in hand and another key in the place of the query.
class Shift : public Values {
public:
  Shift(const Evaluator &values, const Action &action, int64_t key)
      : values(values), key(key) {
    collect(action);
  }
  const Cell &cell(int node) const override {
    auto twin = twins.find(node);
    return twin == twins.end() ? values.cell(node)
                               : values.cellAtKey(twin->second, key);
  }
  Eigen::MatrixXd matrix(int argument, int64_t width) const override {
    return values.matrix(argument, width);
  }

private:
  void collect(const Action &action) {
    if (action.place.query >= 0)
      twins[action.place.query] = action.place.key;
    for (auto &part : action.parts)
      collect(*part);
  }

  const Evaluator &values;
  int64_t key;
  llvm::DenseMap<int, int> twins; ///< The query's time to the key's.
};

} // namespace

HeadRun::HeadRun(const Program &program, const Problem &problem,
                 const Tokens &tokens, Evaluator &values, int64_t head)
    : program(program), problem(problem), tokens(tokens), values(values),
      applier(program, values, problem.exponential), head(head),
      group(head / (problem.heads / problem.groups)),
      actedKeys(program.storage * tokens.keys()), actedQuery(program.storage),
      valueRows(program.value * tokens.keys()) {
  values.startHead(head);
  for (int64_t key = 0; key < tokens.keys(); ++key) {
    values.startKey(key);
    if (program.action)
      actOnKey(*program.action, key);
    double *row = valueRows.data() + key * program.value;
    loadValue(key, row);
    if (program.valueAction && program.valueBias < 0)
      applier.apply(*program.valueAction, row, Mode::Key);
  }
}

void HeadRun::loadValue(int64_t key, double *to) const {
  bool ofKey = program.valueLow >= 0;
  const HostArray &from = ofKey ? problem.k : problem.v;
  int64_t offset = tokens.keyOffset(from, group, key);
  for (int64_t n = 0; n < program.value; ++n)
    to[n] = from.real(offset +
                      (n + (ofKey ? program.valueLow : 0)) * from.strides[3]);
}

std::vector<double> HeadRun::gather(const Action &action,
                                    const double *from) const {
  std::vector<double> x(action.width);
  for (int64_t n = 0; n < action.width; ++n)
    x[n] = from[action.lanes[n]];
  return x;
}

/// Whether assignStorage went past this action to its parts.
static bool isScoredByParts(const Action &action) {
  return action.kind == Action::Concat || action.kind == Action::Split ||
         action.kind == Action::Same || action.kind == Action::Gain ||
         action.kind == Action::Choose;
}

void HeadRun::actOnKey(const Action &action, int64_t key) {
  if (action.storage < 0) {
    if (isScoredByParts(action))
      for (auto &part : action.parts)
        actOnKey(*part, key);
    return;
  }
  std::vector<double> x = gather(action, values.key(key));
  applier.apply(action, x.data(), Mode::Key);
  std::copy(x.begin(), x.end(),
            actedKeys.begin() + key * program.storage + action.storage);
}

void HeadRun::actOnQuery(const Action &action) {
  if (action.storage < 0) {
    if (isScoredByParts(action))
      for (auto &part : action.parts)
        actOnQuery(*part);
    return;
  }
  std::vector<double> x = gather(action, values.query());
  applier.apply(action, x.data(), Mode::Query);
  std::copy(x.begin(), x.end(), actedQuery.begin() + action.storage);
}

static double dot(const double *a, const double *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i)
    sum += a[i] * b[i];
  return sum;
}

/// What fades as exp((t - s) X) on the key, since its halves may leave the
/// range of doubles; turns and gains on either side, as everywhere: infinity
/// turned by t and then by -s is not infinity turned by t - s.
double HeadRun::scoreOfPair(const Action &action, int64_t key) {
  std::vector<double> q = gather(action, values.query());
  std::vector<double> k = gather(action, values.key(key));
  applier.apply(action, k.data(), Mode::PairKey);
  applier.apply(action, q.data(), Mode::PairQuery);
  return dot(q.data(), k.data(), action.width);
}

double HeadRun::score(const Action &action, int64_t key, double &addend) {
  if (action.storage >= 0)
    return dot(actedQuery.data() + action.storage,
               actedKeys.data() + key * program.storage + action.storage,
               action.width);
  switch (action.kind) {
  case Action::Unipotent:
    addend += values.cell(action.a).f * applier.displacement(action.place);
    return 0;
  case Action::Choose:
    return score(*action.parts[values.cell(action.a).i ? 0 : 1], key, addend);
  case Action::Gain: {
    double by = values.cell(action.a).f;
    return by * by * score(*action.parts[0], key, addend);
  }
  case Action::Concat:
  case Action::Split:
  case Action::Same: {
    double sum = 0;
    for (auto &part : action.parts)
      sum += score(*part, key, addend);
    return sum;
  }
  default:
    return scoreOfPair(action, key);
  }
}

double HeadRun::logit(int64_t key, PairTrace &trace) {
  values.startKey(key);
  values.computePair();
  double addend = 0;
  trace.score = program.action
                    ? score(*program.action, key, addend)
                    : dot(values.query(), values.key(key), program.head);
  values.computeScore(trace.score);
  if (program.logit >= 0)
    return values.cell(program.logit).f;
  double scale = program.scale >= 0 ? values.cell(program.scale).f
                                    : 1 / std::sqrt(double(program.head));
  double z = scale * trace.score;
  if (program.softcap >= 0) {
    double cap = values.cell(program.softcap).f;
    z = cap * std::tanh(z / cap);
  }
  if (program.bias >= 0)
    z += values.cell(program.bias).f;
  return z + addend;
}

void HeadRun::softmax(const std::vector<double> &z, double *o, double *lse) {
  int64_t width = program.value;
  double top = -infinity;
  bool broken = false;
  for (double x : z) {
    broken |= std::isnan(x) || x == infinity;
    top = std::max(top, x);
  }
  if (top == -infinity && !broken) { // nothing seen, or only weights of 0
    std::fill(o, o + width, 0.0);
    *lse = -infinity;
    return;
  }
  bool sinks = program.sink >= 0 && !tokens.run().partial;
  double sink = sinks ? values.cell(program.sink).f : -infinity;
  broken |= std::isnan(sink) || sink == infinity;
  if (broken) {
    std::fill(o, o + width, std::nan(""));
    *lse = std::nan("");
    return;
  }
  top = std::max(top, sink);
  double sum = sinks ? std::exp(sink - top) : 0;
  std::fill(o, o + width, 0.0);
  for (size_t n = 0; n < z.size(); ++n) {
    if (z[n] == -infinity)
      continue;
    double weight = std::exp(z[n] - top);
    sum += weight;
    const double *row = program.valueBias >= 0
                            ? biasRows.data() + int64_t(n) * width
                            : valueRows.data() + seen[n] * width;
    for (int64_t c = 0; c < width; ++c)
      o[c] += weight * row[c];
  }
  for (int64_t c = 0; c < width; ++c)
    o[c] /= sum;
  *lse = top + std::log(sum);
}

/// The condition of the division by the divisor (Output::condition), `size`
/// being the sum of |z|. Leaves the divisor of `total` in its cell.
double HeadRun::divide(double total, double size) {
  auto divisorOf = [&](double value) {
    values.computeTotal(value);
    return values.cell(program.divisor).f;
  };
  // As far off as the total of a kernel in f32 may be.
  double step = size * 0x1p-20;
  double above = divisorOf(total + step), below = divisorOf(total - step);
  double divisor = divisorOf(total);
  if (size == 0)
    return 0;
  double change =
      std::max(std::abs(above - divisor), std::abs(below - divisor));
  return size / std::abs(divisor) * std::max(1.0, change / step);
}

void HeadRun::linear(const std::vector<double> &z, double *o, double *lse,
                     double *condition) {
  int64_t width = program.value;
  std::fill(o, o + width, 0.0);
  double total = 0, size = 0;
  for (size_t n = 0; n < z.size(); ++n) {
    total += z[n];
    size += std::abs(z[n]);
    const double *row = program.valueBias >= 0
                            ? biasRows.data() + int64_t(n) * width
                            : valueRows.data() + seen[n] * width;
    for (int64_t c = 0; c < width; ++c)
      o[c] += z[n] * row[c];
  }
  *lse = z.empty() ? -infinity : total;
  if (program.divisor < 0 || tokens.run().partial || z.empty())
    return;
  *condition = divide(total, size);
  for (int64_t c = 0; c < width; ++c)
    o[c] /= values.cell(program.divisor).f;
}

void HeadRun::attend(double *o, double *lse, double *condition,
                     std::vector<PairTrace> &row) {
  visible.assign(tokens.keys(), 0);
  seen.clear();
  for (int64_t key = 0; key < tokens.keys(); ++key) {
    values.startKey(key);
    if (tokens.keyIndex(key) < 0 || !values.computeMask())
      continue;
    visible[key] = 1;
    seen.push_back(int(key));
  }
  values.setVisible(visible);
  if (program.action)
    actOnQuery(*program.action);
  std::vector<double> z;
  biasRows.clear();
  for (int key : seen) {
    row[key].visible = true;
    row[key].logit = logit(key, row[key]);
    z.push_back(row[key].logit);
    if (program.valueBias < 0)
      continue;
    std::vector<double> sum(valueRows.begin() + key * program.value,
                            valueRows.begin() + (key + 1) * program.value);
    for (int64_t c = 0; c < program.value; ++c)
      sum[c] += values.cell(program.valueBias).reals[c];
    if (program.valueAction)
      applier.apply(*program.valueAction, sum.data(), Mode::Key);
    biasRows.insert(biasRows.end(), sum.begin(), sum.end());
  }
  if (program.readout == Program::Softmax)
    softmax(z, o, lse);
  else
    linear(z, o, lse, condition);
  if (program.valueAction)
    applier.apply(*program.valueAction, o, Mode::Back);
}

void HeadRun::run(Output &output, std::vector<PairTrace> *trace) {
  if (program.readout == Program::Delta)
    return delta(output);
  int64_t length = output.shape[2], heads = output.shape[1];
  std::vector<PairTrace> row;
  for (int64_t query = 0; query < tokens.queries(); ++query) {
    int64_t at = (tokens.run().queryRow * heads + head) * length +
                 tokens.run().queryStart + query;
    double *o = output.o.data() + at * program.value, unused, noCondition;
    double *lse = output.lse.empty() ? &unused : output.lse.data() + at;
    double *condition =
        output.condition.empty() ? &noCondition : output.condition.data() + at;
    row.assign(tokens.keys(), {});
    if (tokens.queryIndex(query) < 0) {
      std::fill(o, o + program.value, 0.0);
      *lse = -infinity;
    } else {
      values.startQuery(query);
      attend(o, lse, condition, row);
    }
    if (trace)
      trace->insert(trace->end(), row.begin(), row.end());
  }
}

/// S <- exp((t' of the token before - t') X) S, then S <- S + b k (v - S^T
/// k)^T, and the output is scale S^T q. The state lives in the frame of the
/// token.
void HeadRun::delta(Output &output) {
  int64_t d = program.head, width = program.value;
  Eigen::MatrixXd state = Eigen::MatrixXd::Zero(d, width);
  int64_t previous = -1, length = output.shape[2], heads = output.shape[1];
  for (int key : tokens.order()) {
    if (previous >= 0 && program.action) {
      values.startKey(previous);
      Shift shift(values, *program.action, key);
      Applier moved(program, shift, problem.exponential);
      for (int64_t c = 0; c < width; ++c)
        moved.apply(*program.action, state.col(c).data(), Mode::Pair);
    }
    previous = key;
    values.startKey(key);
    auto k = Eigen::Map<const Eigen::VectorXd>(values.key(key), d);
    auto v = Eigen::Map<const Eigen::VectorXd>(valueRows.data() + key * width,
                                               width);
    double beta = program.beta >= 0 ? values.cell(program.beta).f : 1;
    state += beta * k * (v - state.transpose() * k).transpose();
    for (int64_t query = 0; query < tokens.queries(); ++query) {
      if (tokens.queryIndex(query) != tokens.keyIndex(key))
        continue;
      values.startQuery(query);
      int64_t at = (tokens.run().queryRow * heads + head) * length +
                   tokens.run().queryStart + query;
      double scale = program.scale >= 0 ? values.cell(program.scale).f
                                        : 1 / std::sqrt(double(d));
      Eigen::Map<Eigen::VectorXd>(output.o.data() + at * width, width) =
          scale * state.transpose() *
          Eigen::Map<const Eigen::VectorXd>(values.query(), d);
    }
  }
}

} // namespace torsor::reference

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Closed forms of the primitive blocks, and their matrix exponentials.
#include "reference/Action.h"

#include <Eigen/LU>
#include <cmath>
#include <unsupported/Eigen/MatrixFunctions>

using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace torsor::reference {

static Turned joined(Turned a, Turned b) {
  return {a.cosine * b.cosine - a.sine * b.sine,
          a.sine * b.cosine + a.cosine * b.sine};
}

Turned turnBy(double x, double frequency) {
  double high = x * frequency, low = std::fma(x, frequency, -high);
  Turned turned{std::cos(high), std::sin(high)};
  return low == 0 || !std::isfinite(low)
             ? turned
             : joined(turned, {std::cos(low), std::sin(low)});
}

Turned turnBy(int64_t x, double frequency) {
  constexpr int64_t exact = int64_t(1) << 53; // doubles hold smaller ones
  if (x > -exact && x < exact)
    return turnBy(double(x), frequency);
  double high = double(x >> 26) * 0x1p26, low = double(x & 0x3ffffff);
  return joined(turnBy(high, frequency), turnBy(low, frequency));
}

/// The time of one lane (or pair) of a block: that of the clock, or of its
/// member of a family.
static Number timeAt(const Cell &cell, bool real, int64_t lane) {
  if (cell.reals.empty() && cell.integers.empty())
    return cell;
  if (real)
    return {0, cell.reals[std::min<size_t>(lane, cell.reals.size() - 1)]};
  return {cell.integers[std::min<size_t>(lane, cell.integers.size() - 1)], 0};
}

namespace {
/// A time, or a displacement, as an integer or as a real.
struct Instant {
  bool real;
  Number at;
  double asReal() const { return real ? at.f : double(at.i); }
  float asFloat() const { return real ? float(at.f) : float(at.i); }
};
} // namespace

/// The phase rounded as Problem::f32Phases says.
static Turned roundedTurn(Instant by, double frequency) {
  volatile float phase = by.asFloat() * float(frequency);
  return {std::cos(double(phase)), std::sin(double(phase))};
}

static Instant instant(const Program &program, const Values &values, int node,
                       int64_t lane) {
  bool real = program.nodes[node].real;
  return {real, timeAt(values.cell(node), real, lane)};
}

static Instant difference(Instant t, Instant s) {
  if (!t.real && !s.real)
    return {false, {t.at.i - s.at.i, 0}};
  return {true, {0, t.asReal() - s.asReal()}};
}

static Instant negated(Instant t) { return {t.real, {-t.at.i, -t.at.f}}; }

/// The factor of X in the exponential that `mode` applies.
static Instant factor(const Program &program, const Values &values, Place place,
                      Mode mode, int64_t lane, bool fades) {
  auto at = [&](int node) { return instant(program, values, node, lane); };
  switch (mode) {
  case Mode::Key:
    return at(place.key);
  case Mode::Query:
  case Mode::Back:
    return negated(at(place.query));
  case Mode::Pair:
    break;
  case Mode::PairKey:
    if (!fades)
      return at(place.key);
    break;
  case Mode::PairQuery:
    return fades ? Instant{false, {}} : negated(at(place.query));
  }
  return difference(at(place.key), at(place.query));
}

static bool transposed(Mode mode) {
  return mode == Mode::Query || mode == Mode::PairQuery;
}

double Applier::time(const Action &action, Mode mode, int64_t lane,
                     bool fades) const {
  return factor(program, values, action.place, mode, lane, fades).asReal();
}

double Applier::displacement(Place place) const {
  return factor(program, values, place, Mode::Pair, 0, false).asReal();
}

void Applier::turn(const Action &action, double *x, Mode mode) const {
  const std::vector<double> &rates = values.cell(action.a).reals;
  for (size_t p = 0; p < rates.size(); ++p) {
    Instant by = factor(program, values, action.place, mode, int64_t(p), false);
    Turned turned =
        by.real ? turnBy(by.at.f, rates[p]) : turnBy(by.at.i, rates[p]);
    if (program.f32Phases && mode == Mode::Pair) {
      auto at = [&](int node) {
        return instant(program, values, node, int64_t(p));
      };
      turned = joined(roundedTurn(at(action.place.key), rates[p]),
                      roundedTurn(negated(at(action.place.query)), rates[p]));
    } else if (program.f32Phases) {
      turned = roundedTurn(by, rates[p]);
    }
    if (transposed(mode))
      turned.sine = -turned.sine;
    double first = x[2 * p], second = x[2 * p + 1];
    x[2 * p] = turned.cosine * first - turned.sine * second;
    x[2 * p + 1] = turned.sine * first + turned.cosine * second;
  }
}

void Applier::jordan(const Action &action, double *x, Mode mode) const {
  const Action &base = *action.parts[0];
  int64_t width = base.width;
  for (int64_t n = 0; n < action.order; ++n)
    apply(base, x + n * width, mode);
  // exp(tau couple N) = sum over d of (tau couple)^d / d! N^d, N one above the
  // diagonal: copy r takes from the copies r + d, transposed from r - d.
  double step = values.cell(action.a).f * time(action, mode, 0, true);
  std::vector<double> result(action.width, 0.0);
  for (int64_t r = 0; r < action.order; ++r)
    for (int64_t d = 0; d < (step == 0 ? 1 : action.order); ++d) {
      int64_t from = transposed(mode) ? r - d : r + d;
      if (from < 0 || from >= action.order)
        continue;
      double weight = std::pow(step, double(d)) / std::tgamma(double(d) + 1);
      for (int64_t c = 0; c < width; ++c)
        result[r * width + c] += weight * x[from * width + c];
    }
  std::copy(result.begin(), result.end(), x);
}

void Applier::plane(const Action &action, double *x, Mode mode) const {
  // With u = a e1 and v = c e1 + d e2, X = f (v u^T - u v^T) turns the plane
  // of e1 and e2 by f a d per unit; vectors that span no plane turn nothing.
  auto map = [](const std::vector<double> &data) {
    return Eigen::Map<const VectorXd>(data.data(), int64_t(data.size()));
  };
  auto u = map(values.cell(action.b).reals),
       v = map(values.cell(action.c).reals);
  double a = u.norm();
  if (a == 0)
    return;
  VectorXd first = u / a, second = v - first * first.dot(v);
  double d = second.norm();
  if (d == 0)
    return;
  second /= d;
  Instant by = factor(program, values, action.place, mode, 0, false);
  double rate = values.cell(action.a).f * a * d;
  Turned turned = by.real ? turnBy(by.at.f, rate) : turnBy(by.at.i, rate);
  if (transposed(mode))
    turned.sine = -turned.sine;
  Eigen::Map<VectorXd> y(x, action.width);
  double p = first.dot(y), q = second.dot(y), less = turned.cosine - 1;
  y += first * (less * p - turned.sine * q) +
       second * (turned.sine * p + less * q);
}

void Applier::basis(const Action &action, double *x, Mode mode) const {
  MatrixXd columns = values.matrix(action.basis, action.width);
  MatrixXd inverse =
      action.orthogonal ? MatrixXd(columns.transpose()) : columns.inverse();
  if (transposed(mode)) { // (P E P^-1)^T = P^-T E^T P^T
    MatrixXd before = columns.transpose();
    columns = inverse.transpose();
    inverse = before;
  }
  Eigen::Map<VectorXd> y(x, action.width);
  VectorXd z = inverse * y;
  apply(*action.parts[0], z.data(), mode);
  y = columns * z;
}

void Applier::gain(const Action &action, double *x, Mode mode) const {
  apply(*action.parts[0], x, mode);
  if (action.kind == Action::Gain) {
    double by = values.cell(action.a).f;
    for (int64_t n = 0; n < action.width; ++n)
      x[n] *= mode == Mode::Pair ? by * by : by;
    return;
  }
  const Cell &by = values.cell(transposed(mode) ? action.b : action.c);
  for (int64_t n = 0; n < action.width; ++n)
    x[n] *= by.reals[n];
}

void Applier::permuted(const Action &action, double *x, Mode mode) const {
  int64_t half = action.width / 2;
  std::vector<double> inner(action.width);
  for (int64_t p = 0; p < half; ++p) {
    inner[2 * p] = x[p];
    inner[2 * p + 1] = x[p + half];
  }
  apply(*action.parts[0], inner.data(), mode);
  for (int64_t p = 0; p < half; ++p) {
    x[p] = inner[2 * p];
    x[p + half] = inner[2 * p + 1];
  }
}

void Applier::dense(const Action &action, double *x, Mode mode) const {
  bool fades = action.kind == Action::Decay || action.kind == Action::Jordan;
  MatrixXd step = time(action, mode, 0, fades) * generator(action);
  MatrixXd exponential = step.exp();
  if (transposed(mode))
    exponential.transposeInPlace();
  Eigen::Map<VectorXd> y(x, action.width);
  y = (exponential * y).eval();
}

void Applier::apply(const Action &action, double *x, Mode mode) const {
  bool family =
      action.place.key >= 0 && program.nodes[action.place.key].length >= 0;
  bool block = action.kind == Action::Turn || action.kind == Action::Decay ||
               action.kind == Action::Jordan || action.kind == Action::Plane;
  bool rounded = program.f32Phases && action.kind == Action::Turn;
  if (exponential && block && !family && !rounded)
    return dense(action, x, mode);
  switch (action.kind) {
  case Action::Zero:
  case Action::Unipotent:
    return;
  case Action::Turn:
    return turn(action, x, mode);
  case Action::Decay:
    for (int64_t n = 0; n < action.width; ++n)
      x[n] *= std::exp(values.cell(action.a).f * time(action, mode, n, true));
    return;
  case Action::Jordan:
    return jordan(action, x, mode);
  case Action::Plane:
    return plane(action, x, mode);
  case Action::Concat:
    for (auto &part : action.parts) {
      apply(*part, x, mode);
      x += part->width;
    }
    return;
  case Action::Product:
  case Action::Same:
    for (auto &part : action.parts)
      apply(*part, x, mode);
    return;
  case Action::Split:
    return permuted(action, x, mode);
  case Action::Basis:
    return basis(action, x, mode);
  case Action::Gain:
  case Action::SideGains:
    return gain(action, x, mode);
  case Action::Choose:
    return apply(*action.parts[values.cell(action.a).i ? 0 : 1], x, mode);
  }
}

MatrixXd Applier::generator(const Action &action) const {
  int64_t width = action.width;
  MatrixXd x = MatrixXd::Zero(width, width);
  int64_t at = 0;
  switch (action.kind) {
  case Action::Turn:
    for (double rate : values.cell(action.a).reals) {
      x(at, at + 1) = -rate;
      x(at + 1, at) = rate;
      at += 2;
    }
    break;
  case Action::Decay:
    x.diagonal().setConstant(values.cell(action.a).f);
    break;
  case Action::Jordan: {
    MatrixXd base = generator(*action.parts[0]);
    int64_t n = base.rows();
    for (int64_t r = 0; r < action.order; ++r) {
      x.block(r * n, r * n, n, n) = base;
      if (r + 1 < action.order)
        x.block(r * n, (r + 1) * n, n, n)
            .diagonal()
            .setConstant(values.cell(action.a).f);
    }
    break;
  }
  case Action::Plane: {
    auto u =
        Eigen::Map<const VectorXd>(values.cell(action.b).reals.data(), width);
    auto v =
        Eigen::Map<const VectorXd>(values.cell(action.c).reals.data(), width);
    x = values.cell(action.a).f * (v * u.transpose() - u * v.transpose());
    break;
  }
  case Action::Concat:
    for (auto &part : action.parts) {
      x.block(at, at, part->width, part->width) = generator(*part);
      at += part->width;
    }
    break;
  case Action::Product:
  case Action::Same:
    for (auto &part : action.parts)
      x += generator(*part);
    break;
  case Action::Split: {
    MatrixXd inner = generator(*action.parts[0]);
    auto outer = [&](int64_t n) { return n / 2 + (n % 2) * (width / 2); };
    for (int64_t r = 0; r < width; ++r)
      for (int64_t c = 0; c < width; ++c)
        x(outer(r), outer(c)) = inner(r, c);
    break;
  }
  case Action::Basis: {
    MatrixXd columns = values.matrix(action.basis, width);
    x = columns * generator(*action.parts[0]) * columns.inverse();
    break;
  }
  default: // zero, and what has no generator of its own
    break;
  }
  return x;
}

} // namespace torsor::reference

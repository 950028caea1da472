// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Applies actions to vectors.
#ifndef TORSOR_REFERENCE_ACTION_H
#define TORSOR_REFERENCE_ACTION_H

#include "reference/Program.h"

#include <Eigen/Core>

namespace torsor::reference {

/// Looks up the value of a node at the pair in hand.
class Values {
public:
  virtual ~Values() = default;
  virtual const Cell &cell(int node) const = 0;
  /// Columns of a `basis`, row by row.
  virtual Eigen::MatrixXd matrix(int argument, int64_t width) const = 0;
};

/// How an action meets a vector.
enum class Mode {
  Key,      ///< G(t) = exp(t X)
  Query,    ///< F(s) = exp(-s X)^T
  Back,     ///< exp(-s X), which turns an output back
  Pair,     ///< exp((t - s) X), gains of both sides
  PairKey,  ///< As Key, but what fades has the whole t - s …
  PairQuery ///< … and here, where all else is as for Query, nothing.
};

/// Applies actions with the values of one moment.
class Applier {
public:
  Applier(const Program &program, const Values &values, bool exponential)
      : program(program), values(values), exponential(exponential) {}

  /// x (action.width lanes, in the action's own order) <- the action on x.
  void apply(const Action &action, double *x, Mode mode) const;
  /// The generator of what stands under one clock.
  Eigen::MatrixXd generator(const Action &action) const;
  /// The key's time minus the query's.
  double displacement(Place place) const;

private:
  void turn(const Action &action, double *x, Mode mode) const;
  void jordan(const Action &action, double *x, Mode mode) const;
  void plane(const Action &action, double *x, Mode mode) const;
  void basis(const Action &action, double *x, Mode mode) const;
  void gain(const Action &action, double *x, Mode mode) const;
  void permuted(const Action &action, double *x, Mode mode) const;
  void dense(const Action &action, double *x, Mode mode) const;
  double time(const Action &action, Mode mode, int64_t lane, bool fades) const;

  const Program &program;
  const Values &values;
  bool exponential;
};

/// cos and sin of x freq, exact for the doubles (or the integer) it is made
/// of: the product is x freq = high + low without rounding.
struct Turned {
  double cosine, sine;
};
Turned turnBy(double x, double frequency);
Turned turnBy(int64_t x, double frequency);

} // namespace torsor::reference

#endif

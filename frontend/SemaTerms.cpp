// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker: scalar terms, norm and readout of a scheme.
#include "frontend/Clauses.h"
#include "frontend/Sema.h"

#include "llvm/ADT/STLExtras.h"

#include <cfloat>
#include <cmath>

#include "fmt/format.h"

using namespace torsor;
using llvm::StringRef;

const Node *Sema::readScalarTerm(SchemeState &state, const TermClause *clause,
                                 Where where) {
  Env env = makeClauseEnv(state, where);
  const Expr *e = clause->value;
  Meaning value = evalNumber(e, env);
  if (value.isPoison())
    return nullptr;
  // Terms are reals, those of a pair f32.
  bool perPair = where == Where::Bias || where == Where::Logit;
  double size = value.isConstant() ? std::abs(value.scalar.node->asReal()) : 0;
  if (std::isinf(size) || (perPair && size > FLT_MAX)) {
    fail(
        env, e->range, "range",
        std::isinf(size)
            ? fmt::format("'{}' is an int beyond the range of a real", quote(e))
            : fmt::format("{} is beyond f32, which reals have per pair",
                          printConstant(value.scalar.node)));
    return nullptr;
  }
  Varies by = value.getVaries();
  switch (where) {
  case Where::Scale:
    if (by & varies::key)
      value = fail(env, e->range, "depends",
                   "'scale' multiplies a whole row and cannot depend on the "
                   "key; a factor that does is an action (decay, gain)");
    break;
  case Where::Softcap:
    if (by & (varies::query | varies::key))
      value =
          fail(env, e->range, "depends",
               "'softcap' cannot depend on a token, but on heads, params and "
               "inputs of a sequence or a call");
    else if (value.isConstant() ? value.scalar.node->asReal() <= 0
                                : value.scalar.range.lo < 0)
      value = fail(env, e->range, "softcap",
                   "a softcap must be positive, but " +
                       (value.isConstant()
                            ? "it is " + printConstant(value.scalar.node)
                            : fmt::format("'{}' may not be; declare its range",
                                          quote(e))));
    break;
  case Where::Sink:
    if (by & varies::key)
      value = fail(env, e->range, "depends",
                   "'sink' is one logit per row and cannot depend on the key");
    break;
  default:
    break;
  }
  return value.isPoison() ? nullptr : value.scalar.node;
}

void Sema::readTerms(SchemeState &state) {
  Scheme &scheme = state.scheme;
  struct Term {
    ClauseKind kind;
    Where where;
    const Node *Scheme::*node;
    SourceRange Scheme::*range;
  };
  static constexpr Term terms[] = {
      {ClauseKind::Scale, Where::Scale, &Scheme::scale, &Scheme::scaleRange},
      {ClauseKind::Softcap, Where::Softcap, &Scheme::softcap,
       &Scheme::softcapRange},
      {ClauseKind::Bias, Where::Bias, &Scheme::bias, &Scheme::biasRange},
      {ClauseKind::Logit, Where::Logit, &Scheme::logit, &Scheme::logitRange},
      {ClauseKind::Sink, Where::Sink, &Scheme::sink, &Scheme::sinkRange}};
  for (const Term &term : terms)
    if (const Clause *clause = findClause(state, term.kind)) {
      auto *written = llvm::cast<TermClause>(clause);
      scheme.*term.node = readScalarTerm(state, written, term.where);
      scheme.*term.range = written->value->range;
    }
}

void Sema::checkTermsFit(SchemeState &state) {
  Env env = makeClauseEnv(state, Where::File);
  if (findClause(state, ClauseKind::Logit))
    for (ClauseKind kind :
         {ClauseKind::Scale, ClauseKind::Softcap, ClauseKind::Bias})
      if (const Clause *clause = findClause(state, kind))
        fail(env, clause->word, "logit",
             fmt::format("'logit' writes the whole logit, so '{}' has no place "
                         "beside it",
                         getClauseWord(kind).str()));
  const Scheme &scheme = state.scheme;
  if (scheme.readout == ReadoutName::Softmax)
    return;
  StringRef name = scheme.readout == ReadoutName::Linear ? "linear" : "delta";
  for (ClauseKind kind : {ClauseKind::Softcap, ClauseKind::Bias,
                          ClauseKind::Sink, ClauseKind::Logit}) {
    const Clause *clause = findClause(state, kind);
    if (!clause ||
        (kind == ClauseKind::Logit && scheme.readout == ReadoutName::Linear))
      continue;
    fail(env, clause->word, "readout",
         fmt::format("'{}' belongs to softmax; a {} readout has no such term",
                     getClauseWord(kind).str(), name.str()));
  }
  bool regions = false;
  if (scheme.action)
    walkAction(scheme.action, [&](const ActionNode *x) {
      regions |= x->op == ActionOp::Choose;
    });
  if (regions)
    fail(env, findClause(state, ClauseKind::Readout)->word, "readout",
         fmt::format("a {} readout needs one action for all pairs; this one "
                     "has regions",
                     name.str()));
}

const TensorInfo *Sema::readNormWeight(SchemeState &state, const Argument &arg,
                                       Env &env) {
  Meaning value = eval(arg.value, env);
  if (value.isPoison())
    return nullptr;
  const TensorInfo *tensor =
      value.kind == Meaning::Tensor ? value.tensor : nullptr;
  auto isWidth = [&](const AxisInfo &axis) {
    return axis.kind == AxisInfo::Constant && axis.extent == state.scheme.head;
  };
  bool fits =
      tensor && tensor->isParam() &&
      getNumberType(tensor->storage) == NumberType::Real &&
      (tensor->axes.size() == 1 || tensor->axes.size() == 2) &&
      isWidth(tensor->axes.back()) &&
      (tensor->axes.size() == 1 ||
       tensor->axes[0].kind ==
           (arg.label.text == "k" ? AxisInfo::Groups : AxisInfo::Heads));
  if (fits)
    return tensor;
  if (state.scheme.headIsOpen)
    fail(env, arg.value->range, "const",
         "the head width must be known here; write 'head n'");
  else
    fail(env, arg.value->range, "width",
         fmt::format("the weight of a norm is a 'param' of the head width {0}, "
                     "f32[{0}] or f32[{1}, {0}], by its bare name",
                     state.scheme.head, arg.label.text == "k" ? "G" : "H"));
  return nullptr;
}

void Sema::readNorm(SchemeState &state) {
  auto *clause =
      llvm::cast_or_null<CallClause>(findClause(state, ClauseKind::Norm));
  if (!clause)
    return;
  Scheme &scheme = state.scheme;
  scheme.normRange = clause->word;
  Env env = makeClauseEnv(state, Where::Norm);
  StringRef name = clause->name.text;
  if (name != "l2" && name != "rms") {
    fail(env, clause->name.range, "norm",
         fmt::format("'{}' is not a norm; write l2 or rms", name.str()));
    return;
  }
  scheme.norm = name == "l2" ? NormKindName::L2 : NormKindName::Rms;
  llvm::StringSet<> given;
  for (const Argument &arg : clause->args) {
    StringRef key = arg.label.text;
    if (key != "q" && key != "k" && key != "eps") {
      fail(env, arg.range, "named",
           fmt::format("'{}' takes q, k and eps, by name", name.str()));
      continue;
    }
    if (!given.insert(key).second) {
      fail(env, arg.range, "named",
           fmt::format("'{}' is given twice", key.str()));
      continue;
    }
    if (key == "eps") {
      scheme.normEps = evalReal(arg.value, env, "'eps'");
      if (scheme.normEps && *scheme.normEps < 0)
        fail(env, arg.value->range, "norm",
             fmt::format("'eps' must be at least 0, but it is {}",
                         printNumber(*scheme.normEps)));
    } else {
      (key == "q" ? scheme.normQuery : scheme.normKey) =
          readNormWeight(state, arg, env);
    }
  }
}

void Sema::readBeta(SchemeState &state, const CallClause *clause, Env &env) {
  if (clause->args.size() != 1 || (clause->args.front().label &&
                                   clause->args.front().label.text != "beta")) {
    fail(env, clause->name.range, "missing",
         "'delta' needs its argument 'beta'");
    return;
  }
  const Argument &arg = clause->args.front();
  Meaning beta = evalNumber(arg.value, env);
  if (beta.isPoison())
    return;
  if (beta.getVaries() & varies::query)
    fail(env, arg.range, "depends",
         "'beta' belongs to the key's token and cannot depend on the query");
  else if (beta.scalar.range.lo < 0 || beta.scalar.range.hi > 2)
    fail(env, arg.value->range, "delta",
         "'beta' must lie in 0 .. 2 for the delta rule to be stable, but " +
             (beta.isConstant()
                  ? "it is " + printConstant(beta.scalar.node)
                  : fmt::format("'{}' is not known to be; declare it 'in 0 .. "
                                "2'",
                                quote(arg.value))));
  else
    state.scheme.beta = beta.scalar.node;
}

void Sema::readReadout(SchemeState &state) {
  auto *clause =
      llvm::cast_or_null<CallClause>(findClause(state, ClauseKind::Readout));
  if (!clause)
    return;
  Scheme &scheme = state.scheme;
  scheme.readoutRange = clause->word;
  Env env = makeClauseEnv(state, Where::Readout);
  StringRef name = clause->name.text;
  if (name != "softmax" && name != "linear" && name != "delta") {
    fail(env, clause->name.range, "readout",
         fmt::format("'{}' is not a readout; write softmax, linear or "
                     "delta(beta = …)",
                     name.str()));
    return;
  }
  scheme.readout = name == "linear"  ? ReadoutName::Linear
                   : name == "delta" ? ReadoutName::Delta
                                     : ReadoutName::Softmax;
  if (clause->divisor && name != "linear") {
    fail(env, clause->divisor->range, "readout",
         "only a linear readout takes a divisor");
  } else if (clause->divisor) {
    Env inner = makeClauseEnv(state, Where::Divisor);
    Meaning divisor = evalNumber(clause->divisor, inner);
    if (divisor.getVaries() & varies::key)
      fail(inner, clause->divisor->range, "depends",
           "a divisor belongs to a whole row and cannot depend on one key");
    else if (!divisor.isPoison())
      scheme.divisor = divisor.scalar.node;
  }
  if (name != "delta") {
    if (!clause->args.empty())
      fail(env, clause->args.front().range, "call",
           fmt::format("'{}' takes no argument{}", name.str(),
                       name == "softmax" ? "; a temperature is a part of "
                                           "'scale'"
                                         : ""));
    return;
  }
  readBeta(state, clause, env);
  auto *norm =
      llvm::cast_or_null<CallClause>(findClause(state, ClauseKind::Norm));
  if (!norm || norm->name.text != "l2")
    fail(env, clause->name.range, "delta",
         "the delta rule needs unit keys; write 'norm l2'");
  else if (!state.causal)
    fail(env, clause->name.range, "delta",
         "the delta rule is a recurrence and needs a causal mask");
}

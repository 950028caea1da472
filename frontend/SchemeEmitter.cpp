// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Builds one torsor.scheme: what it declares, and its terms.
#include "frontend/SchemeEmitter.h"

#include "frontend/Emit.h"
#include "frontend/MlirDiagnostics.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace torsor;
using namespace mlir;

OwningOpRef<ModuleOp> torsor::emit(MLIRContext &context,
                                   const CheckedFile &file,
                                   llvm::ArrayRef<const torsor::Scheme *> list,
                                   llvm::ArrayRef<const Stack *> stacks) {
  context.loadDialect<TorsorDialect, arith::ArithDialect, math::MathDialect>();
  OpBuilder builder(&context);
  Location whole = list.empty() ? Location(UnknownLoc::get(&context))
                                : getLocation(&context, list.front()->range);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, whole);
  builder.setInsertionPointToEnd(module->getBody());
  for (const torsor::Scheme *scheme : list) {
    OpBuilder::InsertionGuard guard(builder);
    SchemeEmitter(builder, *scheme).run();
  }
  for (const Stack *stack : stacks) {
    llvm::SmallVector<Attribute> layers;
    for (const auto &layer : stack->layers) {
      llvm::SmallVector<Attribute> names;
      for (const torsor::Scheme *scheme : layer)
        names.push_back(FlatSymbolRefAttr::get(&context, scheme->name));
      layers.push_back(builder.getArrayAttr(names));
    }
    StackOp::create(builder, getLocation(&context, stack->range), stack->name,
                    builder.getArrayAttr(layers));
  }
  return module;
}

Location SchemeEmitter::place(SourceRange range) const {
  return getLocation(builder.getContext(),
                     range.isValid() ? range : scheme.range);
}

SchemeOp SchemeEmitter::run() {
  auto width = [&](bool open, int64_t lanes) {
    return open ? IntegerAttr() : builder.getI64IntegerAttr(lanes);
  };
  IntegerAttr low, high;
  if (scheme.valueLanes) {
    low = builder.getI64IntegerAttr(scheme.valueLanes->first);
    high = builder.getI64IntegerAttr(scheme.valueLanes->second);
  }
  auto op = SchemeOp::create(
      builder, place(scheme.range), builder.getStringAttr(scheme.name),
      width(scheme.headIsOpen, scheme.head),
      width(scheme.valueIsOpen, scheme.value), low, high);
  Block &body = op.getBody().emplaceBlock();
  enter(TokenId::None, &body, nullptr);
  builder.setInsertionPointToEnd(&body);
  declareArguments();
  emitTerms();
  eraseUnused();
  scopes.clear();
  return op;
}

static Type getStorageType(Storage storage, Builder &builder) {
  switch (storage) {
  case Storage::I32:
    return builder.getI32Type();
  case Storage::I64:
    return builder.getI64Type();
  case Storage::Bool:
    return builder.getI1Type();
  case Storage::F16:
    return builder.getF16Type();
  case Storage::BF16:
    return builder.getBF16Type();
  case Storage::F32:
    return builder.getF32Type();
  case Storage::F64:
    break;
  }
  return builder.getF64Type();
}

/// Given clocks, inputs and params, in the order of a scheme's interface.
/// Running sums follow where they are read.
void SchemeEmitter::declareArguments() {
  auto bound = [&](bool has, double end) {
    return has ? builder.getF64FloatAttr(end) : FloatAttr();
  };
  for (const ClockInfo *declared : scheme.getClocks()) {
    const ClockInfo &clock = *declared;
    if (clock.running)
      continue;
    auto type = ClockType::get(builder.getContext(),
                               getStorageType(clock.storage, builder),
                               std::max<int64_t>(clock.members, 0));
    clocks[&clock] = ClockOp::create(builder, place(clock.range), type,
                                     clock.name, clock.moving, clock.rising,
                                     bound(clock.hasBounds, clock.bounds.lo),
                                     bound(clock.hasBounds, clock.bounds.hi));
  }
  for (bool params : {false, true})
    for (const TensorInfo &tensor : scheme.tensors) {
      if (tensor.isParam() != params)
        continue;
      llvm::SmallVector<int64_t> shape;
      llvm::SmallVector<llvm::StringRef> axes;
      llvm::SmallVector<std::string> extents;
      if (tensor.isPerToken())
        shape.push_back(ShapedType::kDynamic);
      for (const AxisInfo &axis : tensor.axes) {
        bool constant = axis.kind == AxisInfo::Constant;
        shape.push_back(constant ? axis.extent : ShapedType::kDynamic);
        extents.push_back(constant ? std::to_string(axis.extent)
                          : axis.kind == AxisInfo::Heads  ? "H"
                          : axis.kind == AxisInfo::Groups ? "G"
                                                          : "*");
      }
      axes.assign(extents.begin(), extents.end());
      auto type =
          RankedTensorType::get(shape, getStorageType(tensor.storage, builder));
      Location loc = place(tensor.range);
      FloatAttr low = bound(tensor.hasBounds, tensor.bounds.lo),
                high = bound(tensor.hasBounds, tensor.bounds.hi);
      if (params)
        tensors[&tensor] = ParamOp::create(
            builder, loc, type, tensor.name, builder.getStrArrayAttr(axes),
            tensor.orthogonal,
            bound(tensor.condition.has_value(), tensor.condition.value_or(0)),
            low, high);
      else
        tensors[&tensor] =
            InputOp::create(builder, loc, type, tensor.name,
                            tensor.rate == InputRate::Token      ? Per::Token
                            : tensor.rate == InputRate::Sequence ? Per::Sequence
                                                                 : Per::Call,
                            builder.getStrArrayAttr(axes), low, high);
    }
}

/// What a scheme does not read is no part of its interface. A "pos" that the
/// text declares stays: actions read it without saying so.
void SchemeEmitter::eraseUnused() {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(*scopes.front().block))) {
    auto clock = dyn_cast<ClockOp>(op);
    bool declaredPos = clock && clock.getName() == "pos" &&
                       llvm::any_of(scheme.clocks, [](const ClockInfo &info) {
                         return info.name == "pos" && info.range.isValid();
                       });
    if (op.use_empty() && isa<ClockOp, ParamOp, InputOp>(op) && !declaredPos)
      op.erase();
  }
}

Value SchemeEmitter::getClock(const ClockInfo *clock) {
  if (auto known = clocks.find(clock); known != clocks.end())
    return known->second;
  Value made = emitRunning(*clock);
  clocks[clock] = made;
  return made;
}

Value SchemeEmitter::emitRunning(const ClockInfo &clock) {
  Location loc = place(clock.range);
  auto block = std::make_unique<Block>();
  Value token = block->addArgument(TokenType::get(builder.getContext()), loc);
  enter(clock.token, block.get(), token);
  llvm::SmallVector<const Node *> terms;
  for (const Scalar &term : clock.terms)
    terms.push_back(term.node);
  Value sum;
  if (clock.members < 0) {
    sum = getReal(terms.front());
  } else {
    llvm::SmallVector<Value> values;
    for (const Node *term : terms)
      values.push_back(getReal(term));
    builder.setInsertionPointToEnd(block.get());
    sum = ListOp::create(
        builder, loc,
        RankedTensorType::get({clock.members}, builder.getF64Type()), values);
  }
  builder.setInsertionPointToEnd(block.get());
  YieldOp::create(builder, loc, sum);
  scopes.pop_back();
  // Clocks are known everywhere: they stand in the scheme's own block.
  builder.setInsertionPointToEnd(scopes.front().block);
  auto type = ClockType::get(builder.getContext(), builder.getF64Type(),
                             std::max<int64_t>(clock.members, 0));
  auto op = RunningOp::create(builder, loc, type, clock.name, !clock.inclusive);
  op.getTerm().push_back(block.release());
  return op;
}

void SchemeEmitter::emitTerms() {
  Block *body = scopes.front().block;
  auto atEnd = [&] { builder.setInsertionPointToEnd(body); };
  emitNorm();
  if (scheme.action) {
    Value action = get(scheme.action);
    atEnd();
    ActionTermOp::create(builder, place(scheme.actionRange), action);
  }
  if (scheme.valueAction) {
    Value action = get(scheme.valueAction);
    atEnd();
    ValueActionOp::create(builder, place(scheme.valueActionRange), action);
  }
  auto emitReal = [&](auto tag, const Node *node, SourceRange range) {
    if (!node)
      return;
    Value value = getReal(node);
    atEnd();
    decltype(tag)::create(builder, place(range), value);
  };
  emitReal(ScaleOp(), scheme.scale, scheme.scaleRange);
  emitReal(SoftcapOp(), scheme.softcap, scheme.softcapRange);
  emitReal(LogitOp(), scheme.logit, scheme.logitRange);
  emitReal(BiasOp(), scheme.bias, scheme.biasRange);
  if (scheme.valueBias) {
    Value vector = getVector(*scheme.valueBias, scheme.valueBiasRange);
    atEnd();
    ValueBiasOp::create(builder, place(scheme.valueBiasRange), vector);
  }
  if (scheme.mask) {
    Value mask = get(scheme.mask);
    atEnd();
    MaskOp::create(builder, place(scheme.maskRange), mask);
  }
  emitReal(SinkOp(), scheme.sink, scheme.sinkRange);
  // A scheme that only embeds has no attention to read out.
  if (scheme.mask)
    emitReadout();
  if (scheme.embed) {
    Value vector = getVector(*scheme.embed, scheme.embedRange);
    atEnd();
    EmbedOp::create(builder, place(scheme.embedRange), vector);
  }
}

void SchemeEmitter::emitNorm() {
  if (scheme.norm == NormKindName::None)
    return;
  Location loc = place(scheme.normRange);
  auto weight = [&](const TensorInfo *tensor) -> Value {
    if (!tensor)
      return nullptr;
    llvm::SmallVector<Value> indices;
    if (tensor->axes.size() == 2)
      indices.push_back(AmbientOp::create(
          builder, loc, builder.getI64Type(),
          tensor->axes.front().kind == AxisInfo::Heads ? Ambient::Head
                                                       : Ambient::Group));
    return ReadOp::create(
        builder, loc,
        RankedTensorType::get({scheme.head}, builder.getF64Type()),
        tensors.lookup(tensor), indices);
  };
  Value q = weight(scheme.normQuery), k = weight(scheme.normKey);
  NormOp::create(builder, loc,
                 scheme.norm == NormKindName::L2 ? NormKind::L2 : NormKind::Rms,
                 scheme.normEps ? builder.getF64FloatAttr(*scheme.normEps)
                                : FloatAttr(),
                 q, k);
}

void SchemeEmitter::emitReadout() {
  Value beta = scheme.beta ? getReal(scheme.beta) : Value();
  Value divisor = scheme.divisor ? getReal(scheme.divisor) : Value();
  builder.setInsertionPointToEnd(scopes.front().block);
  ReadoutKind kind =
      scheme.readout == ReadoutName::Softmax  ? ReadoutKind::Softmax
      : scheme.readout == ReadoutName::Linear ? ReadoutKind::Linear
                                              : ReadoutKind::Delta;
  ReadoutOp::create(builder, place(scheme.readoutRange), kind, beta, divisor);
}

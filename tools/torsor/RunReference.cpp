// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Hands the arrays of `torsor run` to the reference.
#include "tools/torsor/RunReference.h"

#include "dialect/TorsorDialect.h"
#include "reference/Reference.h"
#include "tools/torsor/Failure.h"

#include <cstring>
#include <fmt/format.h>

using namespace torsor;

static double readElement(const torsor_tensor &tensor, int64_t offset) {
  Array one(static_cast<torsor_dtype>(tensor.dtype), {1});
  int64_t bytes = getElementBytes(one.dtype);
  std::memcpy(one.data(),
              static_cast<const char *>(tensor.data) + offset * bytes, bytes);
  return one.at(0);
}

HostArray torsor::toHost(const torsor_tensor &tensor) {
  std::vector<int64_t> shape(tensor.shape, tensor.shape + tensor.rank);
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  bool integers = tensor.dtype == TORSOR_I32 || tensor.dtype == TORSOR_I64 ||
                  tensor.dtype == TORSOR_BOOL || tensor.dtype == TORSOR_I8 ||
                  tensor.dtype == TORSOR_U8;
  std::vector<double> reals(integers ? 0 : count);
  std::vector<int64_t> ints(integers ? count : 0);
  std::vector<int64_t> index(shape.size());
  for (int64_t n = 0; n < count; ++n) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      offset += index[axis] * tensor.strides[axis];
    if (tensor.dtype == TORSOR_I64)
      ints[n] = static_cast<const int64_t *>(tensor.data)[offset];
    else if (integers)
      ints[n] = static_cast<int64_t>(readElement(tensor, offset));
    else
      reals[n] = readElement(tensor, offset);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis])
        break;
      index[axis] = 0;
    }
  }
  return integers ? HostArray::of(shape, std::move(ints))
                  : HostArray::of(shape, std::move(reals));
}

static Array fromReals(std::vector<int64_t> shape,
                       const std::vector<double> &values) {
  Array array(TORSOR_F64, std::move(shape));
  if (array.count() != static_cast<int64_t>(values.size()))
    failInternal(fmt::format("the reference gave {} values instead of {}",
                             values.size(), array.count()));
  std::copy(values.begin(), values.end(), array.as<double>());
  return array;
}

Exact torsor::runReference(SchemeOp scheme, const RunInputs &inputs,
                           bool f32Phases) {
  Problem problem;
  problem.f32Phases = f32Phases;
  problem.heads = inputs.heads;
  problem.groups = inputs.groups;
  problem.q = toHost(inputs.q.tensor());
  problem.k = toHost(inputs.k.tensor());
  if (inputs.value && !inputs.v.shape.empty()) // else a part of the key
    problem.v = toHost(inputs.v.tensor());
  for (const torsor_sequence &sequence : inputs.sequences) {
    SequenceRun run;
    run.queryRow = sequence.query_row;
    run.queryLength = sequence.query_length;
    run.keyRow = sequence.key_row;
    run.keyLength = sequence.key_length;
    run.placed = sequence.flags & TORSOR_PLACED;
    run.queryIndex = sequence.query_index;
    run.keyIndex = sequence.key_index;
    run.total = sequence.total;
    problem.sequences.push_back(run);
  }
  if (inputs.queryIndices.data)
    problem.queryIndices = toHost(inputs.queryIndices);
  if (inputs.keyIndices.data)
    problem.keyIndices = toHost(inputs.keyIndices);
  for (const NamedInput &input : inputs.named) {
    NamedArray array;
    array.name = input.name;
    if (input.perToken) {
      array.query = toHost(input.queryTensor);
      array.key = toHost(input.keyTensor);
    } else {
      array.value = toHost(input.queryTensor);
    }
    problem.arguments.push_back(std::move(array));
  }
  llvm::Expected<Output> output = evaluate(scheme, problem);
  if (!output)
    failUser("the reference: " + llvm::toString(output.takeError()));
  Exact exact;
  exact.o = fromReals(
      {inputs.batch, inputs.heads, inputs.queries, inputs.value}, output->o);
  if (!output->lse.empty() || inputs.queries == 0)
    exact.lse =
        fromReals({inputs.batch, inputs.heads, inputs.queries}, output->lse);
  exact.condition = std::move(output->condition);
  return exact;
}

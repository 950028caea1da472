// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled code: a library and its schemes, read from the constants of an
// object whose structs may be shorter or longer than the core's.
#ifndef TORSOR_RUNTIME_LIBRARY_H
#define TORSOR_RUNTIME_LIBRARY_H

#include "runtime/Base.h"
#include "runtime/Tensor.h"

namespace torsor {

/// Operations are numbered below this.
constexpr int opLimit = TORSOR_STEP + 1;

/// "prefill", …; "operation 40" stands for none. Never null.
const char *opName(uint32_t op);

/// A string of an object, null as "".
inline const char *orEmpty(const char *text) { return text ? text : ""; }

} // namespace torsor

/// One scheme of a library, in the variant that runs here. Lives in its
/// library; a handle to it is a reference to the library.
struct torsor_scheme {
  torsor_library *library;
  torsor_descriptor descriptor; // what the object does not have is zero
  torsor_variant variant;
  torsor_kernel_op kernels[torsor::opLimit]; // run null: not compiled
  torsor::Array<torsor_field> arguments, streams;
  int64_t firstParam; // arguments from here on are params
  uint32_t ops;       // bits of the operations, those put together included

  const torsor_kernel_op *kernel(int op) const {
    return kernels[op].run ? &kernels[op] : nullptr;
  }
  bool valueInKey() const { return descriptor.flags & TORSOR_VALUE_IN_KEY; }
  /// A stream of k or v, which lies [rows, G, slots, width]; k is the first.
  bool perGroup(int64_t s) const {
    return s == 0 ||
           (s == 1 && !isSum(s) && !std::strcmp(streams[1].name, "v"));
  }
  /// The stream of a running sum, which no call brings.
  bool isSum(int64_t s) const {
    return streams[s].flags & TORSOR_ARG_CLOCK &&
           findArgument(streams[s].name) < 0;
  }
  /// The axis of a stream's tensor on which axis a of its shape lies: heads
  /// stand before the slots in k, v and sums of each head.
  int32_t streamAxis(int64_t s, int32_t a) const {
    return a == 0 && slotAxis(s) == 2 ? 1 : a + 2;
  }
  int32_t slotAxis(int64_t s) const {
    bool byHead = perGroup(s) || (isSum(s) && streams[s].rank &&
                                  streams[s].shape[0] < TORSOR_EXTENT_ANY);
    return byHead ? 2 : 1;
  }
  /// Tensors of kernel arguments; and where stream s and argument a stand.
  int64_t tensorCount() const { return streamAt(streams.size()); }
  int64_t queryAt(int64_t a) const { return TORSOR_AT_SCHEME + 2 * a; }
  int64_t keyAt(int64_t a) const { return TORSOR_AT_SCHEME + 2 * a + 1; }
  int64_t streamAt(int64_t s) const {
    return TORSOR_AT_SCHEME + 2 * arguments.size() + s;
  }
  /// The number of an argument or a stream by name, or -1.
  int64_t findArgument(const char *name) const;
  int64_t findStream(const char *name) const;
};

struct torsor_library {
  torsor::Count count;
  torsor_module module; // what the object does not have is zero
  torsor_scheme *schemes = nullptr;
  int64_t schemeCount = 0;
  void *handle = nullptr;            // of dlopen
  void (*release)(void *) = nullptr; // of code in memory
  void *context = nullptr;
};

namespace torsor {
void releaseLibrary(torsor_library *library);
} // namespace torsor

#endif // TORSOR_RUNTIME_LIBRARY_H

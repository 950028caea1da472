// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The machine levels that code is made for, and the register tiles they carry.
#ifndef TORSOR_CODEGEN_TARGET_H
#define TORSOR_CODEGEN_TARGET_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace torsor {

/// One machine level. A register tile has `rowTile` rows by at most
/// `vectorTile` vectors of `lanes` f32: rowTile * vectorTile accumulators,
/// vectorTile loads and a broadcast at a time.
struct Target {
  llvm::StringRef name;     // as torsor_variant has it
  llvm::StringRef cpu;      // LLVM's -mcpu
  llvm::StringRef features; // beyond it
  int64_t lanes;
  int64_t rowTile, vectorTile;
  bool hasScalef;                 // vscalefps, vreduceps
  bool hasDotBf16;                // vdpbf16ps, vcvtneps2bf16
  llvm::ArrayRef<uint32_t> needs; // TORSOR_X86_64_V3, …
  /// `cpu` lacks instructions that the flags promise: see Emulate.h.
  bool isEmulated = false;

  int64_t panel() const { return lanes * vectorTile; }
};

/// All levels, the best first.
llvm::ArrayRef<Target> getTargets();

/// The level of that name, or null. Those with AVX-512 also exist as
/// "<name>/emulated": the same code, sixteen lanes and all, for machines
/// without; for tests.
const Target *findTarget(llvm::StringRef name);

/// The level whose code is fastest on this machine, or null.
const Target *findHostTarget();

} // namespace torsor

#endif // TORSOR_CODEGEN_TARGET_H

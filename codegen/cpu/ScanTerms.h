// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a token adds to a running sum.
#ifndef TORSOR_CODEGEN_CPU_SCANTERMS_H
#define TORSOR_CODEGEN_CPU_SCANTERMS_H

#include "codegen/cpu/Contents.h"
#include "codegen/cpu/TableReader.h"

namespace torsor {

/// The terms of a `torsor.scan`, one for each member.
class ScanTerms {
public:
  ScanTerms(const TableReader &tables, ScanOp op);

  /// The terms at `place`, or at a vector of keys; 0 where the index is below
  /// 0, for such tokens do not count.
  /// `special`: as emitSlots has it.
  Nums at(const Place &place, const Contents &contents = {},
          RegionOps special = nullptr) const;
  /// Writes the sums at `from` and the terms at `place` to `to`.
  void add(const Place &place, Pointer from, Pointer to) const;

  const int64_t members;

private:
  void addPacked(const Place &place, Pointer from, Pointer to) const;

  const TableReader &tables;
  mutable ScanOp op;
  /// Members that share a vector are computed at once.
  bool isPacked;
};

/// Writes `count` sums at `from` to `to`.
void copySums(int64_t count, Pointer from, Pointer to);

} // namespace torsor

#endif // TORSOR_CODEGEN_CPU_SCANTERMS_H

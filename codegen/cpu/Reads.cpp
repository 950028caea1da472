// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which arguments of the scheme an operation reads, and where.
#include "codegen/cpu/Reads.h"

#include "runtime/torsor_kernel.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace torsor {

namespace {

class Reads {
public:
  explicit Reads(const Kernel &kernel)
      : kernel(kernel), bits(kernel.scheme->argumentCount()) {}

  /// What the given values of a region need; `bit` where a key's token is
  /// meant, the query bit elsewhere.
  void add(Region &region, ValueRange values, uint8_t bit) {
    llvm::SetVector<Value> needed(values.begin(), values.end());
    for (size_t n = 0; n < needed.size(); ++n) {
      if (needed[n] == region.getArgument(1) && kernel.scheme->position >= 0)
        bits[kernel.scheme->position] |= bit;
      if (Operation *op = needed[n].getDefiningOp()) {
        addTables(op, bit);
        needed.insert(op->operand_begin(), op->operand_end());
      }
    }
  }
  /// Tables that a pair region looks up.
  void addPair(Region &region) {
    region.walk([&](Operation *op) { addTables(op, TORSOR_READS_KEY); });
  }
  /// What `prepare` reads is not per token.
  void addPrepared() {
    if (!kernel.hasPrepare())
      return;
    InterfaceOp interface = kernel.scheme->interface;
    auto name = interface.getOperations().getAs<FlatSymbolRefAttr>("prepare");
    Operation *prepare = SymbolTable::lookupNearestSymbolFrom(interface, name);
    for (auto info : prepare->getAttrOfType<ArrayAttr>("torsor.tables")
                         .getAsRange<TableAttr>())
      if (info.getSource() == TableSource::Argument)
        bits[info.getNumber()] |= TORSOR_READS_QUERY;
  }

  const Kernel &kernel;
  std::vector<uint8_t> bits;

private:
  void addTables(Operation *op, uint8_t bit) {
    for (Value operand : op->getOperands())
      if (const Table *table = kernel.find(operand))
        if (table->info.getSource() == TableSource::Argument)
          bits[table->info.getNumber()] |=
              table->info.getKey() ? bit : TORSOR_READS_QUERY;
  }
};

ValueRange yielded(Region &region) {
  return region.front().getTerminator()->getOperands();
}

} // namespace

std::vector<uint8_t> readsOf(const Kernel &kernel, AttentionOp op) {
  Reads reads(kernel);
  reads.addPrepared();
  reads.add(op.getRows(), yielded(op.getRows()), TORSOR_READS_QUERY);
  for (ScanOp scan : kernel.scans)
    reads.add(scan.getTerm(), yielded(scan.getTerm()),
              scan.getStream() ? TORSOR_READS_FRESH : TORSOR_READS_KEY);
  ValueRange columns = yielded(op.getColumns());
  SmallVector<uint8_t> bits(columns.size(), 0);
  for (auto branch : op.getBranches().getAsRange<ArrayAttr>())
    for (auto block : branch.getAsRange<BlockAttr>())
      if (block.getT() >= 0 && !block.getFamily())
        bits[block.getT()] |= block.getKeys() == KeyPlace::Cached
                                  ? TORSOR_READS_FRESH
                                  : TORSOR_READS_KEY;
  if (auto blocks = op.getValueBlocksAttr())
    for (auto block : blocks.getAsRange<BlockAttr>())
      if (block.acts())
        bits[block.getT()] |=
            op.getValuesActed() ? TORSOR_READS_FRESH : TORSOR_READS_KEY;
  for (Region *region :
       {&op.getBranch(), &op.getInit(), &op.getPath(), &op.getLogit(),
        &op.getMask(), &op.getValueRow(), &op.getTile()}) {
    if (region->empty())
      continue;
    reads.addPair(*region);
    // Slots stand last; those of a tile come as low and high.
    int64_t each = region == &op.getTile() ? 2 : 1;
    int64_t first = region->getNumArguments() - each * columns.size();
    for (size_t n = 0; n < columns.size() * each; ++n)
      if (!region->getArgument(first + n).use_empty())
        bits[n / each] |= TORSOR_READS_KEY;
  }
  for (size_t n = 0; n < columns.size(); ++n)
    if (bits[n])
      reads.add(op.getColumns(), columns[n], bits[n]);
  return reads.bits;
}

std::vector<uint8_t> readsOf(const Kernel &kernel, AppendOp op) {
  Reads reads(kernel);
  reads.addPrepared();
  for (ScanOp scan : kernel.scans)
    reads.add(scan.getTerm(), yielded(scan.getTerm()), TORSOR_READS_QUERY);
  for (auto block : op.getBlocks().getAsRange<BlockAttr>())
    if (block.getT() >= 0)
      reads.add(op.getColumns(), yielded(op.getColumns())[block.getT()],
                TORSOR_READS_QUERY);
  return reads.bits;
}

/// The shift alone, and what is bound.
std::vector<uint8_t> readsOf(const Kernel &kernel, RebaseOp op) {
  return Reads(kernel).bits;
}

std::vector<uint8_t> readsOf(const Kernel &kernel, EmbeddingOp op) {
  Reads reads(kernel);
  reads.addPrepared();
  reads.add(op.getElement(), yielded(op.getElement()), TORSOR_READS_QUERY);
  return reads.bits;
}

std::vector<uint8_t> readsOf(const Kernel &kernel, MergeOp op) {
  Reads reads(kernel);
  reads.addPrepared();
  if (auto slot = op.getSinkSlot())
    reads.add(op.getRows(), yielded(op.getRows())[*slot], TORSOR_READS_QUERY);
  if (!op.getDivide().empty())
    reads.add(op.getRows(), yielded(op.getRows()), TORSOR_READS_QUERY);
  return reads.bits;
}

} // namespace torsor

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checks of one call. They are made in this order, and the first that
// fails wins: the call itself, its tensors, its sequences, names of inputs,
// values of index arrays and clocks, declared ranges (on request).
#ifndef TORSOR_RUNTIME_CALL_H
#define TORSOR_RUNTIME_CALL_H

#include "runtime/Plan.h"
#include "runtime/Storage.h"

namespace torsor {

struct TickSource;

class Call {
public:
  Call(torsor_plan &plan, const torsor_instance &instance, int32_t op)
      : plan(plan), instance(instance), scheme(*instance.scheme), op(op),
        name(opName(op)) {}

  /// Makes every check; fills sequences, tensors and parts of the plan.
  torsor_status check(const torsor_call *from);

  torsor_batch batch = {};
  Storage storage; // of the keys

private:
  bool appends() const { return op == TORSOR_APPEND || op == TORSOR_STEP; }
  bool merges() const { return op == TORSOR_MERGE; }
  bool rebases() const { return op == TORSOR_REBASE; }
  bool embeds() const { return op == TORSOR_EMBED; }
  /// Reads no keys, wherever they lie.
  bool isKeyless() const { return merges() || embeds(); }
  bool attends() const {
    return op != TORSOR_APPEND && !merges() && !rebases() && !embeds();
  }
  bool cached() const { return call.cache; }

  // Call.cpp
  torsor_status readCall(const torsor_call *from);
  torsor_status readBatch();
  torsor_status checkOp() const;
  torsor_status checkPresence() const;
  torsor_status checkMoveAlone() const;
  torsor_status checkCache() const;
  torsor_status failAbsent(const char *tensor, const char *why) const;

  // CallTensors.cpp
  torsor_status checkTensors();
  torsor_status checkQueries();
  torsor_status checkFreshKeys();
  torsor_status checkParts();
  torsor_status checkPartAliases(const torsor_part &part,
                                 const char *owner) const;
  torsor_status checkEmbedding();
  torsor_status takeStreams();
  torsor_status checkStreamShape(int64_t s, const torsor_tensor &stream) const;
  torsor_status checkAppendsAll() const;
  torsor_status checkIndexTensor(const char *what, torsor_tensor &tensor,
                                 int64_t rows, int64_t tokens);
  TensorRule rule(const char *tensor, int32_t dtype, int64_t rows,
                  int64_t heads, int64_t tokens, int64_t width,
                  bool output) const;

  // CallAliases.cpp
  torsor_status checkAliases() const;

  // CallSequences.cpp
  torsor_status checkSequences();
  torsor_status wholeRows();
  torsor_status resolve(int64_t number, torsor_sequence &s) const;
  torsor_status place(int64_t number, torsor_sequence &s) const;
  torsor_status checkRuns(int64_t number, const torsor_sequence &s) const;
  torsor_status failRun(int64_t number, const torsor_sequence &s) const;
  torsor_status checkDisjoint();
  torsor_status splitAttend();

  // CallStorage.cpp
  void readStorage();
  bool liesInStorage(const torsor_sequence &s) const;
  torsor_status failStorage(int64_t number, const torsor_sequence &s) const;
  torsor_status checkRing(int64_t number, const torsor_sequence &s) const;

  // CallRebase.cpp
  torsor_status resolveRebase(int64_t number, torsor_sequence &s) const;
  torsor_status checkMovedIndices(int64_t number,
                                  const torsor_sequence &s) const;
  torsor_status checkSpansDisjoint();

  // CallInputs.cpp
  torsor_status checkInputs();
  torsor_status bindList(const torsor_binding *list, int64_t count,
                         bool shared);
  torsor_status bind(const torsor_binding &binding, bool shared);
  torsor_status bindSide(int64_t a, const torsor_binding &binding,
                         uint32_t side);
  torsor_status failName(const char *wrong, bool shared) const;
  torsor_status checkMissing(int64_t a) const;
  uint32_t needs(int64_t a, int op) const;
  bool carried(int64_t a) const;

  // CallClocks.cpp
  torsor_status checkRising(int64_t a) const;
  TickSource tickSource(int64_t a, bool keys) const;
  bool isUnwritten(const torsor_sequence &s, const KeySpan &span) const;
  bool gatherKeys(const torsor_sequence &s, const TickSource &from, bool stored,
                  Array<Tick> &keys) const;
  torsor_status failRising(int64_t a, const torsor_sequence &s,
                           const Tick &query, const Tick &key) const;

  // CallValues.cpp
  torsor_status checkValues();
  torsor_status checkIndices(torsor_tensor &tensor, Array<int64_t> &widened,
                             bool keys);
  torsor_status failIndex(const torsor_sequence &s, const char *what,
                          int64_t row, int64_t token, int64_t index,
                          int64_t bound) const;
  torsor_status checkSlots() const;
  torsor_status checkRanges(int64_t a) const;
  torsor_status checkPlaces(int64_t a) const;

  torsor_plan &plan;
  const torsor_instance &instance;
  const torsor_scheme &scheme;
  int32_t op;
  const char *name;
  torsor_call call = {};
  bool hasBatch = false;
  bool keysIndexed = false;           // the cache stores indices
  int64_t sequenceCount = 0;          // of the batch
  int64_t rows = 0, tokens = 0;       // of the tokens the call brings
  int64_t keyRows = 0, keyTokens = 0; // of fresh keys, or rows and slots
  int64_t newTokens = 0;              // of all sequences
};

} // namespace torsor

#endif // TORSOR_RUNTIME_CALL_H

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes mutants of source texts, token by token and byte by byte.
#ifndef TORSOR_TEST_FRONTEND_MUTATOR_H
#define TORSOR_TEST_FRONTEND_MUTATOR_H

#include "frontend/Token.h"

#include <map>
#include <random>
#include <string>
#include <vector>

namespace torsor {

/// The same seed gives the same mutants, everywhere.
class Mutator {
public:
  /// Starts from the example schemes, the standard library and the wrong
  /// programs, and takes its words from them.
  explicit Mutator(uint64_t seed);

  /// One of these texts with one to three changes.
  std::string next();

  /// A token replaced by one of its kind, dropped, doubled or moved.
  std::string mutateToken(const std::string &text);

  /// Bytes changed, erased, copied or inserted.
  std::string mutateBytes(std::string text);

  void reseed(uint64_t seed) { random.seed(seed); }

private:
  size_t below(size_t n) { return size_t(random() % n); }
  template <typename T> const T &pick(const std::vector<T> &from) {
    return from[below(from.size())];
  }
  void addWords(const std::string &text);

  std::mt19937_64 random;
  std::vector<std::string> texts;
  std::map<TokenKind, std::vector<std::string>> words;
};

} // namespace torsor

#endif // TORSOR_TEST_FRONTEND_MUTATOR_H

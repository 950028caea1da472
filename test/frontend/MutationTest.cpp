// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Mutants of the example schemes and of the wrong programs, token by token and
// byte by byte, always the same ones: the front end accepts or refuses each.
#include "frontend/Lexer.h"

#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <gtest/gtest.h>
#include <map>
#include <random>

#include "Exercise.h"
#include "Snippets.h"

using namespace torsor;

namespace {

/// The mutant at work, for a crash.
std::string current;

void printCurrent(void *) {
  llvm::errs() << "the front end died on this text:\n" << current << "\n";
}

class Mutator {
public:
  explicit Mutator(uint64_t seed) : random(seed) {
    for (const std::string &path : getSchemePaths())
      texts.push_back(readFile(path));
    for (const Snippet &snippet : readSources())
      texts.push_back(snippet.source);
    for (const std::string &text : texts)
      addWords(text);
    for (const char *word :
         {"i",     "j",     "s",     "t",     "age",   "delta", "h",
          "H",     "g",     "G",     "N",     "D",     "V",     "pos",
          "q",     "k",     "L",     "score", "total", "pi",    "inf",
          "layer", "min",   "dot",   "abs",   "clamp", "floor", "zero",
          "turn",  "decay", "plane", "basis", "exp",   "ilog2", "log"})
      words[TokenKind::Name].push_back(word);
    for (const char *number : {"0", "1", "7", "65", "1000000000", "4096"})
      words[TokenKind::Int].push_back(number);
  }

  /// One of the texts with one to three tokens or bytes changed.
  std::string next() {
    std::string text = pick(texts);
    for (int n = 1 + int(below(3)); n > 0; --n)
      text = below(4) ? mutateToken(text) : mutateBytes(text);
    return text;
  }

private:
  size_t below(size_t n) { return size_t(random() % n); }
  template <typename T> const T &pick(const std::vector<T> &from) {
    return from[below(from.size())];
  }

  void addWords(const std::string &text) {
    auto source = makeSource(text);
    for (const Token &token : lex(*source).tokens)
      words[token.kind].push_back(token.text.str());
  }

  /// Replaces a token by one of its kind, or drops, doubles or moves it.
  std::string mutateToken(const std::string &text) {
    auto source = makeSource(text);
    TokenList list = lex(*source);
    if (list.tokens.size() < 2)
      return text;
    const Token &token = list.tokens[below(list.tokens.size() - 1)];
    const Token &other = list.tokens[below(list.tokens.size() - 1)];
    std::string word;
    switch (below(8)) {
    case 0:
      break;
    case 1:
      word = token.text.str() + " " + token.text.str();
      break;
    case 2:
      word = other.text.str();
      break;
    case 3:
      word = token.text.str() + " " + other.text.str();
      break;
    default:
      word = pick(words[token.kind]);
    }
    return text.substr(0, token.range.begin) + " " + word + " " +
           text.substr(token.range.end);
  }

  std::string mutateBytes(std::string text) {
    if (text.empty())
      return text;
    size_t at = below(text.size());
    switch (below(4)) {
    case 0:
      text[at] = char(below(256));
      break;
    case 1:
      text.erase(at, 1 + below(20));
      break;
    case 2:
      text.insert(at, text.substr(below(text.size()), below(40)));
      break;
    default:
      text.insert(at, std::string(1 + below(3), "\"([{}])\n;.-_"[below(12)]));
    }
    return text;
  }

  std::mt19937_64 random;
  std::vector<std::string> texts;
  std::map<TokenKind, std::vector<std::string>> words;
};

TEST(Mutation, EveryMutantIsAcceptedOrRefused) {
  llvm::sys::AddSignalHandler(printCurrent, nullptr);
  constexpr uint64_t seed = 20261;
  constexpr int count = 4000;
  Mutator mutator(seed);
  std::map<Outcome, int> outcomes;
  for (int n = 0; n < count && !HasFailure(); ++n) {
    current = mutator.next();
    std::string failure;
    auto start = std::chrono::steady_clock::now();
    ++outcomes[exerciseFrontend(current, failure)];
    std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - start;
    EXPECT_EQ(failure, "") << "seed " << seed << ", mutant " << n << ":\n"
                           << current;
    EXPECT_LT(took.count(), 20.0)
        << "seed " << seed << ", mutant " << n << ":\n"
        << current;
  }
  // Each kind of end is reached often, or the mutants test nothing.
  EXPECT_GT(outcomes[Outcome::SyntaxError], count / 10);
  EXPECT_GT(outcomes[Outcome::CheckError], count / 10);
  EXPECT_GT(outcomes[Outcome::Accepted], count / 20);
}

} // namespace

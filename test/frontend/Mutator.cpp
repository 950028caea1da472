// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes mutants of source texts, token by token and byte by byte.
#include "Mutator.h"

#include "frontend/Lexer.h"

#include "Snippets.h"

using namespace torsor;

Mutator::Mutator(uint64_t seed) : random(seed) {
  for (const std::string &path : getSchemePaths())
    texts.push_back(readFile(path));
  for (const Snippet &snippet : readSources())
    texts.push_back(snippet.source);
  for (const std::string &text : texts)
    addWords(text);
  // Built-in names and sizes that the texts use seldom.
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

std::string Mutator::next() {
  std::string text = pick(texts);
  for (int n = below(2) ? 1 : 1 + int(below(3)); n > 0; --n)
    text = below(4) ? mutateToken(text) : mutateBytes(text);
  return text;
}

void Mutator::addWords(const std::string &text) {
  auto source = makeSource(text);
  for (const Token &token : lex(*source).tokens)
    words[token.kind].push_back(token.text.str());
}

std::string Mutator::mutateToken(const std::string &text) {
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
    if (const auto &kind = words[token.kind]; !kind.empty())
      word = pick(kind);
  }
  return text.substr(0, token.range.begin) + " " + word + " " +
         text.substr(token.range.end);
}

std::string Mutator::mutateBytes(std::string text) {
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

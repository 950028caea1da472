// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes, reads, hashes and compares cache contracts.

#include "runtime/Contract.h"

namespace torsor {

namespace {

enum class Kind { End, Word, Integer, Real, Mark, Wrong };

struct Token {
  Kind kind;
  const char *begin;
  int64_t length;

  bool is(const char *text) const {
    return int64_t(std::strlen(text)) == length &&
           !std::strncmp(begin, text, size_t(length));
  }
};

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isWord(char c) {
  return isDigit(c) || c == '_' || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z');
}

/// digits [ "." digits ] [ "e" [sign] digits ]
Token nextNumber(const char *begin) {
  Token token{Kind::Integer, begin, 0};
  const char *at = begin;
  while (isDigit(*at))
    ++at;
  if (*at == '.' && isDigit(at[1])) {
    token.kind = Kind::Real;
    while (isDigit(*++at)) {
    }
  }
  const char *sign = at + 1;
  if (*at == 'e' && (isDigit(*sign) ||
                     ((*sign == '-' || *sign == '+') && isDigit(sign[1])))) {
    token.kind = Kind::Real;
    at = sign + !isDigit(*sign);
    while (isDigit(*at))
      ++at;
  }
  token.length = at - begin;
  return token;
}

/// Word, number, $name, $name:digest or a mark of one character.
Token next(const char *&at) {
  while (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')
    ++at;
  Token token{Kind::End, at, 0};
  if (!*at)
    return token;
  if (isDigit(*at)) {
    token = nextNumber(at);
  } else if (isWord(*at) || *at == '$') {
    const char *end = at + 1;
    while (isWord(*end) || (*at == '$' && *end == ':'))
      ++end;
    token = {Kind::Word, at, end - at};
  } else {
    bool printable = *at > ' ' && *at < 127;
    token = {printable ? Kind::Mark : Kind::Wrong, at, 1};
  }
  at = token.begin + token.length;
  return token;
}

/// The number a real token says, whatever the host's locale: at most 17
/// significant digits are written, so products of powers of ten suffice to
/// compare to 2^-40.
double readReal(const Token &token) {
  double value = 0;
  int64_t exponent = 0, n = 0;
  bool fraction = false;
  for (; n < token.length && token.begin[n] != 'e'; ++n) {
    if (token.begin[n] == '.') {
      fraction = true;
      continue;
    }
    value = value * 10 + (token.begin[n] - '0');
    exponent -= fraction;
  }
  if (n < token.length) {
    bool negative = token.begin[n + 1] == '-';
    int64_t written = 0;
    for (++n; n < token.length; ++n)
      if (isDigit(token.begin[n]) && written < 100000)
        written = written * 10 + (token.begin[n] - '0');
    exponent += negative ? -written : written;
  }
  for (; exponent > 0 && value < 1e300; --exponent)
    value *= 10;
  for (; exponent < 0 && value > 0; ++exponent)
    value /= 10;
  return value;
}

bool realsAgree(double a, double b) {
  double difference = a > b ? a - b : b - a;
  double larger = a > b ? a : b; // both are without sign
  return difference <= larger * 0x1p-40;
}

bool tokensAgree(const Token &a, const Token &b) {
  if (a.kind != b.kind)
    return false;
  if (a.length == b.length && !std::memcmp(a.begin, b.begin, size_t(a.length)))
    return true;
  return a.kind == Kind::Real && realsAgree(readReal(a), readReal(b));
}

uint64_t mix(uint64_t x) {
  x = (x ^ x >> 33) * 0xff51afd7ed558ccd;
  x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53;
  return x ^ x >> 33;
}

/// Of the tokens: how they are spaced does not count.
uint64_t hashTokens(const char *text) {
  uint64_t hash = 0x9e3779b97f4a7c15;
  for (Token token = next(text); token.kind != Kind::End; token = next(text)) {
    for (int64_t n = 0; n < token.length; ++n)
      hash = (hash ^ uint8_t(token.begin[n])) * 0x100000001b3;
    hash = mix(hash + uint64_t(token.length));
  }
  return hash;
}

} // namespace

void Digest::add(uint64_t word) {
  a = mix(a + word * 0x9e3779b97f4a7c15);
  b = mix((b ^ (word << 31 | word >> 33)) + a * 0xd6e8feb86659fd93);
}

void Digest::add(const torsor_tensor &tensor) {
  add(uint64_t(tensor.dtype));
  add(uint64_t(tensor.rank));
  for (int32_t axis = 0; axis < tensor.rank; ++axis)
    add(uint64_t(tensor.shape[axis]));
  size_t bytes = size_t(elementBytes(tensor.dtype));
  forEachElement(tensor, [&](const int64_t *, const void *at) {
    uint64_t word = 0;
    std::memcpy(&word, at, bytes);
    add(word);
    return true;
  });
}

void Digest::append(Text &text) const {
  text.appendf("%016llx%016llx", (unsigned long long)a, (unsigned long long)b);
}

static torsor_status finish(torsor_contract *contract, torsor_contract **out) {
  if (!contract->text.complete()) {
    destroy(contract);
    return fail(TORSOR_MEMORY, "no memory for the text of a contract");
  }
  contract->fingerprint = hashTokens(contract->text.get());
  *out = contract;
  return TORSOR_OK;
}

torsor_status makeContract(const char *structure, int64_t groups,
                           const char *const *names,
                           const torsor_tensor *params, int64_t count,
                           torsor_contract **out) {
  torsor_contract *contract = make<torsor_contract>();
  if (!contract)
    return failMemory(sizeof(torsor_contract));
  Text &text = contract->text;
  text.appendf("contract 1 groups %lld ", (long long)groups);
  const char *copied = structure, *at = structure;
  for (Token token = next(at); token.kind != Kind::End; token = next(at)) {
    if (*token.begin != '$')
      continue;
    int64_t n = 0;
    while (n < count && !(int64_t(std::strlen(names[n])) == token.length - 1 &&
                          !std::strncmp(names[n], token.begin + 1,
                                        size_t(token.length - 1))))
      ++n;
    if (n == count) {
      destroy(contract);
      return fail(TORSOR_INVALID,
                  "the object is malformed: its contract reads '%.*s', which "
                  "is no param of the contract",
                  int(token.length), token.begin);
    }
    text.append(copied, at - copied);
    copied = at;
    Digest digest;
    digest.add(params[n]);
    text.append(":");
    digest.append(text);
  }
  text.append(copied);
  return finish(contract, out);
}

namespace {

/// A few tokens around a place, for people.
void appendAround(Text &text, const char *whole, const Token &token) {
  const char *begin = token.begin - whole > 24 ? token.begin - 24 : whole;
  const char *end = token.begin + token.length;
  int64_t tail = int64_t(strnlen(end, 24));
  text.append(begin == whole ? "" : "...");
  text.append(begin, end - begin + tail);
  text.append(end[tail] ? "..." : "");
}

} // namespace

torsor_status compareContracts(const torsor_contract &a,
                               const torsor_contract &b, const char *nameA,
                               const char *nameB) {
  if (&a == &b || a.fingerprint == b.fingerprint)
    return TORSOR_OK;
  const char *atA = a.text.get(), *atB = b.text.get();
  for (;;) {
    Token tokenA = next(atA), tokenB = next(atB);
    if (!tokensAgree(tokenA, tokenB)) {
      Text aroundA, aroundB;
      appendAround(aroundA, a.text.get(), tokenA);
      appendAround(aroundB, b.text.get(), tokenB);
      return fail(TORSOR_CONTRACT,
                  "the contract of %s does not agree with that of %s: first "
                  "'%.*s' against '%.*s', in\n  %s\n  %s\n%s has:\n  %s\n%s "
                  "has:\n  %s",
                  nameA, nameB, int(tokenA.length), tokenA.begin,
                  int(tokenB.length), tokenB.begin, aroundA.get(),
                  aroundB.get(), nameA, a.text.get(), nameB, b.text.get());
    }
    if (tokenA.kind == Kind::End)
      return TORSOR_OK;
  }
}

namespace {

torsor_status failParse(const char *text, const Token &token,
                        const char *rule) {
  return fail(TORSOR_INVALID, "contract text, byte %lld ('%.*s'): %s",
              (long long)(token.begin - text), int(token.length), token.begin,
              rule);
}

bool isDigest(const Token &token) {
  const char *colon = static_cast<const char *>(
      std::memchr(token.begin, ':', size_t(token.length)));
  if (!colon || token.begin + token.length - colon != 33)
    return false;
  for (const char *at = colon + 1; at < token.begin + token.length; ++at)
    if (!isDigit(*at) && !(*at >= 'a' && *at <= 'f'))
      return false;
  return true;
}

torsor_status checkStructure(const char *text, const char *at) {
  char open[256];
  int depth = 0, count = 0;
  Token token = next(at);
  for (; token.kind != Kind::End; token = next(at), ++count) {
    char c = *token.begin;
    if (token.kind == Kind::Wrong)
      return failParse(text, token, "is no character of a contract");
    if (c == '$' && !isDigest(token))
      return failParse(text, token,
                       "a param must stand with its digest, "
                       "$name:<32 hexadecimal digits>");
    if (token.kind != Kind::Mark)
      continue;
    if (c == '(' || c == '[' || c == '{') {
      if (depth == int(sizeof open))
        return failParse(text, token, "brackets are nested too deep");
      open[depth++] = c == '(' ? ')' : char(c + 2);
    } else if (c == ')' || c == ']' || c == '}') {
      if (!depth || open[--depth] != c)
        return failParse(text, token, "this bracket was not opened");
    }
  }
  if (depth)
    return failParse(text, token, "a bracket is not closed");
  if (!count)
    return failParse(text, token, "the contract ends after its groups");
  return TORSOR_OK;
}

torsor_status checkText(const char *text) {
  const char *at = text;
  Token token = next(at);
  if (!token.is("contract"))
    return failParse(text, token, "must begin with 'contract'");
  token = next(at);
  if (!token.is("1"))
    return failParse(text, token,
                     "is no version of contracts that this core "
                     "knows; it knows 1");
  token = next(at);
  if (!token.is("groups"))
    return failParse(text, token, "'groups' must stand here");
  token = next(at);
  if (token.kind != Kind::Integer || *token.begin == '0')
    return failParse(text, token, "the number of groups must stand here");
  return checkStructure(text, at);
}

} // namespace

} // namespace torsor

using namespace torsor;

extern "C" {

const char *torsor_contract_text(const torsor_contract *contract) {
  return contract ? contract->text.get() : "";
}

uint64_t torsor_contract_fingerprint(const torsor_contract *contract) {
  return contract ? contract->fingerprint : 0;
}

torsor_status torsor_contract_compare(const torsor_contract *a,
                                      const torsor_contract *b) {
  if (!a || !b)
    return fail(TORSOR_INVALID, "contract %s is null", a ? "b" : "a");
  return compareContracts(*a, *b, "a", "b");
}

torsor_status torsor_contract_parse(const char *text, torsor_contract **out) {
  if (!out)
    return fail(TORSOR_INVALID, "contract: out is null");
  *out = nullptr;
  if (!text)
    return fail(TORSOR_INVALID, "contract: text is null");
  if (torsor_status status = checkText(text))
    return status;
  torsor_contract *contract = make<torsor_contract>();
  if (!contract)
    return failMemory(sizeof(torsor_contract));
  contract->text.append(text);
  return finish(contract, out);
}

void torsor_contract_destroy(torsor_contract *contract) {
  if (contract)
    releaseContract(contract);
}

} // extern "C"

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys of a config, read with their types and ranges; what was not read is
// known.
#ifndef TORSOR_IMPORT_READER_H
#define TORSOR_IMPORT_READER_H

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "import/Json.h"

namespace torsor {

/// One thing to say about a config. Errors keep everything from being written.
struct ImportMessage {
  enum Level { Error, Warning, Note } level;
  std::string text;
};

class ImportMessages {
public:
  void error(std::string text) { add(ImportMessage::Error, std::move(text)); }
  void warning(std::string text) {
    add(ImportMessage::Warning, std::move(text));
  }
  /// What the caller of the kernels must do, or what was decided.
  void note(std::string text) { add(ImportMessage::Note, std::move(text)); }

  bool hasErrors() const { return errors != 0; }
  const std::vector<ImportMessage> &get() const { return list; }

private:
  void add(ImportMessage::Level level, std::string text);
  std::vector<ImportMessage> list;
  size_t errors = 0;
};

/// Spellings of one key, the usual one first.
using KeyNames = std::initializer_list<std::string_view>;

/// One object of the config. A getter marks its key as read and reports a value
/// of the wrong type or outside the range; null counts as absent. Where a key
/// has several spellings and two disagree, that is an error, too.
class Reader {
public:
  Reader(const Json &object, std::string path, ImportMessages &messages)
      : object(object), path(std::move(path)), messages(&messages) {}

  /// Present and not null. Does not mark it as read.
  bool has(std::string_view name) const;
  /// Present, if only as null.
  bool mentions(std::string_view name) const;
  /// Marks as read and returns the value; null if absent or null.
  const Json *find(std::string_view name);
  void skip(KeyNames names);
  /// Marks keys as known to change nothing: they are listed as passed over.
  void passOver(KeyNames names);

  std::optional<int64_t> readInt(KeyNames names, int64_t low = 1,
                                 int64_t high = int64_t{1} << 31);
  /// Finite and at least `low`; with `above`, above it.
  std::optional<double> readReal(KeyNames names, double low,
                                 bool above = false);
  /// true, false or a number, which is true unless 0.
  std::optional<bool> readFlag(KeyNames names);
  std::optional<std::string> readWord(KeyNames names);
  std::optional<std::vector<std::string>> readWords(KeyNames names);
  std::optional<std::vector<int64_t>> readInts(KeyNames names, int64_t low = 0);
  /// Reals above 0.
  std::optional<std::vector<double>> readReals(KeyNames names);

  /// " (did you mean 'NAME'?)" of the keys that were asked for and are not
  /// there; "" where none is near.
  std::string suggest(std::string_view name) const;
  /// "'rope_scaling.factor' = 8".
  std::string quote(std::string_view name) const;
  std::string getPath(std::string_view name) const;
  const std::string &getPath() const { return path; }
  const Json &getObject() const { return object; }
  ImportMessages &getMessages() const { return *messages; }
  bool wasRead(const std::string &name) const { return read.count(name) != 0; }
  bool wasPassedOver(const std::string &name) const {
    return passed.count(name) != 0;
  }
  /// A key that is needed and is not there.
  void reportMissing(std::string_view name, std::string_view why);
  /// Has an error of this key's type or absence been reported? Of each key,
  /// only the first is: the others would follow from it.
  bool wasReported(std::string_view name) const {
    return reported.count(name) != 0;
  }

private:
  const Json &object;
  std::string path;
  ImportMessages *messages;
  std::set<std::string, std::less<>> read, reported, passed;

  /// The first spelling that has a value; "" if none.
  std::string_view choose(KeyNames names);
  void reportType(std::string_view name, std::string_view wanted);
};

/// An integer that JSON wrote as one, or as a real without a fraction.
std::optional<int64_t> asInteger(const Json &value);

} // namespace torsor

#endif // TORSOR_IMPORT_READER_H

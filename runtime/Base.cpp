// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Texts, structs that grow, numbers and aligned memory of the runtime core.

#include "runtime/Base.h"

#include "runtime/torsor_private.h"

#include <cstdio>
#include <locale.h>
#include <pthread.h>

namespace torsor {

/// Numbers are written and read with a point, whatever locale the host set.
namespace {
locale_t plainLocale;
pthread_once_t plainOnce = PTHREAD_ONCE_INIT;

class PlainLocale {
public:
  PlainLocale() {
    pthread_once(&plainOnce, [] {
      plainLocale = newlocale(LC_ALL_MASK, "C", locale_t(nullptr));
    });
    if (plainLocale)
      former = uselocale(plainLocale);
  }
  ~PlainLocale() {
    if (former)
      uselocale(former);
  }

private:
  locale_t former = nullptr;
};
} // namespace

void Text::append(const char *text, int64_t count) {
  int64_t before = size();
  if (lacking || !bytes.resize(before + count + 1)) {
    lacking = true;
    return;
  }
  std::memcpy(bytes.data() + before, text, size_t(count));
  bytes[before + count] = 0;
}

static void appendFormatted(Text &text, const char *format, va_list arguments) {
  PlainLocale plain;
  char small[256];
  va_list again;
  va_copy(again, arguments);
  int count = std::vsnprintf(small, sizeof small, format, arguments);
  if (count >= 0 && size_t(count) < sizeof small) {
    text.append(small, count);
  } else if (count > 0) {
    if (char *large = static_cast<char *>(std::malloc(size_t(count) + 1))) {
      std::vsnprintf(large, size_t(count) + 1, format, again);
      text.append(large, count);
      std::free(large);
    }
  }
  va_end(again);
}

void Text::appendf(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  appendFormatted(*this, format, arguments);
  va_end(arguments);
}

Number::Number(double value) {
  PlainLocale plain;
  for (int digits = 6; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (value != value || std::strtod(text, nullptr) == value)
      break;
  }
}

void *allocateAligned(int64_t bytes) {
  void *memory = nullptr;
  if (bytes < 0 || bytes > INT64_MAX - 64 ||
      posix_memalign(&memory, 64, size_t(alignUp(bytes ? bytes : 1))))
    return nullptr;
  return memory;
}

static uint32_t sizeOf(const void *structure) {
  uint32_t size;
  std::memcpy(&size, structure, sizeof size);
  return size;
}

static torsor_status checkSize(const void *structure, uint32_t own,
                               const char *name) {
  if (!structure)
    return fail(TORSOR_INVALID, "%s is null", name);
  uint32_t size = sizeOf(structure);
  if (size < own)
    return fail(TORSOR_INVALID,
                "%s: its size is %u, but the struct has %u bytes; set size to "
                "sizeof the struct",
                name, size, own);
  return TORSOR_OK;
}

torsor_status readStruct(const void *in, void *out, uint32_t own,
                         const char *name) {
  if (torsor_status status = checkSize(in, own, name))
    return status;
  uint32_t size = sizeOf(in);
  const char *bytes = static_cast<const char *>(in);
  for (uint32_t n = own; n < size; ++n)
    if (bytes[n])
      return fail(TORSOR_INVALID,
                  "%s: its size is %u and byte %u is not zero, but this core "
                  "knows %u bytes only; the host was built for a later version",
                  name, size, n, own);
  std::memcpy(out, in, own);
  return TORSOR_OK;
}

torsor_status writeStruct(const void *in, void *out, uint32_t own,
                          const char *name) {
  if (torsor_status status = checkSize(out, own, name))
    return status;
  uint32_t size = sizeOf(out);
  char *bytes = static_cast<char *>(out);
  std::memcpy(bytes + sizeof size, static_cast<const char *>(in) + sizeof size,
              own - sizeof size);
  std::memset(bytes + own, 0, size - own);
  return TORSOR_OK;
}

// ---- Errors: a text for each thread, in its own memory ----------------------

namespace {
thread_local char *errorText;
thread_local char shortText[256];
pthread_key_t errorKey;
pthread_once_t errorOnce = PTHREAD_ONCE_INIT;
bool errorKeyMade;

/// Keeps the text: in the thread's fixed memory if it is short, else on the
/// heap, which the thread's end frees.
void keepError(const char *text, int64_t length) {
  pthread_once(&errorOnce, [] {
    errorKeyMade = !pthread_key_create(&errorKey, std::free);
  });
  char *former = errorText == shortText ? nullptr : errorText;
  char *place = shortText;
  if (size_t(length) >= sizeof shortText && errorKeyMade)
    if (void *memory = std::malloc(size_t(length) + 1))
      place = static_cast<char *>(memory);
  size_t kept = size_t(length);
  if (place == shortText && kept >= sizeof shortText)
    kept = sizeof shortText - 1;
  std::memmove(place, text, kept);
  place[kept] = 0;
  errorText = place;
  if (errorKeyMade && (former || place != shortText))
    pthread_setspecific(errorKey, place == shortText ? nullptr : place);
  std::free(former);
}
} // namespace

torsor_status fail(torsor_status status, const char *format, ...) {
  Text text;
  va_list arguments;
  va_start(arguments, format);
  appendFormatted(text, format, arguments);
  va_end(arguments);
  keepError(text.get(), text.size());
  return status;
}

torsor_status failMemory(int64_t bytes) {
  return fail(TORSOR_MEMORY, "cannot allocate %lld bytes", (long long)bytes);
}

// ---- The log
// -----------------------------------------------------------------

namespace {
/// One setting of the log, immutable. Settings are kept for good, since another
/// thread may be using one; equal ones are shared, so that a host that sets the
/// same ones again and again does not grow.
struct LogTarget {
  torsor_log_fn function;
  void *context;
  torsor_level level;
  LogTarget *next;
};
std::atomic<LogTarget *> current{nullptr}, known{nullptr};

LogTarget *targetFor(torsor_log_fn function, void *context,
                     torsor_level level) {
  for (LogTarget *t = known.load(); t; t = t->next)
    if (t->function == function && t->context == context && t->level == level)
      return t;
  LogTarget *made = make<LogTarget>();
  if (!made)
    return nullptr;
  *made = {function, context, level, known.load()};
  while (!known.compare_exchange_weak(made->next, made)) {
  }
  return made;
}
} // namespace

bool logs(torsor_level level) {
  const LogTarget *target = current.load(std::memory_order_acquire);
  return target && level <= target->level;
}

static void writeLog(torsor_level level, const char *text) {
  const LogTarget *target = current.load(std::memory_order_acquire);
  if (target && level <= target->level)
    target->function(target->context, level, text);
}

void log(torsor_level level, const char *format, ...) {
  if (!logs(level))
    return;
  Text text;
  va_list arguments;
  va_start(arguments, format);
  appendFormatted(text, format, arguments);
  va_end(arguments);
  writeLog(level, text.get());
}

} // namespace torsor

using namespace torsor;

extern "C" {

const char *torsor_error(void) { return errorText ? errorText : ""; }

torsor_status torsor_set_error(torsor_status status, const char *text) {
  return fail(status, "%s", text ? text : "");
}

void torsor_set_log(torsor_log_fn function, void *context, torsor_level level) {
  current.store(function ? targetFor(function, context, level) : nullptr,
                std::memory_order_release);
}

void torsor_write_log(torsor_level level, const char *text) {
  writeLog(level, text ? text : "");
}

uint32_t torsor_version(void) {
  return TORSOR_VERSION_MAJOR << 16 | TORSOR_VERSION_MINOR;
}

const char *torsor_status_name(torsor_status status) {
  static const char *const names[] = {
      "ok",     "invalid",  "shape",   "dtype",       "stride",  "range",
      "name",   "contract", "value",   "unsupported", "version", "machine",
      "memory", "io",       "compile", "device",      "internal"};
  int32_t number = numberOf(status);
  return number < 0 || number > TORSOR_INTERNAL ? "unknown" : names[number];
}

} // extern "C"

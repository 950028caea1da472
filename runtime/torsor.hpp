// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// torsor.hpp: torsor.h for C++17. Handles that destroy themselves, failures as
// exceptions; structs, tensors and rules are torsor.h's. Header only.
//
//   torsor::Library library = torsor::Library::open("llama31.so");
//   torsor::Scheme scheme = library.find("llama31", TORSOR_BF16);
//   torsor::Instance instance = scheme.instance(32, 8, {});
//   instance.run(TORSOR_ATTEND, call);
#ifndef TORSOR_HPP
#define TORSOR_HPP

#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "torsor.h"

namespace torsor {

/// What a failed call said.
class Error : public std::runtime_error {
public:
  explicit Error(torsor_status status)
      : std::runtime_error(std::string(torsor_status_name(status)) + ": " +
                           torsor_error()),
        code(status) {}
  torsor_status status() const noexcept { return code; }

private:
  torsor_status code;
};

/// Throws Error unless the status is TORSOR_OK.
inline void check(torsor_status status) {
  if (status != TORSOR_OK)
    throw Error(status);
}

/// A struct that begins with `size`, filled in; all else is the default.
template <class T> T make() {
  T value = {};
  value.size = sizeof(T);
  return value;
}

namespace detail {
template <class T, void (*destroy)(T *)> struct Destroyer {
  void operator()(T *handle) const noexcept { destroy(handle); }
};
template <class T, void (*destroy)(T *)>
using Handle = std::unique_ptr<T, Destroyer<T, destroy>>;
} // namespace detail

/// A contract read from a text. Those of instances and caches are theirs.
class Contract {
public:
  static Contract parse(const std::string &text) {
    torsor_contract *out;
    check(torsor_contract_parse(text.c_str(), &out));
    return Contract(out);
  }
  const torsor_contract *get() const noexcept { return handle.get(); }
  std::string text() const { return torsor_contract_text(get()); }

private:
  explicit Contract(torsor_contract *from) : handle(from) {}
  detail::Handle<torsor_contract, torsor_contract_destroy> handle;
};

/// Storage of keys under a contract.
class Cache {
public:
  explicit Cache(torsor_cache *from) : handle(from) {}
  torsor_cache *get() const noexcept { return handle.get(); }
  torsor_tensor stream(const char *name) const {
    torsor_tensor out;
    check(torsor_cache_stream(get(), name, &out));
    return out;
  }
  const torsor_contract *contract() const noexcept {
    return torsor_cache_contract(get());
  }

private:
  detail::Handle<torsor_cache, torsor_cache_destroy> handle;
};

/// Threads of the library, as an executor.
class Pool {
public:
  explicit Pool(int64_t threads) {
    check(torsor_pool_create(threads, &executor));
  }
  ~Pool() { torsor_pool_destroy(&executor); }
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;
  const torsor_executor *get() const noexcept { return &executor; }

private:
  torsor_executor executor;
};

/// A scheme with its params, H and G.
class Instance {
public:
  explicit Instance(torsor_instance *from) : handle(from) {}
  torsor_instance *get() const noexcept { return handle.get(); }
  const torsor_contract *contract() const noexcept {
    return torsor_instance_contract(get());
  }
  Cache cache(const torsor_cache_options &options) const {
    torsor_cache *out;
    check(torsor_cache_create(get(), &options, &out));
    return Cache(out);
  }
  int64_t cacheBytes(int64_t rows, int64_t slots) const {
    int64_t bytes;
    check(torsor_cache_bytes(get(), rows, slots, &bytes));
    return bytes;
  }
  /// Checks, plans and runs a call; executor null: the pool of the process.
  void run(torsor_op op, const torsor_call &call,
           const torsor_executor *executor = nullptr) const {
    check(torsor_run(get(), op, &call, executor));
  }
  int64_t planBytes(torsor_op op, int64_t sequences, int64_t queries,
                    int64_t keys, int64_t workers) const {
    int64_t bytes;
    check(torsor_plan_bytes(get(), op, sequences, queries, keys, workers,
                            &bytes));
    return bytes;
  }

private:
  detail::Handle<torsor_instance, torsor_instance_destroy> handle;
};

/// Memory that calls reuse, and the call it was set for.
class Plan {
public:
  Plan() {
    torsor_plan *out;
    check(torsor_plan_create(&out));
    handle.reset(out);
  }
  torsor_plan *get() const noexcept { return handle.get(); }
  void workspace(void *memory, int64_t bytes) {
    check(torsor_plan_workspace(get(), memory, bytes, TORSOR_HOST, 0));
  }
  torsor_plan_info set(const Instance &instance, torsor_op op,
                       const torsor_call &call, int64_t workers) {
    auto info = make<torsor_plan_info>();
    check(torsor_plan_set(get(), instance.get(), op, &call, workers, &info));
    return info;
  }
  void run(uint32_t phase, int64_t begin, int64_t end, int64_t worker) const {
    check(torsor_plan_run(get(), phase, begin, end, worker));
  }
  void execute(const torsor_executor *executor = nullptr) const {
    check(torsor_plan_execute(get(), executor));
  }

private:
  detail::Handle<torsor_plan, torsor_plan_destroy> handle;
};

/// One compiled scheme for one choice of widths and types.
class Scheme {
public:
  explicit Scheme(torsor_scheme *from) : handle(from) {}
  torsor_scheme *get() const noexcept { return handle.get(); }
  torsor_scheme_info describe() const {
    auto info = make<torsor_scheme_info>();
    check(torsor_scheme_describe(get(), &info));
    return info;
  }
  std::vector<torsor_argument> arguments() const {
    return list(describe().arguments, torsor_scheme_argument);
  }
  std::vector<torsor_argument> streams() const {
    return list(describe().streams, torsor_scheme_stream);
  }
  /// The tensors of params are borrowed.
  Instance instance(int64_t heads, int64_t groups,
                    std::initializer_list<torsor_binding> params) const {
    torsor_instance *out;
    check(torsor_instance_create(get(), heads, groups, params.begin(),
                                 int64_t(params.size()), &out));
    return Instance(out);
  }
  Instance instance(int64_t heads, int64_t groups,
                    const std::vector<torsor_binding> &params) const {
    torsor_instance *out;
    check(torsor_instance_create(get(), heads, groups, params.data(),
                                 int64_t(params.size()), &out));
    return Instance(out);
  }

private:
  template <class Get>
  std::vector<torsor_argument> list(int64_t count, Get getOne) const {
    std::vector<torsor_argument> out;
    for (int64_t n = 0; n < count; ++n) {
      out.push_back(make<torsor_argument>());
      check(getOne(get(), n, &out.back()));
    }
    return out;
  }
  detail::Handle<torsor_scheme, torsor_scheme_destroy> handle;
};

/// Compiled code: linked, opened, or what the compiler (torsor_jit.h) made.
class Library {
public:
  explicit Library(torsor_library *from) : handle(from) {}
  static Library link(const torsor_module &module,
                      const torsor_load_options *options = nullptr) {
    torsor_library *out;
    check(torsor_library_link(&module, options, &out));
    return Library(out);
  }
  /// Executes code of the file: it must be trusted.
  static Library open(const std::string &path,
                      const torsor_load_options *options = nullptr) {
    torsor_library *out;
    check(torsor_library_open(path.c_str(), options, &out));
    return Library(out);
  }
  torsor_library *get() const noexcept { return handle.get(); }
  int64_t schemes() const noexcept { return torsor_library_schemes(get()); }
  int64_t layers() const noexcept { return torsor_library_layers(get()); }
  Scheme at(int64_t index) const {
    torsor_scheme *out;
    check(torsor_library_at(get(), index, &out));
    return Scheme(out);
  }
  Scheme find(const char *name = nullptr,
              torsor_dtype dtype = TORSOR_ANY) const {
    torsor_scheme *out;
    check(torsor_library_find(get(), name, dtype, &out));
    return Scheme(out);
  }
  /// The scheme that a layer of the stack uses for its n-th attention.
  Scheme layer(int64_t number, int64_t attention = 0) const {
    int64_t index;
    check(torsor_library_layer(get(), number, attention, &index));
    return at(index);
  }

private:
  detail::Handle<torsor_library, torsor_library_destroy> handle;
};

} // namespace torsor

#endif // TORSOR_HPP

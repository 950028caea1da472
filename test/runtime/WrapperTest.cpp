// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C++ wrapper: handles, exceptions, moves.

#include "runtime/torsor.hpp"
#include "test/runtime/Fixture.h"

namespace {

TEST(Wrapper, RunsAndThrows) {
  torsor::Library library = torsor::Library::link(naive::module);
  EXPECT_EQ(library.schemes(), 2);
  EXPECT_STREQ(library.layer(0).describe().name, "full");
  torsor::Scheme full = library.find("full");
  ASSERT_EQ(full.arguments().size(), 7u);
  EXPECT_STREQ(full.arguments()[1].name, "doc");
  EXPECT_STREQ(full.streams()[4].name, "index");
  torsor::Instance instance = library.find("plain").instance(4, 2, {});
  naive::Model same("plain");
  naive::Tensors a(same, 1, 5, 1, 5), b(same, 1, 5, 1, 5);
  torsor::Pool pool(2);
  instance.run(TORSOR_ATTEND, a.call, pool.get());
  torsor::Plan plan;
  torsor_plan_info info = plan.set(instance, TORSOR_ATTEND, b.call, 1);
  for (uint32_t phase = 0; phase < info.phases; ++phase)
    plan.run(phase, 0, info.items[phase], 0);
  EXPECT_EQ(a.o, b.o);
  auto options = torsor::make<torsor_cache_options>();
  options.rows = 1, options.slots = 16;
  torsor::Cache cache = instance.cache(options);
  torsor::Cache moved = std::move(cache);
  EXPECT_EQ(cache.get(), nullptr);
  EXPECT_EQ(moved.stream("k").shape[2], 16);
  EXPECT_EQ(instance.cacheBytes(1, 16), 16 * 2 * 12 * 4);
  torsor::Contract read =
      torsor::Contract::parse(torsor_contract_text(moved.contract()));
  EXPECT_EQ(read.text(), torsor_contract_text(instance.contract()));
  try {
    library.find("none");
    FAIL() << "no exception";
  } catch (const torsor::Error &error) {
    EXPECT_EQ(error.status(), TORSOR_NAME);
    EXPECT_EQ(std::string(error.what()).rfind("name: no scheme 'none'", 0), 0u);
  }
}

} // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cache of objects: what was stored comes back or nothing does, whatever
// other processes, crashes and other programs do to the folder.
#include "runtime/jit/ObjectCache.h"

#include "runtime/jit/Files.h"

#include "llvm/ADT/StringExtras.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace torsor;
namespace fs = std::filesystem;

namespace {

Digest keyOf(int n) { return computeDigest({"key", std::to_string(n)}); }

/// An object that only its number decides, so that any mix-up shows.
std::string objectOf(int n, size_t size = 100000) {
  std::string object(size, '\0');
  uint32_t state = n * 2654435761u + 1;
  for (char &c : object) {
    state = state * 1664525 + 1013904223;
    c = static_cast<char>(state >> 24);
  }
  return object;
}

class Cache : public testing::Test {
protected:
  std::string folder;
  std::string warning;

  void SetUp() override {
    folder = testing::TempDir() + "torsor-cache-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder += "/objects";
  }
  void TearDown() override {
    fs::permissions(fs::path(folder).parent_path(), fs::perms::owner_all);
    fs::remove_all(fs::path(folder).parent_path());
  }
  ObjectCache make(int64_t limit = int64_t{1} << 30) {
    ObjectCache::Options options;
    options.folder = folder;
    options.limitBytes = limit;
    return ObjectCache(options);
  }
  std::vector<fs::path> files() {
    std::vector<fs::path> result;
    if (fs::exists(folder))
      for (const auto &entry : fs::directory_iterator(folder))
        result.push_back(entry.path());
    return result;
  }
};

TEST_F(Cache, GivesBackWhatWasStored) {
  ObjectCache cache = make();
  EXPECT_FALSE(cache.load(keyOf(1), warning));
  EXPECT_TRUE(files().empty()); // looking makes no folder
  cache.store(keyOf(1), objectOf(1), warning);
  cache.store(keyOf(2), "", warning);
  EXPECT_EQ(cache.load(keyOf(1), warning), objectOf(1));
  EXPECT_FALSE(cache.load(keyOf(3), warning));
  EXPECT_EQ(make().load(keyOf(1), warning), objectOf(1));
  EXPECT_EQ(warning, "");
}

TEST_F(Cache, LengthsEnterTheDigest) {
  EXPECT_NE(computeDigest({"ab", "c"}), computeDigest({"a", "bc"}));
  EXPECT_NE(computeDigest({"a"}), computeDigest({"a", ""}));
}

TEST_F(Cache, EveryDamagedByteIsNoticed) {
  ObjectCache cache = make();
  cache.store(keyOf(1), objectOf(1, 300), warning);
  fs::path path = files().at(0);
  std::string good, error;
  ASSERT_TRUE(readWholeFile(path, good, error));
  for (size_t n = 0; n < good.size(); ++n) {
    std::string bad = good;
    bad[n] ^= 1 << n % 8;
    std::ofstream(path, std::ios::binary) << bad;
    EXPECT_FALSE(cache.load(keyOf(1), warning)) << "byte " << n;
    EXPECT_FALSE(fs::exists(path)) << "a damaged entry is removed";
  }
  for (size_t n = 0; n < good.size(); n += 7) {
    std::ofstream(path, std::ios::binary) << good.substr(0, n);
    EXPECT_FALSE(cache.load(keyOf(1), warning)) << "cut at " << n;
  }
  std::ofstream(path, std::ios::binary) << good << "x";
  EXPECT_FALSE(cache.load(keyOf(1), warning));
  std::ofstream(path, std::ios::binary) << good;
  EXPECT_EQ(cache.load(keyOf(1), warning), objectOf(1, 300));
}

TEST_F(Cache, AnEntryUnderAnotherNameIsRefused) {
  ObjectCache cache = make();
  cache.store(keyOf(1), objectOf(1), warning);
  fs::path first = files().at(0);
  cache.store(keyOf(2), objectOf(2), warning);
  fs::path second = files()[0] == first ? files()[1] : files()[0];
  fs::rename(first, second);
  EXPECT_FALSE(cache.load(keyOf(2), warning));
}

TEST_F(Cache, TheOldestEntriesGo) {
  ObjectCache cache = make(350000); // three entries
  for (int n = 0; n < 3; ++n) {
    cache.store(keyOf(n), objectOf(n), warning);
    std::this_thread::sleep_for(std::chrono::milliseconds(15));
  }
  EXPECT_TRUE(cache.load(keyOf(0), warning)); // used, so no longer the oldest
  std::this_thread::sleep_for(std::chrono::milliseconds(15));
  cache.store(keyOf(3), objectOf(3), warning);
  EXPECT_TRUE(cache.load(keyOf(0), warning));
  EXPECT_FALSE(cache.load(keyOf(1), warning));
  EXPECT_TRUE(cache.load(keyOf(2), warning));
  EXPECT_TRUE(cache.load(keyOf(3), warning));
  // What does not fit at all throws nothing out.
  cache.store(keyOf(4), objectOf(4, 400000), warning);
  EXPECT_FALSE(cache.load(keyOf(4), warning));
  EXPECT_EQ(files().size(), 3u);
}

TEST_F(Cache, FlagsSayWhatIsDone) {
  make().store(keyOf(1), objectOf(1), warning);
  ObjectCache::Options options;
  options.folder = folder;
  options.readOnly = true;
  ObjectCache readOnly(options);
  EXPECT_EQ(readOnly.load(keyOf(1), warning), objectOf(1));
  readOnly.store(keyOf(2), objectOf(2), warning);
  std::string error;
  EXPECT_FALSE(readOnly.clear(error));
  options = {folder};
  options.refresh = true;
  ObjectCache refresh(options);
  EXPECT_FALSE(refresh.load(keyOf(1), warning));
  refresh.store(keyOf(1), objectOf(7), warning);
  options = {folder};
  options.off = true;
  ObjectCache off(options);
  EXPECT_FALSE(off.load(keyOf(1), warning));
  off.store(keyOf(3), objectOf(3), warning);
  EXPECT_EQ(make().load(keyOf(1), warning), objectOf(7));
  EXPECT_EQ(files().size(), 1u);
  EXPECT_EQ(warning, "");
}

TEST_F(Cache, ClearLeavesOtherFilesAlone) {
  ObjectCache cache = make();
  std::string error;
  EXPECT_TRUE(cache.clear(error)); // no folder yet
  cache.store(keyOf(1), objectOf(1), warning);
  std::ofstream(folder + "/notes.txt") << "mine";
  std::ofstream(folder + "/other.tmp") << "mine";
  EXPECT_TRUE(cache.clear(error)) << error;
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(Cache, AnUnusableFolderIsAWarning) {
  ObjectCache cache = make();
  auto expectWarning = [&](const char *text) {
    warning.clear();
    cache.store(keyOf(1), objectOf(1), warning);
    EXPECT_NE(warning.find("'" + folder + "' cannot be used: "),
              std::string::npos);
    EXPECT_NE(warning.find(text), std::string::npos) << warning;
    EXPECT_FALSE(cache.load(keyOf(1), warning));
  };
  std::ofstream(folder) << "a file";
  expectWarning("");
  fs::remove(folder);
  fs::create_directory(folder);
  fs::permissions(folder, fs::perms::all);
  expectWarning("every user can write to it");
  fs::remove(folder);
  if (geteuid() == 0) { // root may write anywhere, but not own every folder
    fs::create_directory(folder);
    ASSERT_EQ(chown(folder.c_str(), 12345, 12345), 0);
    expectWarning("it belongs to another user");
  } else {
    fs::permissions(fs::path(folder).parent_path(),
                    fs::perms::owner_read | fs::perms::owner_exec);
    expectWarning("ermission denied");
  }
}

TEST_F(Cache, ManyProcessesAndThreadsShareAFolder) {
  // Writers of the same and of different keys, readers, and a limit so low
  // that entries go all the time. Nobody may see anything but what belongs to
  // the key.
  constexpr int processes = 4, rounds = 60, keys = 6;
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      int wrong = 0;
      std::vector<std::thread> threads;
      std::atomic<int> bad = 0;
      for (int t = 0; t < 2; ++t)
        threads.emplace_back([&, t] {
          ObjectCache cache = make(350000);
          std::string note;
          for (int n = 0; n < rounds; ++n) {
            int key = (n * 7 + p * 3 + t) % keys;
            if (auto object = cache.load(keyOf(key), note))
              bad += *object != objectOf(key);
            else
              cache.store(keyOf(key), objectOf(key), note);
          }
          bad += !note.empty();
        });
      for (std::thread &thread : threads)
        thread.join();
      wrong = bad;
      _exit(wrong != 0);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  for (const fs::path &path : files())
    EXPECT_EQ(path.extension(), ".tobj") << path;
}

TEST_F(Cache, AProcessKilledWhileWritingHarmsNothing) {
  std::vector<std::string> objects;
  for (int n = 0; n < 3; ++n)
    objects.push_back(objectOf(n, 4000000));
  make().store(keyOf(0), objects[0], warning);
  auto countTemporary = [&] {
    int count = 0;
    for (const fs::path &path : files())
      count += path.extension() == ".tmp";
    return count;
  };
  // Until enough children died in the middle of a write.
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (countTemporary() < 5 && std::chrono::steady_clock::now() < end) {
    int before = countTemporary();
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ObjectCache cache = make();
      for (int n = 0;; n = (n + 1) % 3) {
        std::string note;
        cache.store(keyOf(n), objects[n], note);
      }
    }
    while (countTemporary() == before && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    ObjectCache cache = make();
    for (int n = 0; n < 3; ++n)
      if (auto object = cache.load(keyOf(n), warning)) {
        EXPECT_EQ(*object, objects[n]);
      } else {
        EXPECT_NE(n, 0) << "an entry that was there is still there";
      }
  }
  EXPECT_GE(countTemporary(), 5) << "no write was interrupted: tests nothing";
  // Once they are old, the next write removes them.
  for (const fs::path &path : files())
    fs::last_write_time(path, fs::file_time_type::clock::now() -
                                  std::chrono::hours(1));
  make().store(keyOf(9), objectOf(9), warning);
  for (const fs::path &path : files())
    EXPECT_EQ(path.extension(), ".tobj") << path;
  EXPECT_EQ(warning, "");
}

} // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading and writing .npy files: every type, every way a file can be wrong.
#include "tools/support/Npy.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <limits>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace torsor;

namespace {

std::string makeFile(const std::string &header, size_t dataBytes,
                     int major = 1) {
  std::string bytes("\x93NUMPY", 6);
  bytes += static_cast<char>(major);
  bytes += '\0';
  bytes += static_cast<char>(header.size() & 255);
  bytes += static_cast<char>(header.size() >> 8);
  if (major > 1)
    bytes += std::string(2, '\0');
  return bytes + header + std::string(dataBytes, '\1');
}

std::string errorOf(const std::string &bytes) {
  Array array;
  std::string error;
  return parseNpy(bytes, "x.npy", array, error) ? "accepted" : error;
}

const char plain[] =
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";

TEST(Npy, EveryTypeComesBackBitForBit) {
  std::string path =
      testing::TempDir() + "torsor-npy-" + std::to_string(getpid()) + ".npy";
  for (torsor_dtype dtype :
       {TORSOR_F32, TORSOR_F16, TORSOR_BF16, TORSOR_F64, TORSOR_I32, TORSOR_I64,
        TORSOR_I8, TORSOR_U8, TORSOR_BOOL})
    for (std::vector<int64_t> shape :
         {std::vector<int64_t>{}, {5}, {0}, {2, 3}, {2, 0, 3}, {1, 2, 3, 4}}) {
      SCOPED_TRACE(getTypeName(dtype));
      Array written(dtype, shape), read;
      for (int64_t n = 0; n < written.bytes(); ++n)
        written.as<uint8_t>()[n] = static_cast<uint8_t>(37 * n + 11);
      std::string error;
      ASSERT_TRUE(writeNpy(path, written, error)) << error;
      ASSERT_TRUE(readNpy(path, read, error)) << error;
      EXPECT_EQ(read.dtype, dtype);
      EXPECT_EQ(read.shape, shape);
      EXPECT_EQ(std::memcmp(read.data(), written.data(), written.bytes()), 0);
    }
  std::remove(path.c_str());
}

TEST(Npy, AcceptsWhatNumPyWrites) {
  for (int major : {1, 2, 3})
    EXPECT_EQ(errorOf(makeFile(plain, 24, major)), "accepted");
  EXPECT_EQ(errorOf(makeFile("{\"shape\": (), \"fortran_order\": False, "
                             "\"descr\": '<i8'}",
                             8)),
            "accepted");
  // One axis is in both orders.
  EXPECT_EQ(
      errorOf(makeFile(
          "{'descr': '<f4', 'fortran_order': True, 'shape': (3,), }", 12)),
      "accepted");
}

TEST(Npy, SaysWhatIsWrong) {
  EXPECT_EQ(errorOf("hello"), "'x.npy': this is not a .npy file");
  EXPECT_EQ(errorOf(makeFile(plain, 24, 4)),
            "'x.npy': the .npy format has versions 1 to 3, but this file says "
            "4");
  EXPECT_EQ(errorOf(makeFile(plain, 24).substr(0, 40)),
            "'x.npy': the file ends within its header");
  EXPECT_EQ(errorOf(makeFile(plain, 23)),
            "'x.npy': the shape asks for 24 bytes, but the file has 23");
  EXPECT_EQ(errorOf(makeFile(plain, 25)),
            "'x.npy': the shape asks for 24 bytes, but the file has 25");
  EXPECT_NE(errorOf(makeFile("{'descr': '>f4', 'fortran_order': False, "
                             "'shape': (1,)}",
                             4))
                .find("'>f4' cannot be used"),
            std::string::npos);
  EXPECT_NE(errorOf(makeFile("{'descr': '<u2', 'fortran_order': False, "
                             "'shape': (1,)}",
                             2))
                .find("'<u2' cannot be used"),
            std::string::npos);
  EXPECT_NE(errorOf(makeFile("{'descr': '<f4', 'fortran_order': True, "
                             "'shape': (2, 2)}",
                             16))
                .find("Fortran order"),
            std::string::npos);
  EXPECT_NE(errorOf(makeFile("{'descr': '<f4', 'fortran_order': False, "
                             "'shape': (1, 1, 1, 1, 1, 1, 1)}",
                             4))
                .find("7 axes"),
            std::string::npos);
  EXPECT_NE(errorOf(makeFile("{'descr': '<f4', 'fortran_order': False, "
                             "'shape': (-1,)}",
                             4))
                .find("an axis of negative length"),
            std::string::npos);
  for (const char *shape :
       {"(4294967296, 4294967296, 4294967296)", "(9223372036854775807,)",
        "(99999999999999999999,)"})
    EXPECT_NE(errorOf(makeFile("{'descr': '<f8', 'fortran_order': False, "
                               "'shape': " +
                                   std::string(shape) + "}",
                               0))
                  .find("larger than any memory"),
              std::string::npos);
}

TEST(Npy, RefusesBrokenHeaders) {
  for (const char *header :
       {"", "{", "{}", "['descr']", "{'descr': '<f4'}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1}",
        "{'descr': '<f4', 'descr': '<f4', 'shape': (1,)}",
        "{'descr: '<f4', 'fortran_order': False, 'shape': (1,)}"})
    EXPECT_NE(errorOf(makeFile(header, 4)).find("the header is not"),
              std::string::npos)
        << header;
  // Every beginning of a good file is refused, none crashes.
  std::string good = makeFile(plain, 24);
  for (size_t n = 0; n < good.size(); ++n)
    EXPECT_NE(errorOf(good.substr(0, n)), "accepted");
}

TEST(Npy, MissingFile) {
  Array array;
  std::string error;
  EXPECT_FALSE(readNpy("no/such/file.npy", array, error));
  EXPECT_EQ(error, "'no/such/file.npy': No such file or directory");
  EXPECT_FALSE(writeNpy("no/such/file.npy", Array(TORSOR_F32, {1}), error));
  EXPECT_EQ(error, "'no/such/file.npy': No such file or directory");
}

// A device is no file to be replaced: who writes to /dev/null keeps it.
TEST(Npy, LinksPipesAndDevicesStay) {
  namespace fs = std::filesystem;
  std::string folder = testing::TempDir() + "torsor-npy-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::string target = folder + "/target.npy", link = folder + "/link.npy",
              pipe = folder + "/pipe";
  Array one(TORSOR_F32, {1}), read;
  std::string error;
  ASSERT_TRUE(writeNpy(target, one, error)) << error;
  fs::create_symlink("target.npy", link);
  one.set(0, 3);
  ASSERT_TRUE(writeNpy(link, one, error)) << error;
  EXPECT_TRUE(fs::is_symlink(link));
  ASSERT_TRUE(readNpy(target, read, error)) << error;
  EXPECT_EQ(read.at(0), 3);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread reader([&] {
    std::string unread;
    EXPECT_TRUE(readNpy(pipe, read, unread)) << unread;
  });
  one.set(0, 5);
  EXPECT_TRUE(writeNpy(pipe, one, error)) << error;
  reader.join();
  EXPECT_EQ(read.at(0), 5);
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_FALSE(writeNpy("/dev/full", one, error));
  EXPECT_NE(error.find("No space left"), std::string::npos) << error;
  EXPECT_FALSE(fs::is_regular_file("/dev/full"));
  fs::remove_all(folder);
}

TEST(Npy, WhatHasNoEndIsNoArray) {
  Array array;
  std::string error;
  EXPECT_FALSE(readNpy("/dev/zero", array, error));
  EXPECT_EQ(error, "'/dev/zero': this is not a .npy file");
}

TEST(Npy, UnsignedMayStandForBf16) {
  Array array;
  std::string error;
  std::string bytes =
      makeFile("{'descr': '<u2', 'fortran_order': False, 'shape': (1,)}", 0);
  bytes += std::string("\x80\x3f", 2);
  ASSERT_TRUE(parseNpy(bytes, "x", array, error, true));
  EXPECT_EQ(array.dtype, TORSOR_BF16);
  EXPECT_EQ(array.at(0), 1.0);
}

TEST(Convert, EveryHalfComesBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    uint16_t half = static_cast<uint16_t>(bits);
    float wide = fromF16(half);
    if (std::isnan(wide))
      EXPECT_TRUE(std::isnan(fromF16(toF16(wide))));
    else
      EXPECT_EQ(toF16(wide), half);
    wide = fromBf16(half);
    if (std::isnan(wide))
      EXPECT_TRUE(std::isnan(fromBf16(toBf16(wide))));
    else
      EXPECT_EQ(toBf16(wide), half);
  }
}

TEST(Convert, HalvesRoundToNearestEven) {
  // Halfway between neighbours, and just beside it, over all positive halves.
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    uint16_t low = static_cast<uint16_t>(bits), high = low + 1;
    float middle = (fromF16(low) + fromF16(high)) / 2; // exact in f32
    EXPECT_EQ(toF16(middle), bits & 1 ? high : low);
    EXPECT_EQ(toF16(std::nextafter(middle, 0.0f)), low);
    EXPECT_EQ(toF16(std::nextafter(middle, 1e9f)), high);
  }
  EXPECT_EQ(toF16(65519.996f), 0x7bff);
  EXPECT_EQ(toF16(65520.0f), 0x7c00);
  EXPECT_EQ(toBf16(std::nextafter(1.00390625f, 2.0f)), 0x3f81);
  EXPECT_EQ(toBf16(1.00390625f), 0x3f80); // a tie
}

TEST(Convert, ClampsToIntegers) {
  Array reals(TORSOR_F64, {4});
  const double values[] = {1e300, -1e300, NAN, 2.5};
  for (int n = 0; n < 4; ++n)
    reals.set(n, values[n]);
  Array ints = convertArray(reals, TORSOR_I32);
  EXPECT_EQ(ints.as<int32_t>()[0], std::numeric_limits<int32_t>::max());
  EXPECT_EQ(ints.as<int32_t>()[1], std::numeric_limits<int32_t>::min());
  EXPECT_EQ(ints.as<int32_t>()[2], 0);
  EXPECT_EQ(ints.as<int32_t>()[3], 2);
  Array longs(TORSOR_I64, {1});
  longs.as<int64_t>()[0] = (int64_t{1} << 31) - 1;
  EXPECT_EQ(convertArray(longs, TORSOR_I32).as<int32_t>()[0],
            std::numeric_limits<int32_t>::max());
}

} // namespace

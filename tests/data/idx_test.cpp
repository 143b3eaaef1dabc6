#include "lockstep/data/idx.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support.h"
#include "support/peak_memory.h"

namespace lockstep::data {
namespace {

constexpr ImageShape kShape{5, 4, 3, 1};

std::string refusal(const std::string& bytes) {
  const TempPath path;
  write_file(*path, bytes);
  const std::string line = error_line(Code::kData, [&] { read_idx(*path); });
  EXPECT_NE(line.find((*path).string()), std::string::npos) << line;
  return line;
}

void expect_mentions(const std::string& line, const std::string& part) {
  EXPECT_NE(line.find(part), std::string::npos) << line;
}

TEST(Idx, PlainAndGzipHoldTheSameImages) {
  const auto pixels = some_pixels(kShape);
  const TempPath plain, packed(".gz");
  write_file(*plain, idx_text(kShape, pixels));
  write_file(*packed, gzip(idx_text(kShape, pixels)));
  const auto a = read_idx(*plain), b = read_idx(*packed);
  EXPECT_EQ(a->shape(), kShape);
  EXPECT_EQ(a->pixels(), pixels);
  EXPECT_EQ(b->pixels(), pixels);
  EXPECT_EQ(a->hash(), b->hash());
}

TEST(Idx, FourDimensionsAreColourImages) {
  const ImageShape rgb{2, 3, 4, 3};
  const TempPath path;
  write_file(*path, idx_text(rgb, some_pixels(rgb)));
  EXPECT_EQ(read_idx(*path)->shape(), rgb);
}

TEST(Idx, ADirectoryStandsForItsTrainingImages) {
  const TempPath folder;
  std::filesystem::create_directory(*folder);
  expect_mentions(error_line(Code::kData, [&] { find_idx(*folder); }), "train-images-idx3-ubyte");
  write_file(*folder / "train-images-idx3-ubyte.gz", gzip(idx_text(kShape, some_pixels(kShape))));
  EXPECT_EQ(read_idx(find_idx(*folder))->shape(), kShape);
}

TEST(Idx, ASymbolicLinkIsFollowed) {
  const TempPath file, link;
  write_file(*file, idx_text(kShape, some_pixels(kShape)));
  std::filesystem::create_symlink(*file, *link);
  EXPECT_EQ(read_idx(*link)->shape(), kShape);
}

TEST(Idx, WhatIsNotAFileOfImagesIsNamed) {
  const TempPath missing, folder;
  expect_mentions(error_line(Code::kData, [&] { read_idx(*missing); }), (*missing).string());
  std::filesystem::create_directory(*folder);
  expect_mentions(error_line(Code::kData, [&] { read_idx(*folder); }), "not a regular file");
  expect_mentions(refusal(""), "the file is empty");
  expect_mentions(refusal("PNG and more"), "magic");
  expect_mentions(refusal("\x93NUMPY and more"), "a NumPy array: `lockstep pack` makes a data set");
  expect_mentions(refusal("PK\x03\x04 and more"), "reads one of NumPy");
  expect_mentions(refusal("PAR1 and more"), "a Parquet file: save its pictures");
  expect_mentions(refusal("\xff\xd8\xff\xe1 and more"), "takes the folder that it lies in");
  expect_mentions(refusal(idx_header({3}) + "abc"), "labels");
  expect_mentions(refusal(idx_header({1, 1, 1}, 13) + "abcd"), "type 13");
  expect_mentions(refusal(idx_header({1, 1}) + "a"), "2 dimensions");
  expect_mentions(refusal(idx_header({1, 1, 1, 2}) + "ab"), "channels");
}

TEST(Idx, HostileSizesAreRefusedBeforeMemoryIsTaken) {
  expect_mentions(refusal(idx_header({0xffffffff, 0xffffffff, 0xffffffff})), "65535 pixels");
  expect_mentions(refusal(idx_header({0xffffffff, 65535, 65535, 3})), "64 GiB");
  expect_mentions(refusal(idx_header({0x80000000, 1 << 15, 1 << 15, 1})), "64 GiB");
  expect_mentions(refusal(idx_header({0, 28, 28})), "zero");
  // Allowed, but not there: 60 GB would be noticed here.
  EXPECT_LT(lockstep::testing::peak_kib([] {
              expect_mentions(refusal(idx_header({60000, 1000, 1000})), "more than the file");
              expect_mentions(refusal(gzip(idx_header({60000, 1000, 1000}))), "more than the file");
            }),
            50 * 1024);
}

// As many bytes as this much gzip may hold, but it does not: memory comes with the bytes.
TEST(Idx, MemoryGrowsOnlyWithBytesThatAreThere) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "NOT PROVED: how memory grows, under a sanitizer, which takes its own";
#endif
  std::string noise;
  for (std::uint32_t i = 0, x = 1; i < 1 << 19; ++i, x = x * 1664525 + 1013904223)
    noise += static_cast<char>(x >> 24);
  const std::string text = gzip(idx_header({500, 1000, 1000}) + noise);
  EXPECT_LT(lockstep::testing::peak_kib([&] { expect_mentions(refusal(text), "truncated"); }),
            50 * 1024);
}

TEST(Idx, AGzipBombIsInflatedNoFurtherThanItsHeaderSays) {
  const std::string bomb =
      gzip(idx_text(kShape, some_pixels(kShape)) + std::string(std::size_t{200} << 20, '\0'));
  EXPECT_LT(lockstep::testing::peak_kib([&] { expect_mentions(refusal(bomb), "goes on"); }),
            50 * 1024);
}

TEST(Idx, TrailingBytesAreRefused) {
  const std::string text = idx_text(kShape, some_pixels(kShape));
  expect_mentions(refusal(text + "xy"), "2 bytes too many");
  expect_mentions(refusal(gzip(text) + "xyz"), "3 bytes too many");
  expect_mentions(refusal(gzip(text + "x")), "goes on");
}

RC_GTEST_PROP(Idx, EveryTruncationIsRefused, ()) {
  const std::string text = idx_text(kShape, some_pixels(kShape));
  const std::string whole = *rc::gen::element(text, gzip(text));
  const auto length = *rc::gen::inRange<std::size_t>(0, whole.size());
  const TempPath path;
  write_file(*path, whole.substr(0, length));
  error_line(Code::kData, [&] { read_idx(*path); });
}

RC_GTEST_PROP(Idx, AChangedByteOfGzipNeverChangesAnImage, ()) {
  const auto pixels = some_pixels(kShape);
  std::string whole = gzip(idx_text(kShape, pixels));
  const auto at = *rc::gen::inRange<std::size_t>(0, whole.size());
  whole[at] = static_cast<char>(whole[at] ^ *rc::gen::inRange(1, 256));
  const TempPath path;
  write_file(*path, whole);
  try {  // gzip's own header (time, system) is free to change; everything else has a checksum
    RC_ASSERT(read_idx(*path)->pixels() == pixels);
  } catch (const Error& e) {
    RC_ASSERT(e.code() == Code::kData);
  }
}

}  // namespace
}  // namespace lockstep::data

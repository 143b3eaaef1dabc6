#include "lockstep/data/png.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/resource.h>
#include <zlib.h>

#include <cstdio>

#include "lockstep/data/grid.h"
#include "lockstep/hash/sha256.h"
#include "support.h"
#include "support/cpu.h"
#include "support/peak_memory.h"

namespace lockstep::data {
namespace {

Picture picture(std::int64_t width, std::int64_t height, std::int64_t channels) {
  return {width, height, channels, some_pixels({1, height, width, channels})};
}

const Provenance kProvenance{{"recipe", "abc123"}, {"step", "500"}};

// Any picture, up to one that needs several stored blocks.
Picture any_picture() {
  return picture(*rc::gen::inRange(1, 400), *rc::gen::inRange(1, 200), *rc::gen::element(1, 3));
}

RC_GTEST_PROP(Png, LibpngReadsBackWhatWasWritten, ()) {
  const Picture p = any_picture();
  const Bytes png = write_png(p, kProvenance);
  RC_ASSERT(!check_png(png));
  RC_ASSERT(read_png(png, "a.png") == p);
  RC_ASSERT(read_provenance(png) == kProvenance);
}

TEST(Png, AnotherDecoderReadsTheSamePixels) {
  for (const std::int64_t channels : {1, 3}) {
    const Picture p = picture(190, 123, channels);  // RGB: two stored blocks
    const Bytes png = write_png(p, kProvenance);
    const TempPath in(".png"), out;
    write_file(*in, {reinterpret_cast<const char*>(png.data()), png.size()});
    const std::string command = std::string(LOCKSTEP_PYTHON) + " -I " LOCKSTEP_DECODE_PNG " " +
                                (*in).string() + " > " + (*out).string();
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    EXPECT_EQ(file_text(*out), "190 123 " + std::to_string(channels) + "\n" +
                                   to_hex(std::as_bytes(std::span(p.pixels))) +
                                   "\nrecipe=abc123\nstep=500\n");
  }
}

// The same hash comes out of an encoder of ten lines of Python.
TEST(Png, BytesAreFrozen) {
  EXPECT_EQ(hash::sha256(write_png(picture(300, 280, 1), kProvenance)).hex(),
            "0b01d9ee5ba7bf13e2a0122df6e17715714d472c740cc4a3620656630eff3dba");
}

RC_GTEST_PROP(Png, AnyChangedByteIsFoundInItsChunk, ()) {
  const Picture p = picture(*rc::gen::inRange(1, 60), *rc::gen::inRange(1, 20), 1);
  Bytes png = write_png(p, kProvenance);
  const auto at = *rc::gen::inRange<std::size_t>(0, png.size());
  png[at] ^= static_cast<std::byte>(*rc::gen::inRange(1, 256));
  const auto fault = check_png(png);
  RC_ASSERT(fault.has_value());
  RC_ASSERT(!fault->chunk.empty() && !fault->what.empty());
  RC_ASSERT(fault->offset <= at);  // the chunk that holds the byte begins there or before
  if (fault->chunk == "signature") RC_ASSERT(at < 8u);
  if (fault->chunk == "IDAT") RC_ASSERT(at - fault->offset < png.size());
}

RC_GTEST_PROP(Png, EveryTruncationAndExtensionIsFound, ()) {
  Bytes png = write_png(picture(9, 9, 3), kProvenance);
  png.resize(*rc::gen::distinctFrom(rc::gen::inRange<std::size_t>(0, 2 * png.size()), png.size()));
  RC_ASSERT(check_png(png).has_value());
}

TEST(Png, FaultsNameChunkAndOffset) {
  const Bytes good = write_png(picture(4, 4, 1), {{"k", "v"}});
  // signature 8, IHDR at 8 (25 bytes), tEXt at 33 (15 bytes), IDAT at 48.
  const auto fault_at = [&](std::size_t at) {
    Bytes bad = good;
    bad[at] ^= std::byte{1};
    return check_png(bad).value_or(PngFault{});
  };
  EXPECT_EQ(fault_at(0).chunk, "signature");
  EXPECT_EQ(fault_at(20).chunk, "IHDR");
  EXPECT_EQ(fault_at(20).offset, 8u);
  EXPECT_EQ(fault_at(43).chunk, "tEXt");
  EXPECT_EQ(fault_at(43).offset, 33u);
  EXPECT_EQ(fault_at(60).chunk, "IDAT");
  EXPECT_EQ(fault_at(60).offset, 48u);
  EXPECT_EQ(fault_at(good.size() - 1).chunk, "IEND");
  EXPECT_EQ(fault_at(good.size() - 1).offset, good.size() - 12);
}

RC_GTEST_PROP(Png, DamageIsAnErrorOfTheDataWithTheName, ()) {
  Bytes png = write_png(picture(20, 20, 3), {});
  const auto at = *rc::gen::inRange<std::size_t>(0, png.size());
  png[at] ^= static_cast<std::byte>(*rc::gen::inRange(1, 256));
  try {
    read_png(png, "b.png");  // IEND's length or a changed type may pass libpng: it is not strict
  } catch (const Error& e) {
    RC_ASSERT(e.code() == Code::kData);
    RC_ASSERT(e.message().starts_with("b.png: "));
  }
}

TEST(Png, WhatIsNotAPictureOfOursIsRefused) {
  const auto refused = [](ByteView png) {
    return error_line(Code::kData, [&] { read_png(png, "c"); });
  };
  refused({});
  refused(as_bytes("GIF89a"));
  // 65535 x 65535 pixels in a hundred bytes: refused before memory is taken.
  Bytes lie = write_png(picture(1, 1, 1), {});
  for (const std::size_t at : {18, 19, 22, 23}) lie[at] = std::byte{0xff};
  lie[16] = lie[17] = lie[20] = lie[21] = std::byte{0};
  const auto crc = crc32(0, reinterpret_cast<const Bytef*>(lie.data() + 12), 17);
  for (std::size_t i = 0; i < 4; ++i) lie[29 + i] = static_cast<std::byte>(crc >> (24 - 8 * i));
  EXPECT_NE(refused(lie).find("too short"), std::string::npos);
  EXPECT_TRUE(check_png(lie).has_value());
}

// PNGs as they must not be: header, a chunk before the pixels, compressed rows.
void put_u32(Bytes& out, std::size_t value) {
  for (int shift = 24; shift >= 0; shift -= 8)
    out.push_back(static_cast<std::byte>(value >> shift));
}
void put_chunk(Bytes& out, const std::string& type, const std::string& data) {
  put_u32(out, data.size());
  const std::string body = type + data;
  for (const char c : body) out.push_back(static_cast<std::byte>(c));
  put_u32(out,
          crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size())));
}
std::string deflated(const std::string& data) {
  std::string out(compressBound(data.size()), '\0');
  uLongf size = out.size();
  EXPECT_EQ(compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                      reinterpret_cast<const Bytef*>(data.data()), data.size(), 9),
            Z_OK);
  return out.substr(0, size);
}
struct Form {
  std::size_t width = 2, height = 2;
  char bits = 8, colour = 0, interlace = 0;
};
Bytes png_of(const Form& form, const std::string& rows, const std::string& type = {},
             const std::string& data = {}) {
  Bytes out = write_png(picture(1, 1, 1), {});
  out.resize(8);
  Bytes sizes;
  put_u32(sizes, form.width), put_u32(sizes, form.height);
  std::string header(reinterpret_cast<const char*>(sizes.data()), sizes.size());
  put_chunk(out, "IHDR", header + form.bits + form.colour + '\0' + '\0' + form.interlace);
  if (!type.empty()) put_chunk(out, type, data);
  put_chunk(out, "IDAT", deflated(rows));
  put_chunk(out, "IEND", "");
  return out;
}

TEST(Png, OtherFormsAreRefusedByName) {
  const auto refused = [](const Bytes& png) {
    const std::string line = error_line(Code::kData, [&] { read_png(png, "c.png"); });
    EXPECT_TRUE(line.starts_with("c.png: PNG: ")) << line;
    EXPECT_TRUE(check_png(png).has_value());
    return line;
  };
  const std::string rows(100, '\0');
  EXPECT_NE(refused(png_of({.bits = 16}, rows)).find("8-bit grey or RGB"), std::string::npos);
  EXPECT_NE(refused(png_of({.bits = 1}, rows)).find("8-bit"), std::string::npos);
  EXPECT_NE(refused(png_of({.colour = 3}, rows, "PLTE", "abcdef")).find("8-bit"),
            std::string::npos);
  EXPECT_NE(refused(png_of({.colour = 6}, rows)).find("8-bit"), std::string::npos);
  EXPECT_NE(refused(png_of({.width = 1'000'000, .height = 1'000'000}, rows)).find("c.png"),
            std::string::npos);
  EXPECT_NE(refused(png_of({.width = 65536, .height = 1}, std::string(65537, '\0'))).find("IHDR"),
            std::string::npos);  // whole, but too wide
  Bytes damaged = png_of({}, std::string(6, '\0'));
  damaged[30] ^= std::byte{1};  // in IHDR's CRC
  EXPECT_NE(refused(damaged).find("CRC"), std::string::npos);
}

TEST(Png, AnInterlacedPictureIsReadAndIsNotOneOfOurs) {
  const std::string passes("\0a\0b\0cd", 7);  // one pixel in passes 1 and 6, two in pass 7
  const Bytes png = png_of({.interlace = 1}, passes);
  EXPECT_EQ(read_png(png, "c").pixels, (std::vector<std::uint8_t>{'a', 'b', 'c', 'd'}));
  EXPECT_NE(check_png(png).value_or(PngFault{}).what.find("interlaced"), std::string::npos);
}

// Undamaged pictures that others can read, or that have the right CRCs and cannot be read at all.
TEST(Png, OnlyTheFormThatIsWrittenIsOneOfOurs) {
  const Bytes good = write_png(picture(4, 4, 1), {{"k", "v"}});
  ASSERT_FALSE(check_png(good));
  const std::string stream = [&] {
    const Bytes plain = write_png(picture(4, 4, 1), {});
    return std::string(reinterpret_cast<const char*>(plain.data()) + 8 + 25 + 8,
                       plain.size() - 8 - 25 - 12 - 12);
  }();
  const auto fault = [](const std::vector<std::pair<std::string, std::string>>& chunks) {
    Bytes out = write_png(picture(4, 4, 1), {});
    out.resize(8 + 25);  // signature and header
    for (const auto& [type, data] : chunks) put_chunk(out, type, data);
    const auto found = check_png(out);
    return found ? found->chunk + ": " + found->what : "none";
  };
  EXPECT_EQ(fault({{"IDAT", stream}, {"IEND", ""}}), "none");
  EXPECT_EQ(fault({{"gAMA", "abcd"}, {"IDAT", stream}, {"IEND", ""}}),
            "gAMA: lockstep writes no such chunk");
  EXPECT_EQ(fault({{"ABCD", ""}, {"IDAT", stream}, {"IEND", ""}}),
            "ABCD: lockstep writes no such chunk");
  EXPECT_EQ(fault({{"IDAT", stream}, {"tEXt", std::string("a\0b", 3)}, {"IEND", ""}}),
            "tEXt: lockstep writes nothing between IDAT and IEND");
  EXPECT_EQ(fault({{"IDAT", stream}, {"IDAT", ""}, {"IEND", ""}}),
            "IDAT: lockstep writes nothing between IDAT and IEND");
  EXPECT_EQ(fault({{"IEND", ""}}), "IEND: there is no IDAT before it");
  for (const std::string text : {"no text", "\n", "", "key\n"})
    EXPECT_EQ(fault({{"tEXt", text + (text == "no text" ? "" : std::string("\0x\n", 3))},
                     {"IDAT", stream},
                     {"IEND", ""}}),
              "tEXt: not a key and a text of printable characters");
  // The same pixels, packed; and with filters, which no reader knows.
  EXPECT_EQ(fault({{"IDAT", deflated(std::string(20, '\0'))}, {"IEND", ""}}),
            "IDAT: not as many bytes as lockstep writes for a picture of this size");
  const auto with = [&](std::size_t at, char byte) {
    std::string other = stream;
    other[at] = byte;
    const auto sum = adler32(1, reinterpret_cast<const Bytef*>(other.data()) + 7, 20);
    for (std::size_t i = 0; i < 4; ++i) other[27 + i] = static_cast<char>(sum >> (24 - 8 * i));
    return fault({{"IDAT", other}, {"IEND", ""}});
  };
  EXPECT_EQ(with(7, '\0'), "none");
  EXPECT_EQ(with(7, '\7'), "IDAT: a row has a filter: lockstep uses none");
  EXPECT_EQ(with(12, '\1'), "IDAT: a row has a filter: lockstep uses none");
  EXPECT_EQ(with(1, 'x'), "IDAT: not the zlib stream that lockstep writes");
  EXPECT_EQ(with(2, '\0'), "IDAT: not the stored blocks that lockstep writes");
}

TEST(Png, ChunksOfAnyPngAreListed) {
  Bytes png = png_of({}, std::string(6, '\0'), "gAMA", "abcd");
  const auto types = [&] {
    std::string all;
    for (const PngChunk& chunk : png_chunks(png, "a.png"))
      all += chunk.type + " " + std::to_string(chunk.data.size()) + ",";
    return all;
  };
  EXPECT_TRUE(types().starts_with("IHDR 13,gAMA 4,IDAT ")) << types();
  png.resize(png.size() + 2);
  EXPECT_TRUE(types().ends_with("IEND 0,behind IEND 2,")) << types();
  png[41] ^= std::byte{1};
  EXPECT_NE(error_line(Code::kData, types).find("a.png: PNG damaged at byte 33 (gAMA): wrong CRC"),
            std::string::npos);
}

// What stands beside the pixels is not looked at, so it cannot swell.
TEST(Png, TextsAndProfilesCostNoMemory) {
  const std::string rows("\0ab\0cd", 6);
  const std::string swells = deflated(std::string(std::size_t{7} << 20, 'x'));
  for (const char* type : {"zTXt", "iCCP", "iTXt"}) {
    const std::string head =
        type == std::string("iTXt") ? std::string("k\0\1\0\0\0", 6) : std::string("k\0\0", 3);
    const Bytes png = png_of({}, rows, type, head + swells);
    EXPECT_LT(lockstep::testing::peak_kib(
                  [&] { EXPECT_EQ(read_png(png, "c").pixels.size(), 4u) << type; }),
              4 * 1024)
        << type;
  }
}

// A text of 2 GB, of which nothing is there: libpng would ask for the memory first.
TEST(Png, ALengthBeyondTheFileTakesNoMemory) {
  Bytes lie = png_of({}, std::string("\0ab\0cd", 6), "tEXt", "key");
  for (std::size_t i = 0; i < 4; ++i) lie[33 + i] = std::byte(i == 0 ? 0x7f : 0xff);
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &old), 0);
  const auto size = static_cast<rlim_t>(lockstep::testing::memory_kib("VmSize"));
  const rlimit low{(size << 10) + (std::size_t{500} << 20), old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &low), 0);
  const std::string line = error_line(Code::kData, [&] { read_png(lie, "c"); });
  ASSERT_EQ(setrlimit(RLIMIT_AS, &old), 0);
  EXPECT_NE(line.find("truncated"), std::string::npos) << line;
}

// Its rows would be 12 GiB, and the file is as long as such a picture of zeros may be.
TEST(Png, APictureBeyondTheLimitTakesNoMemory) {
  Bytes huge = write_png({1, 1, 3, {0, 0, 0}}, {});
  for (const std::size_t at : {18, 19, 22, 23}) huge[at] = std::byte{0xff};  // width and height
  const auto crc =
      static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(huge.data() + 12), 17));
  for (std::size_t i = 0; i < 4; ++i) huge[29 + i] = static_cast<std::byte>(crc >> (24 - 8 * i));
  huge.resize(std::size_t{13} << 20);
  const std::string line = error_line(Code::kData, [&] { read_png(huge, "c"); });
  EXPECT_NE(line.find("c: PNG: 1 GiB of samples or more"), std::string::npos) << line;
}

TEST(Grid, ImagesStandInRowsWithTwoPixelsBetween) {
  const std::vector<std::uint8_t> images{1, 2, 3, 4, 5};  // five images of one pixel
  const Picture p = grid(5, 1, 1, 1, images.data(), {.columns = 3});
  EXPECT_EQ(p.width, 2 + 3 * 3);
  EXPECT_EQ(p.height, 2 + 2 * 3);
  int lit = 0;
  for (const auto v : p.pixels) lit += v != 0;
  EXPECT_EQ(lit, 5);
  const auto at = [&](std::int64_t x, std::int64_t y) {
    return p.pixels[static_cast<std::size_t>(y * p.width + x)];
  };
  EXPECT_EQ(at(2, 2), 1);
  EXPECT_EQ(at(8, 2), 3);
  EXPECT_EQ(at(2, 5), 4);
  EXPECT_EQ(at(5, 5), 5);
}

// The number of the image in each cell, 0 for none: images of one pixel, 1 first.
std::vector<std::vector<int>> cells(std::int64_t n, GridLayout layout) {
  std::vector<std::uint8_t> images;
  for (std::int64_t i = 1; i <= n; ++i) images.push_back(static_cast<std::uint8_t>(i));
  const Picture p = grid(n, 1, 1, 1, images.data(), layout);
  std::vector<std::vector<int>> found(static_cast<std::size_t>((p.height - 2) / 3));
  std::int64_t lit = 0;
  for (std::size_t i = 0; i < p.pixels.size(); ++i) lit += p.pixels[i] != 0;
  for (std::size_t row = 0; row < found.size(); ++row) {
    for (std::int64_t x = 2; x < p.width; x += 3)
      found[row].push_back(p.pixels[(2 + 3 * row) * static_cast<std::size_t>(p.width) +
                                    static_cast<std::size_t>(x)]);
  }
  EXPECT_EQ(lit, n);
  EXPECT_EQ((p.width - 2) % 3 + (p.height - 2) % 3, 0);
  return found;
}

using Cells = std::vector<std::vector<int>>;

TEST(Grid, OfSeveralRowsIsFilledColumnByColumnBandByBand) {
  EXPECT_EQ(cells(6, {.columns = 2, .rows = 3}), (Cells{{1, 4}, {2, 5}, {3, 6}}));
  EXPECT_EQ(cells(7, {.columns = 2, .rows = 3}), (Cells{{1, 4}, {2, 5}, {3, 6}, {7, 0}}));
  EXPECT_EQ(cells(11, {.columns = 2, .rows = 3}),
            (Cells{{1, 4}, {2, 5}, {3, 6}, {7, 10}, {8, 11}, {9, 0}}));
  EXPECT_EQ(cells(5, {.columns = 1, .rows = 2}), (Cells{{1}, {2}, {3}, {4}, {5}}));
}

TEST(Grid, OfFewImagesIsAsWideAndHighAsTheyNeed) {
  EXPECT_EQ(cells(2, {.columns = 8, .rows = 3}), (Cells{{1}, {2}}));
  EXPECT_EQ(cells(3, {.columns = 8, .rows = 3}), (Cells{{1}, {2}, {3}}));
  EXPECT_EQ(cells(5, {.columns = 8, .rows = 3}), (Cells{{1, 4}, {2, 5}, {3, 0}}));
  EXPECT_EQ(cells(2, {.columns = 5}), (Cells{{1, 2}}));
}

TEST(Grid, FitsWhereItsSidesAndPixelsDo) {
  // A side has 2 + 3n pixels; 21844 images: 65534.
  const auto fits = [](std::int64_t n, GridLayout layout) { return grid_fits(n, 1, 1, 1, layout); };
  EXPECT_TRUE(fits(21844, {.columns = 30000}));
  EXPECT_FALSE(fits(21845, {.columns = 30000}));
  EXPECT_TRUE(fits(21844, {.columns = 1}));
  EXPECT_FALSE(fits(21845, {.columns = 1}));
  EXPECT_TRUE(fits(21844, {.columns = 8, .rows = 30000}));
  EXPECT_FALSE(fits(21845, {.columns = 8, .rows = 30000}));
  EXPECT_TRUE(fits(21845, {.columns = 8, .rows = 21844}));  // two columns
  EXPECT_TRUE(fits(1, {.columns = 1024, .rows = 65536}));
}

TEST(Grid, SamplesBecomeTheirBytes) {
  const ImageShape shape{4, 3, 2, 3};
  const auto pixels = some_pixels(shape);
  std::vector<float> values(pixels.size());
  numerics::cpu().from_bytes(static_cast<std::int64_t>(pixels.size()), pixels.data(),
                             values.data());
  EXPECT_EQ(grid(4, 3, 2, 3, values.data(), {.columns = 2}),
            grid(4, 3, 2, 3, pixels.data(), {.columns = 2}));
}

}  // namespace
}  // namespace lockstep::data

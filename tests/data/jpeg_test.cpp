// clang-format off
#include <cstdio>  // first: libjpeg's header lacks it
#include <jpeglib.h>
// clang-format on

#include <algorithm>
#include <cstdlib>
#include <map>

#include "data/exif.h"
#include "data/support.h"
#include "lockstep/data/decode.h"

namespace lockstep::data {
namespace {

struct Form {
  int quality = 100;
  bool progressive = false, chroma_halved = false, arithmetic = false, cmyk = false;
  int restart_rows = 0;
  int coefficient_scans = 0;  // of a picture in RGB: each of one coefficient; then one of the rest
  std::string exif{};         // contents of an APP1
};

// The means, then so many coefficients of the components in turn, then the rest of each: in all 4
// more than `coefficients`.
std::vector<jpeg_scan_info> scans_of(int coefficients) {
  std::vector<jpeg_scan_info> scans{{3, {0, 1, 2, 0}, 0, 0, 0, 0}};
  for (int i = 0; i < coefficients; ++i)
    scans.push_back({1, {i % 3, 0, 0, 0}, i / 3 + 1, i / 3 + 1, 0, 0});
  for (int c = 0; c < 3; ++c)
    scans.push_back({1, {c, 0, 0, 0}, (coefficients + 2 - c) / 3 + 1, 63, 0, 0});
  return scans;
}

// As other programs write one: by libjpeg.
Bytes jpeg_of(const Picture& picture, const Form& form = {}) {
  jpeg_compress_struct j{};
  jpeg_error_mgr errors;
  j.err = jpeg_std_error(&errors);
  jpeg_create_compress(&j);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&j, &bytes, &size);
  j.image_width = static_cast<JDIMENSION>(picture.width);
  j.image_height = static_cast<JDIMENSION>(picture.height);
  j.input_components = form.cmyk ? 4 : static_cast<int>(picture.channels);
  j.in_color_space = form.cmyk ? JCS_CMYK : picture.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&j);
  jpeg_set_quality(&j, form.quality, TRUE);
  j.arith_code = form.arithmetic ? TRUE : FALSE;
  j.restart_in_rows = form.restart_rows;
  if (form.progressive) jpeg_simple_progression(&j);
  const std::vector<jpeg_scan_info> scans = scans_of(form.coefficient_scans);
  if (form.coefficient_scans > 0) {
    j.scan_info = scans.data();
    j.num_scans = static_cast<int>(scans.size());
  }
  if (!form.chroma_halved) j.comp_info[0].h_samp_factor = j.comp_info[0].v_samp_factor = 1;
  jpeg_start_compress(&j, TRUE);
  if (!form.exif.empty())
    jpeg_write_marker(&j, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(form.exif.data()),
                      static_cast<unsigned>(form.exif.size()));
  std::vector<std::uint8_t> row(static_cast<std::size_t>(picture.width * j.input_components), 128);
  for (std::int64_t y = 0; y < picture.height; ++y) {
    if (!form.cmyk)
      std::copy_n(picture.pixels.begin() + y * picture.width * picture.channels, row.size(),
                  row.begin());
    JSAMPROW pointer = row.data();
    jpeg_write_scanlines(&j, &pointer, 1);
  }
  jpeg_finish_compress(&j);
  const ByteView made = std::as_bytes(std::span(bytes, size));
  Bytes file(made.begin(), made.end());
  std::free(bytes);
  jpeg_destroy_compress(&j);
  return file;
}

Picture smooth(std::int64_t width, std::int64_t height, std::int64_t channels) {
  Picture p{width, height, channels, {}};
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      for (std::int64_t c = 0; c < channels; ++c)
        p.pixels.push_back(static_cast<std::uint8_t>(40 + 3 * x + 2 * y * (c + 1) % 97));
  return p;
}

int furthest(const Picture& a, const Picture& b) {
  EXPECT_EQ(a.pixels.size(), b.pixels.size());
  int most = 0;
  for (std::size_t i = 0; i < std::min(a.pixels.size(), b.pixels.size()); ++i)
    most = std::max(most, std::abs(int{a.pixels[i]} - int{b.pixels[i]}));
  return most;
}

// Exif with one entry before the orientation.
std::string exif(bool big_endian, int orientation, int type = 3, int count = 1) {
  std::string text("Exif\0\0", 6);
  const auto put = [&](int value, int size) {
    for (int i = 0; i < size; ++i)
      text += static_cast<char>(value >> 8 * (big_endian ? size - 1 - i : i) & 0xff);
  };
  text += big_endian ? "MM" : "II";
  put(42, 2);
  put(8, 4);
  put(2, 2);
  for (const int tag : {0x010f, 0x0112}) {
    put(tag, 2);
    put(tag == 0x0112 ? type : 2, 2);
    put(tag == 0x0112 ? count : 4, 4);
    put(orientation, 2);
    put(0, 2);
  }
  put(0, 4);
  return text;
}

int orientation_of(const std::string& app1) {
  return exif_orientation(as_bytes(app1));
}

TEST(Jpeg, PicturesOfEveryFormAreReadNearlyAsTheyWere) {
  for (const std::int64_t channels : {1, 3}) {
    const Picture picture = smooth(37, 21, channels);
    for (const bool progressive : {false, true}) {
      for (const bool halved : {false, true}) {
        const Bytes file = jpeg_of(picture, {.progressive = progressive,
                                             .chroma_halved = halved,
                                             .restart_rows = progressive ? 0 : 1});
        const Picture read = decode_picture(file);
        EXPECT_EQ(read.width, 37);
        EXPECT_EQ(read.height, 21);
        EXPECT_EQ(read.channels, channels);
        EXPECT_LE(furthest(read, picture), halved && channels == 3 ? 40 : 3);
      }
    }
  }
}

// With block smoothing, coefficients that a file leaves out are made up.
TEST(Jpeg, ProgressiveAndBaselineHaveTheSamePixels) {
  const Picture picture{40, 24, 3, some_pixels({1, 24, 40, 3})};
  const Form form{.quality = 60, .chroma_halved = true};
  Form progressive = form;
  progressive.progressive = true;
  EXPECT_EQ(decode_picture(jpeg_of(picture, progressive)), decode_picture(jpeg_of(picture, form)));
}

TEST(Jpeg, EveryOrientationIsTurnedUpright) {
  // a b c     Where the letters of the file lie in the picture as it is seen.
  // d e f
  const Picture file{3, 2, 1, {'a', 'b', 'c', 'd', 'e', 'f'}};
  const std::map<int, std::string> seen{{1, "abcdef"}, {2, "cbafed"}, {3, "fedcba"}, {4, "defabc"},
                                        {5, "adbecf"}, {6, "daebfc"}, {7, "fcebda"}, {8, "cfbead"}};
  for (const auto& [orientation, letters] : seen) {
    const Picture picture = upright(file, orientation);
    EXPECT_EQ(std::string(picture.pixels.begin(), picture.pixels.end()), letters) << orientation;
    EXPECT_EQ(picture.width, orientation < 5 ? 3 : 2) << orientation;
    EXPECT_EQ(picture.height, orientation < 5 ? 2 : 3) << orientation;
  }
}

TEST(Jpeg, TheOrientationOfExifIsApplied) {
  const Picture picture = smooth(19, 10, 3);
  const Picture plain = decode_picture(jpeg_of(picture));
  for (int orientation = 1; orientation <= 8; ++orientation)
    for (const bool big_endian : {false, true})
      EXPECT_EQ(decode_picture(jpeg_of(picture, {.exif = exif(big_endian, orientation)})),
                upright(plain, orientation));
}

TEST(Jpeg, ExifThatIsDamagedTurnsNothing) {
  EXPECT_EQ(orientation_of(exif(true, 6)), 6);
  for (const int value : {0, 9, 255}) EXPECT_EQ(orientation_of(exif(false, value)), 1) << value;
  EXPECT_EQ(orientation_of(exif(false, 6, 4)), 1);
  EXPECT_EQ(orientation_of(exif(false, 6, 3, 2)), 1);
  const std::string whole = exif(true, 6);
  for (std::size_t size = 0; size < whole.size() - 6; ++size)  // the orientation ends 6 before
    EXPECT_EQ(orientation_of(whole.substr(0, size)), 1) << size;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = '\xff';
    const int orientation = orientation_of(changed);
    EXPECT_TRUE(orientation == 1 || orientation == 6) << at;
  }
  EXPECT_EQ(orientation_of("http://ns.adobe.com/xap/1.0/"), 1);
}

TEST(Jpeg, WhatIsCutOffIsRefused) {
  for (const bool progressive : {false, true}) {
    const Bytes whole = jpeg_of(smooth(40, 40, 3), {.progressive = progressive});
    for (std::size_t size = 0; size < whole.size(); ++size)
      error_line(Code::kData, [&] { decode_picture(ByteView(whole).first(size)); });
  }
}

TEST(Jpeg, EveryChangedByteIsRefusedInOneLineOrHasTheSize) {
  const Bytes whole = jpeg_of(smooth(17, 9, 3), {.exif = exif(false, 6)});
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const std::byte flipped : {std::byte{0x10}, std::byte{0xff}}) {
      Bytes changed = whole;
      changed[at] ^= flipped;
      try {
        const Picture picture = decode_picture(changed);
        EXPECT_EQ(std::ssize(picture.pixels), picture.width * picture.height * picture.channels);
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), Code::kData) << e.what();
      }
    }
  }
}

TEST(Jpeg, FormsThatAreNotReadSayWhatToDo) {
  const Picture picture = smooth(16, 16, 3);
  const auto line = [&](const Form& form) {
    return error_line(Code::kData, [&] { decode_picture(jpeg_of(picture, form)); });
  };
  EXPECT_EQ(line({.cmyk = true}),
            "JPEG: its colours are those of print (CMYK): save it as RGB or grey");
  EXPECT_EQ(line({.arithmetic = true}), "JPEG: arithmetic coding: save it with Huffman coding");
}

TEST(Jpeg, AtMostAHundredScansAreRead) {
  const Picture picture = smooth(16, 16, 3);
  EXPECT_LE(furthest(decode_picture(jpeg_of(picture, {.coefficient_scans = 96})), picture), 3);
  EXPECT_EQ(
      error_line(Code::kData, [&] { decode_picture(jpeg_of(picture, {.coefficient_scans = 97})); }),
      "JPEG: more than 100 scans");
}

// Sides in the frame's header, SOF0: marker, length, bits, height, width.
TEST(Jpeg, AHeaderThatPromisesMoreThanTheFileHoldsIsRefused) {
  Bytes file = jpeg_of(smooth(16, 16, 3));
  const Bytes marker{std::byte{0xff}, std::byte{0xc0}};
  const auto at = std::ranges::search(file, marker).begin();
  ASSERT_NE(at, file.end());
  std::fill(at + 5, at + 9, std::byte{0x7f});
  EXPECT_EQ(error_line(Code::kData, [&] { decode_picture(file); }),
            "JPEG: the file is too short for its size");
  file.resize(40 << 20);
  EXPECT_EQ(error_line(Code::kData, [&] { decode_picture(file); }),
            "JPEG: more than 256 MiB of samples");
}

}  // namespace
}  // namespace lockstep::data

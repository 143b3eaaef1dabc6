#include "lockstep/data/decode.h"

#include "data/support.h"

namespace lockstep::data {
namespace {

TEST(Decode, WhatWeWriteIsReadBack) {
  for (const std::int64_t channels : {1, 3}) {
    const Picture picture{9, 7, channels, some_pixels({1, 7, 9, channels})};
    EXPECT_EQ(decode_picture(write_png(picture, {})), picture);
  }
}

TEST(Decode, EveryCutAndEveryChangedByteIsRefusedInOneLineOrHasTheSize) {
  const Bytes whole = write_png({5, 4, 3, some_pixels({1, 4, 5, 3})}, {});
  for (std::size_t size = 0; size < whole.size(); ++size)
    error_line(Code::kData, [&] { decode_picture(ByteView(whole).first(size)); });
  for (std::size_t at = 0; at < whole.size(); ++at) {
    Bytes changed = whole;
    changed[at] ^= std::byte{0x10};
    try {
      const Picture picture = decode_picture(changed);
      EXPECT_EQ(std::ssize(picture.pixels), picture.width * picture.height * picture.channels);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kData) << e.what();
    }
  }
}

TEST(Decode, NamesOfPicturesAreKnownByTheirEndings) {
  for (const char* name : {"a.png", "a.PNG", "b.c.Png", "a.jpg", "a.JPEG"})
    EXPECT_TRUE(is_picture_name(name)) << name;
  for (const char* name : {"png", "a.png.txt", "a.gif", "a.jpg2", ""})
    EXPECT_FALSE(is_picture_name(name)) << name;
}

}  // namespace
}  // namespace lockstep::data

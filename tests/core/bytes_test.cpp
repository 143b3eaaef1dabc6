#include "lockstep/core/bytes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

Bytes bytes_from(const std::vector<std::uint8_t>& values) {
  Bytes bytes;
  for (const std::uint8_t value : values) bytes.push_back(std::byte(value));
  return bytes;
}

bool reads(const std::string& text, std::size_t size) {
  Bytes out(size);
  return parse_hex(text, out);
}

RC_GTEST_PROP(Hex, ReadsBackWhatItWrote, (const std::vector<std::uint8_t>& values)) {
  const Bytes bytes = bytes_from(values);
  Bytes back(bytes.size());
  RC_ASSERT(parse_hex(to_hex(bytes), back));
  RC_ASSERT(back == bytes);
}

TEST(Hex, IsLowerCaseHighDigitFirst) {
  EXPECT_EQ(to_hex(bytes_from({0x00, 0x1a, 0xff})), "001aff");
}

TEST(Hex, RefusesEverythingElse) {
  EXPECT_TRUE(reads("00ff", 2));
  for (const char* text : {"", "00f", "00ff0", "00FF", "0x0f", "00f ", "00fg", "00f\n", "00:f"})
    EXPECT_FALSE(reads(text, 2)) << text;
  EXPECT_FALSE(reads(std::string("00\0f", 4), 2));
}

RC_GTEST_PROP(Integers, AreLittleEndianAndReadBack, (std::uint64_t wide, std::uint32_t narrow)) {
  Bytes bytes;
  put_u64_le(bytes, wide);
  put_u32_le(bytes, narrow);
  RC_ASSERT(bytes.size() == 12u);
  for (int i = 0; i < 8; ++i)
    RC_ASSERT(bytes[static_cast<std::size_t>(i)] == std::byte(wide >> (8 * i) & 255));
  RC_ASSERT(get_u64_le(bytes) == wide);
  RC_ASSERT(get_u32_le(ByteView(bytes).subspan(8)) == narrow);
}

TEST(Integers, AreNotReadBeyondTheEnd) {
  const Bytes seven(7);
  EXPECT_THROW(get_u64_le(seven), Error);
  EXPECT_THROW(get_u32_le(ByteView(seven).first(3)), Error);
}

RC_GTEST_PROP(Text, PutIsInjective,
              (const std::vector<std::string>& a, const std::vector<std::string>& b)) {
  const auto put = [](const std::vector<std::string>& texts) {
    Bytes bytes;
    for (const std::string& text : texts) put_text(bytes, text);
    return bytes;
  };
  RC_ASSERT((put(a) == put(b)) == (a == b));
  RC_ASSERT(put({"ab", "c"}) != put({"a", "bc"}));
}

}  // namespace
}  // namespace lockstep

#include "lockstep/core/bytes.h"

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

template <class T>
void put_le(Bytes& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    out.push_back(static_cast<std::byte>(value >> (8 * i)));
}

template <class T>
T get_le(ByteView at) {
  LOCKSTEP_ASSERT(at.size() >= sizeof(T));
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<T>(std::to_integer<T>(at[i]) << (8 * i));
  return value;
}

}  // namespace

std::string to_hex(ByteView bytes) {
  static const char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (std::byte b : bytes) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return text;
}

bool parse_hex(std::string_view text, MutableByteView out) {
  if (text.size() != 2 * out.size()) return false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int high = digit_value(text[2 * i]), low = digit_value(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<std::byte>(high << 4 | low);
  }
  return true;
}

void put_u32_le(Bytes& out, std::uint32_t value) {
  put_le(out, value);
}
void put_u64_le(Bytes& out, std::uint64_t value) {
  put_le(out, value);
}
void put_text(Bytes& out, std::string_view text) {
  put_u64_le(out, text.size());
  const ByteView bytes = as_bytes(text);
  out.insert(out.end(), bytes.begin(), bytes.end());
}
std::uint32_t get_u32_le(ByteView at) {
  return get_le<std::uint32_t>(at);
}
std::uint64_t get_u64_le(ByteView at) {
  return get_le<std::uint64_t>(at);
}

}  // namespace lockstep

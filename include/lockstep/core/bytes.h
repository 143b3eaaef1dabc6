// Bytes, hexadecimal and little-endian integers: the only forms in which numbers are hashed or
// stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;
using MutableByteView = std::span<std::byte>;

inline ByteView as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::string to_hex(ByteView bytes);  // lower case
// Whether `text` is exactly 2*out.size() lower-case hexadecimal digits; if not, `out` is spoilt.
bool parse_hex(std::string_view text, MutableByteView out);

void put_u32_le(Bytes& out, std::uint32_t value);
void put_u64_le(Bytes& out, std::uint64_t value);
void put_text(Bytes& out, std::string_view text);  // u64 length, then the bytes: injective
std::uint32_t get_u32_le(ByteView at);
std::uint64_t get_u64_le(ByteView at);

}  // namespace lockstep

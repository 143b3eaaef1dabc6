#include <zlib.h>

#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/data/png.h"
#include "png_format.h"

namespace lockstep::data {
namespace {

void put_u8(Bytes& out, std::uint8_t value) {
  out.push_back(std::byte{value});
}

void put_u32_be(Bytes& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8)
    put_u8(out, static_cast<std::uint8_t>(value >> shift));
}

void put(Bytes& out, ByteView bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

const Bytef* zlib_bytes(const std::byte* at) {
  return reinterpret_cast<const Bytef*>(at);
}

void put_chunk(Bytes& out, std::string_view type, ByteView data) {
  put_u32_be(out, static_cast<std::uint32_t>(data.size()));
  const std::size_t from = out.size();  // the CRC covers type and data
  put(out, as_bytes(type));
  put(out, data);
  const auto crc = crc32(0, zlib_bytes(out.data() + from), static_cast<uInt>(out.size() - from));
  put_u32_be(out, static_cast<std::uint32_t>(crc));
}

Bytes header(const Picture& p) {
  Bytes out;
  put_u32_be(out, static_cast<std::uint32_t>(p.width));
  put_u32_be(out, static_cast<std::uint32_t>(p.height));
  put_u8(out, 8);  // bits a channel
  put_u8(out, p.channels == 1 ? png::kGrey : png::kRgb);
  put_u8(out, 0);  // deflate
  put_u8(out, 0);  // the one filter method
  put_u8(out, 0);  // not interlaced
  return out;
}

// Rows as PNG wants them: the filter's number (0, none), then the row's bytes.
Bytes filtered_rows(const Picture& p) {
  const auto row = static_cast<std::size_t>(p.width * p.channels);
  Bytes out;
  out.reserve((row + 1) * static_cast<std::size_t>(p.height));
  const ByteView pixels = std::as_bytes(std::span(p.pixels));
  for (std::size_t at = 0; at < pixels.size(); at += row) {
    put_u8(out, 0);
    put(out, pixels.subspan(at, row));
  }
  return out;
}

Bytes stored_zlib(const Bytes& data) {
  Bytes out;
  put(out, std::as_bytes(std::span(png::kZlibHeader)));
  for (std::size_t at = 0; at < data.size(); at += png::kStoredBlock) {
    const std::size_t n = std::min(png::kStoredBlock, data.size() - at);
    const auto front = png::block_header(n, at + n == data.size());
    put(out, std::as_bytes(std::span(front)));
    put(out, ByteView(data).subspan(at, n));
  }
  const auto adler = adler32(1, zlib_bytes(data.data()), static_cast<uInt>(data.size()));
  put_u32_be(out, static_cast<std::uint32_t>(adler));
  return out;
}

}  // namespace

Bytes write_png(const Picture& p, const Provenance& provenance) {
  LOCKSTEP_ASSERT(p.width >= 1 && p.width <= kMaxPictureSide && p.height >= 1 &&
                      p.height <= kMaxPictureSide && (p.channels == 1 || p.channels == 3),
                  std::to_string(p.width) + "x" + std::to_string(p.height));
  LOCKSTEP_ASSERT(p.pixels.size() == static_cast<std::size_t>(p.width * p.height * p.channels) &&
                      p.pixels.size() < static_cast<std::size_t>(kMostPixels),
                  std::to_string(p.pixels.size()) + " bytes");
  Bytes out;
  put(out, std::as_bytes(std::span(png::kSignature)));
  put_chunk(out, "IHDR", header(p));
  for (const auto& [key, value] : provenance) {
    LOCKSTEP_ASSERT(png::is_key(key) && png::printable(value), key);
    put_chunk(out, png::kText, as_bytes(key + '\0' + value));
  }
  put_chunk(out, "IDAT", stored_zlib(filtered_rows(p)));
  put_chunk(out, "IEND", {});
  return out;
}

}  // namespace lockstep::data

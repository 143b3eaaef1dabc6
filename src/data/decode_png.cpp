#include <utility>

#include "lockstep/data/decode.h"
#include "png_raw.h"

namespace lockstep::data {
namespace {

constexpr std::uint32_t kWhite = 255;

// In place, as what is read lies never before what is written.
void halve_bits(RawPng& raw) {
  for (std::size_t i = 0; i < raw.rows.size() / 2; ++i) {
    const std::uint32_t v = std::uint32_t{raw.rows[2 * i]} << 8 | raw.rows[2 * i + 1];
    raw.rows[i] = static_cast<std::uint8_t>((255 * v + 32767) / 65535);
  }
  raw.rows.resize(raw.rows.size() / 2);
  raw.bits = 8;
}

void lay_over_white(RawPng& raw) {
  const auto colours = static_cast<std::size_t>(raw.samples - 1);
  std::size_t written = 0;
  for (std::size_t pixel = 0; pixel < raw.rows.size(); pixel += colours + 1) {
    const std::uint32_t alpha = raw.rows[pixel + colours];
    for (std::size_t c = 0; c < colours; ++c) {
      const std::uint32_t v = raw.rows[pixel + c];
      raw.rows[written++] =
          static_cast<std::uint8_t>((alpha * v + kWhite * (255 - alpha) + 127) / 255);
    }
  }
  raw.rows.resize(written);
  --raw.samples;
}

}  // namespace

Picture decode_png(ByteView file) {
  RawPng raw = read_raw_png(file, PngForms::kAll);
  if (raw.bits == 16) halve_bits(raw);
  if (raw.samples % 2 == 0) lay_over_white(raw);
  return {raw.width, raw.height, raw.samples, std::move(raw.rows)};
}

}  // namespace lockstep::data

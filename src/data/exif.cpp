#include "exif.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "lockstep/core/error.h"

namespace lockstep::data {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kExif = "Exif\0\0"sv;
constexpr std::size_t kEntry = 12;  // bytes of an entry of a directory
constexpr std::uint32_t kOrientation = 0x0112, kShort = 3;

bool begins(ByteView bytes, std::string_view with) {
  return bytes.size() >= with.size() &&
         std::ranges::equal(bytes.first(with.size()), as_bytes(with));
}

// Numbers of a TIFF, in its own order of bytes; nothing outside of it.
class Tiff {
 public:
  Tiff(ByteView bytes, bool big_endian) : bytes_(bytes), big_endian_(big_endian) {}

  std::optional<std::uint32_t> number(std::size_t at, std::size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) return std::nullopt;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i)
      value = value << 8 |
              std::to_integer<std::uint32_t>(bytes_[at + (big_endian_ ? i : size - 1 - i)]);
    return value;
  }

 private:
  ByteView bytes_;
  bool big_endian_;
};

}  // namespace

int exif_orientation(ByteView app1) {
  if (!begins(app1, kExif)) return 1;
  const ByteView file = app1.subspan(kExif.size());
  const bool big_endian = begins(file, "MM\0\x2a"sv);
  if (!big_endian && !begins(file, "II\x2a\0"sv)) return 1;
  const Tiff tiff(file, big_endian);
  const auto directory = tiff.number(4, 4);
  const auto entries = directory ? tiff.number(*directory, 2) : std::nullopt;
  for (std::size_t i = 0; i < entries.value_or(0); ++i) {
    const std::size_t at = *directory + 2 + kEntry * i;
    if (tiff.number(at, 2) != kOrientation) continue;
    const auto value = tiff.number(at + 8, 2);
    const bool valid = tiff.number(at + 2, 2) == kShort && tiff.number(at + 4, 4) == 1U && value &&
                       *value >= 1 && *value <= 8;
    return valid ? static_cast<int>(*value) : 1;
  }
  return 1;
}

Picture upright(Picture picture, int orientation) {
  LOCKSTEP_ASSERT(orientation >= 1 && orientation <= 8, std::to_string(orientation));
  if (orientation == 1) return picture;
  // Of the made picture's rows, 5 to 8 are columns of the file; where they begin there:
  const bool by_columns = orientation >= 5;
  const bool from_right =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_below =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const std::int64_t w = picture.width, h = picture.height, channels = picture.channels;
  Picture made{by_columns ? h : w, by_columns ? w : h, channels, {}};
  made.pixels.reserve(picture.pixels.size());
  for (std::int64_t y = 0; y < made.height; ++y) {
    for (std::int64_t x = 0; x < made.width; ++x) {
      std::int64_t column = by_columns ? y : x, row = by_columns ? x : y;
      if (from_right) column = w - 1 - column;
      if (from_below) row = h - 1 - row;
      const auto pixel = picture.pixels.begin() + (row * w + column) * channels;
      made.pixels.insert(made.pixels.end(), pixel, pixel + channels);
    }
  }
  return made;
}

}  // namespace lockstep::data

// The table of the formats of pictures: one row a format.
#include "lockstep/data/decode.h"

#include <algorithm>
#include <string>

#include "lockstep/core/error.h"
#include "lockstep/core/list.h"

namespace lockstep::data {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kPngEndings[] = {".png"}, kJpegEndings[] = {".jpg", ".jpeg"};

// A row of the formats of pictures.
struct PictureFormat {
  std::string_view name;
  std::string_view begins;                    // each file's first bytes
  std::span<const std::string_view> endings;  // of files' names, in lower case
  Picture (*decode)(ByteView file);
};
constexpr PictureFormat kFormats[] = {
    {"PNG", "\x89PNG\r\n\x1a\n"sv, kPngEndings, &decode_png},
    {"JPEG", "\xff\xd8\xff"sv, kJpegEndings, &decode_jpeg},
};

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

// "PNG", "PNG or JPEG"
std::string names_of_formats() {
  return joined(kFormats, " or ", &PictureFormat::name);
}

}  // namespace

bool is_picture_name(std::string_view name) {
  const std::string lower = in_lower_case(name);
  return std::ranges::any_of(kFormats, [&](const PictureFormat& format) {
    return std::ranges::any_of(format.endings,
                               [&](std::string_view ending) { return lower.ends_with(ending); });
  });
}

Picture decode_picture(ByteView file) {
  for (const PictureFormat& format : kFormats) {
    const ByteView begins = as_bytes(format.begins);
    if (file.size() >= begins.size() && std::ranges::equal(file.first(begins.size()), begins))
      return format.decode(file);
  }
  throw Error(Code::kData, file.empty() ? "the file is empty"
                                        : "its first bytes are not those of " + names_of_formats());
}

}  // namespace lockstep::data

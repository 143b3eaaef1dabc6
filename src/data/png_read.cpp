#include <png.h>

#include <csetjmp>
#include <cstring>

#include "lockstep/core/error.h"
#include "lockstep/data/decode.h"
#include "lockstep/data/png.h"
#include "png_raw.h"

namespace lockstep::data {
namespace {

// libpng is C and leaves by longjmp, so everything it touches lives here, outside the frame jumped
// to.
struct Decoder {
  ByteView rest;
  PngForms forms = PngForms::kPlain;
  std::string failure;
  RawPng raw;
  std::size_t row_in_file = 0;  // bytes
  std::vector<png_bytep> rows;
  png_structp png = nullptr;
  png_infop info = nullptr;

  ~Decoder() { png_destroy_read_struct(&png, &info, nullptr); }
};

Decoder& decoder_of(png_voidp pointer) {
  return *static_cast<Decoder*>(pointer);
}

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  decoder_of(png_get_error_ptr(png)).failure = message;
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep into, std::size_t n) {
  Decoder& d = decoder_of(png_get_io_ptr(png));
  if (n > d.rest.size()) png_error(png, "the file is truncated");
  std::memcpy(into, d.rest.data(), n);
  d.rest = d.rest.subspan(n);
}

void require_plain(Decoder& d) {
  const auto type = png_get_color_type(d.png, d.info);
  if (png_get_bit_depth(d.png, d.info) != 8 ||
      (type != PNG_COLOR_TYPE_GRAY && type != PNG_COLOR_TYPE_RGB) ||
      png_get_valid(d.png, d.info, PNG_INFO_tRNS) != 0) {
    png_error(d.png, "not 8-bit grey or RGB without transparency");
  }
}

// Sets up the rows from the header, or says why not.
void accept_header(Decoder& d) {
  if (d.forms == PngForms::kPlain) require_plain(d);
  d.row_in_file = png_get_rowbytes(d.png, d.info);
  png_set_expand(d.png);  // nothing where the form is plain
  png_set_interlace_handling(d.png);
  png_read_update_info(d.png, d.info);
  d.raw.width = png_get_image_width(d.png, d.info);
  d.raw.height = png_get_image_height(d.png, d.info);
  d.raw.samples = png_get_channels(d.png, d.info);
  d.raw.bits = png_get_bit_depth(d.png, d.info);
}

bool read_header(Decoder& d) {
  if (setjmp(png_jmpbuf(d.png)) != 0) return false;
  png_set_user_limits(d.png, kMaxPictureSide, kMaxPictureSide);
  // Texts, profiles and the like are skipped, not read: libpng takes the memory that their headers
  // ask for before it looks whether so many bytes are there (its limit for them only warns).
  png_set_keep_unknown_chunks(d.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_set_crc_action(d.png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
  png_set_read_fn(d.png, &d, on_read);
  png_read_info(d.png, d.info);
  accept_header(d);
  return true;
}

bool read_pixels(Decoder& d) {
  if (setjmp(png_jmpbuf(d.png)) != 0) return false;
  png_read_image(d.png, d.rows.data());
  png_read_end(d.png, nullptr);
  return true;
}

void allocate(Decoder& d) {
  const auto height = static_cast<std::size_t>(d.raw.height);
  std::size_t row = d.row_in_file;
  // Deflate shrinks by at most 1032: a header that promises more than its file can hold is a lie.
  if (row * height / 1032 > d.rest.size()) {
    d.failure = "the file is too short for its size";
    return;
  }
  row = static_cast<std::size_t>(d.raw.width * d.raw.samples * (d.raw.bits / 8));
  const bool all = d.forms == PngForms::kAll;
  if (all ? row * height > kMostDecoded : row * height >= kMostPixels) {
    d.failure = all ? "more than 256 MiB of samples" : "1 GiB of samples or more";
    return;
  }
  d.raw.rows.resize(row * height);
  for (std::size_t y = 0; y < height; ++y) d.rows.push_back(d.raw.rows.data() + y * row);
}

}  // namespace

RawPng read_raw_png(ByteView png, PngForms forms) {
  Decoder d;
  d.rest = png;
  d.forms = forms;
  d.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &d, on_error, on_warning);
  if (d.png != nullptr) d.info = png_create_info_struct(d.png);
  LOCKSTEP_ASSERT(d.info != nullptr, "libpng's version, or no memory");
  if (read_header(d)) {
    allocate(d);
    if (d.failure.empty()) read_pixels(d);
  }
  if (!d.failure.empty()) throw Error(Code::kData, "PNG: " + d.failure);
  return std::move(d.raw);
}

Picture read_png(ByteView png, const std::string& name) try {
  RawPng raw = read_raw_png(png, PngForms::kPlain);
  return {raw.width, raw.height, raw.samples, std::move(raw.rows)};
} catch (const Error& e) {
  throw Error(Code::kData, name + ": " + e.message(), "8-bit grey or RGB pictures are read");
}

}  // namespace lockstep::data

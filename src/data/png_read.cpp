#include <png.h>

#include <csetjmp>
#include <cstring>

#include "lockstep/core/error.h"
#include "lockstep/data/png.h"

namespace lockstep::data {
namespace {

// libpng is C and leaves by longjmp, so everything it touches lives here, outside the frame jumped
// to.
struct Decoder {
  ByteView rest;
  std::string failure;
  Picture picture;
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

// Sets up the picture from the header, or says why not.
void accept_header(Decoder& d) {
  const auto type = png_get_color_type(d.png, d.info);
  const bool grey = type == PNG_COLOR_TYPE_GRAY;
  if (png_get_bit_depth(d.png, d.info) != 8 || (!grey && type != PNG_COLOR_TYPE_RGB) ||
      png_get_valid(d.png, d.info, PNG_INFO_tRNS) != 0) {
    png_error(d.png, "not 8-bit grey or RGB without transparency");
  }
  png_set_interlace_handling(d.png);
  d.picture.width = png_get_image_width(d.png, d.info);
  d.picture.height = png_get_image_height(d.png, d.info);
  d.picture.channels = grey ? 1 : 3;
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
  const auto row = static_cast<std::size_t>(d.picture.width * d.picture.channels);
  const auto height = static_cast<std::size_t>(d.picture.height);
  // Deflate shrinks by at most 1032: a header that promises more than its file can hold is a lie.
  if (row * height / 1032 > d.rest.size()) {
    d.failure = "the file is too short for its size";
    return;
  }
  d.picture.pixels.resize(row * height);
  for (std::size_t y = 0; y < height; ++y) d.rows.push_back(d.picture.pixels.data() + y * row);
}

}  // namespace

Picture read_png(ByteView png, const std::string& name) {
  Decoder d;
  d.rest = png;
  d.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &d, on_error, on_warning);
  if (d.png != nullptr) d.info = png_create_info_struct(d.png);
  LOCKSTEP_ASSERT(d.info != nullptr, "libpng's version, or no memory");
  if (read_header(d)) {
    allocate(d);
    if (d.failure.empty()) read_pixels(d);
  }
  if (!d.failure.empty()) {
    throw Error(Code::kData, name + ": PNG: " + d.failure, "8-bit grey or RGB pictures are read");
  }
  return std::move(d.picture);
}

}  // namespace lockstep::data

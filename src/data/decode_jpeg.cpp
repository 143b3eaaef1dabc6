// clang-format off
#include <cstdio>  // first: libjpeg's header lacks it
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include <csetjmp>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "exif.h"
#include "lockstep/core/error.h"
#include "lockstep/data/decode.h"

namespace lockstep::data {
namespace {

// A progressive picture has some ten scans. Each may go through all blocks in a few bytes.
constexpr int kMostScans = 100;
constexpr unsigned kMostSegment = 65535;  // bytes of an APP1

// libjpeg is C and leaves by longjmp, so everything it touches lives here, outside the frame jumped
// to.
struct Decoder {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf failed{};
  std::string failure;
  Picture picture;
  int orientation = 1;

  ~Decoder() { jpeg_destroy_decompress(&jpeg); }
};

Decoder& decoder_of(j_common_ptr jpeg) {
  return *static_cast<Decoder*>(jpeg->client_data);
}

[[noreturn]] void fail(Decoder& d, const char* why) {
  d.failure = why;
  std::longjmp(d.failed, 1);
}

[[noreturn]] void on_error(j_common_ptr jpeg) {
  char text[JMSG_LENGTH_MAX];
  (*jpeg->err->format_message)(jpeg, text);
  fail(decoder_of(jpeg), text);
}

// A warning says that bytes are missing or wrong, and that libjpeg would make up the rest.
void on_message(j_common_ptr jpeg, int level) {
  if (level < 0) on_error(jpeg);
}

void on_progress(j_common_ptr jpeg) {
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number > kMostScans)
    fail(decoder_of(jpeg), "more than 100 scans");
}

bool is_cmyk(J_COLOR_SPACE colours) {
  return colours == JCS_CMYK || colours == JCS_YCCK;
}

// Sides, colours and what the file can hold; then the settings, none of them left to the library.
void accept_header(Decoder& d, std::size_t file_bytes) {
  jpeg_decompress_struct& j = d.jpeg;
  const bool grey = j.jpeg_color_space == JCS_GRAYSCALE;
  if (is_cmyk(j.jpeg_color_space))
    fail(d, "its colours are those of print (CMYK): save it as RGB or grey");
  if (!grey && j.jpeg_color_space != JCS_YCbCr && j.jpeg_color_space != JCS_RGB)
    fail(d, "its colours are neither grey nor RGB: save it as one of them");
  if (j.arith_code != 0) fail(d, "arithmetic coding: save it with Huffman coding");
  std::uint64_t blocks = 0;
  for (int c = 0; c < j.num_components; ++c)
    blocks += std::uint64_t{j.comp_info[c].width_in_blocks} * j.comp_info[c].height_in_blocks;
  // Every block takes a bit at least: a header that promises more than its file can hold is a lie.
  if (blocks / 8 > file_bytes) fail(d, "the file is too short for its size");
  d.picture = {j.image_width, j.image_height, grey ? 1 : 3, {}};
  if (d.picture.width * d.picture.height * d.picture.channels > kMostDecoded)
    fail(d, "more than 256 MiB of samples");
  j.out_color_space = grey ? JCS_GRAYSCALE : JCS_RGB;
  j.dct_method = JDCT_ISLOW;
  j.do_fancy_upsampling = TRUE;
  j.do_block_smoothing = FALSE;
}

void read_orientation(Decoder& d) {
  for (jpeg_saved_marker_ptr m = d.jpeg.marker_list; m != nullptr && d.orientation == 1;
       m = m->next)
    d.orientation = exif_orientation(
        std::as_bytes(std::span(static_cast<const unsigned char*>(m->data), m->data_length)));
}

bool read_header(Decoder& d, ByteView file) {
  if (setjmp(d.failed) != 0) return false;
  jpeg_create_decompress(&d.jpeg);
  d.jpeg.mem->max_memory_to_use = 0;  // no limit from the environment
  d.progress.progress_monitor = on_progress;
  d.jpeg.progress = &d.progress;
  jpeg_mem_src(&d.jpeg, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_save_markers(&d.jpeg, JPEG_APP0 + 1, kMostSegment);
  jpeg_read_header(&d.jpeg, TRUE);
  accept_header(d, file.size());
  read_orientation(d);
  return true;
}

bool read_pixels(Decoder& d) {
  if (setjmp(d.failed) != 0) return false;
  jpeg_start_decompress(&d.jpeg);
  const auto row_bytes = static_cast<std::size_t>(d.picture.width * d.picture.channels);
  while (d.jpeg.output_scanline < d.jpeg.output_height) {
    JSAMPROW row = d.picture.pixels.data() + d.jpeg.output_scanline * row_bytes;
    jpeg_read_scanlines(&d.jpeg, &row, 1);
  }
  jpeg_finish_decompress(&d.jpeg);
  return true;
}

[[noreturn]] void refuse(const Decoder& d) {
  if (d.errors.msg_code == JERR_OUT_OF_MEMORY) throw std::bad_alloc();
  throw Error(Code::kData, "JPEG: " + d.failure);
}

}  // namespace

Picture decode_jpeg(ByteView file) {
  Decoder d;
  d.jpeg.err = jpeg_std_error(&d.errors);
  d.errors.error_exit = on_error;
  d.errors.emit_message = on_message;
  d.jpeg.client_data = &d;
  if (!read_header(d, file)) refuse(d);
  d.picture.pixels.resize(
      static_cast<std::size_t>(d.picture.width * d.picture.height * d.picture.channels));
  if (!read_pixels(d)) refuse(d);
  return upright(std::move(d.picture), d.orientation);
}

}  // namespace lockstep::data

// Pictures as others write them, decoded to 8-bit grey or RGB. docs/data.md, "How pictures are
// read", says what becomes of each form.
#pragma once

#include <string_view>

#include "lockstep/data/png.h"

namespace lockstep::data {

// Bytes of a picture's samples as its file has them; more are refused before memory is taken.
inline constexpr std::int64_t kMostDecoded = std::int64_t{1} << 28;  // 256 MiB: 89 megapixels RGB

// Has a name of one of these formats, in lower or upper case.
bool is_picture_name(std::string_view name);

// Decodes a file by its first bytes, whatever its name. Throws Error(kData), a line without the
// file's name, for what is of no format, damaged, cut off or too large.
Picture decode_picture(ByteView file);

// Any PNG: palettes and fewer bits are expanded, 16 bits become 8 (v8 = (255 v16 + 32767) / 65535,
// rounded down), and what is transparent is laid over white (v = (a v + 255 (255 - a) + 127) / 255,
// rounded down).
Picture decode_png(ByteView file);

// A JPEG of grey, YCbCr or RGB, baseline or progressive, of 8 bits and Huffman's coding: the
// integer DCT "islow", chroma by "fancy" upsampling, no smoothing of blocks; then turned by Exif's
// orientation. What makes libjpeg warn is damaged. Bits: the file, and libjpeg's version.
Picture decode_jpeg(ByteView file);

}  // namespace lockstep::data

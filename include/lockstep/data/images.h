// Images in memory as bytes: what every container of images decodes to. Fields and signals, arrays
// of floats, are kept in the same way: as the bytes of their binary32 values, little-endian.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/data/dataset.h"

namespace lockstep::data {

inline constexpr std::uint64_t kMostChannels = 1024;                     // of fields
inline constexpr std::uint64_t kLongestSignal = std::uint64_t{1} << 24;  // values

// More than this is refused before anything is allocated, where images are held in memory whole.
inline constexpr std::uint64_t kMaxImageBytes = std::uint64_t{1} << 36;  // 64 GiB

struct ImageShape {
  // Images, rows, columns, channels (1 grey, 3 RGB; of fields 1 to kMostChannels). Signals have one
  // row, one channel and as many columns as values.
  std::int64_t n = 0, h = 0, w = 0, c = 0;
  SampleKind kind = SampleKind::kPictures;  // kPictures, kFields, kSignals

  bool floats() const { return kind != SampleKind::kPictures; }
  std::int64_t image_bytes() const { return h * w * c * (floats() ? 4 : 1); }
  std::vector<std::int64_t> sample_shape() const;  // {h, w, c}; of signals {w}
  bool operator==(const ImageShape&) const = default;
};

// "images", "fields", "signals": how recipes, packs and hashes call them.
std::string_view word_of(SampleKind kind);
// "1 image", "3 fields".
std::string counted_images(std::uint64_t n, SampleKind kind);
// "28x28, grey"; of fields "64x32, 2 channels"; of signals "100 values". Width x height.
std::string sides_of(const ImageShape& shape);

// Decides whether images of these sizes, as read from an untrusted file, can be held: every size
// >= 1, channels and a signal's length as above, h and w <= 65535, all bytes together <= `most`.
// Computed without overflow. Returns the total number of bytes; throws Error(kData) naming the
// sizes.
std::uint64_t checked_image_bytes(std::uint64_t n, std::uint64_t h, std::uint64_t w,
                                  std::uint64_t c, std::uint64_t most = kMaxImageBytes,
                                  SampleKind kind = SampleKind::kPictures);

// The hash of images: SHA-256 of
//   "lockstep images 1\n", n, h, w, c (u64 little endian), root of the tree of the pixels
//   (hash/merkle.h)
// in order, with the word of fields and signals in place of "images". The same for every container
// and every machine.
hash::Digest content_hash(const ImageShape& shape, const std::vector<std::uint8_t>& pixels);
hash::Digest content_hash(const ImageShape& shape, const hash::Digest& root);

// Pixels are [n][h][w][c]; a sample is read by numerics::from_bytes: 0 -> -1, 255 -> about 1. Of
// fields and signals it has the values that are there.
class Images : public Dataset {
 public:
  // LOCKSTEP_ASSERTs that the pixels have the shape's size. Hashes them (once, here).
  Images(ImageShape shape, std::vector<std::uint8_t> pixels);

  std::int64_t size() const override { return shape_.n; }
  const std::vector<std::int64_t>& sample_shape() const override { return sample_shape_; }
  const hash::Digest& hash() const override { return hash_; }
  void read(Sample sample, float* out) const override;

  const ImageShape& shape() const { return shape_; }
  const std::vector<std::uint8_t>& pixels() const { return pixels_; }

 private:
  ImageShape shape_;
  std::vector<std::uint8_t> pixels_;
  std::vector<std::int64_t> sample_shape_;
  hash::Digest hash_;
};

// One image's bytes as the floats of a sample.
void read_image(const ImageShape& shape, const std::uint8_t* image, float* out);

}  // namespace lockstep::data

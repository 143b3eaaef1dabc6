// Images in memory as bytes: what every container of images decodes to.
#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/data/dataset.h"

namespace lockstep::data {

// More than this is refused before anything is allocated, where images are held in memory whole.
inline constexpr std::uint64_t kMaxImageBytes = std::uint64_t{1} << 36;  // 64 GiB

struct ImageShape {
  std::int64_t n = 0, h = 0, w = 0, c = 0;  // images, rows, columns, channels (1 grey, 3 RGB)

  std::int64_t image_bytes() const { return h * w * c; }
  bool operator==(const ImageShape&) const = default;
};

// Decides whether images of these sizes, as read from an untrusted file, can be held: every size
// >= 1, c 1 or 3, h and w <= 65535, all bytes together <= `most`. Computed without overflow.
// Returns the total number of bytes; throws Error(kData) naming the sizes.
std::uint64_t checked_image_bytes(std::uint64_t n, std::uint64_t h, std::uint64_t w,
                                  std::uint64_t c, std::uint64_t most = kMaxImageBytes);

// The hash of images: SHA-256 of
//   "lockstep images 1\n", n, h, w, c (u64 little endian), root of the tree of the pixels
//   (hash/merkle.h)
// in order. The same for every container and every machine.
hash::Digest content_hash(const ImageShape& shape, const std::vector<std::uint8_t>& pixels);
hash::Digest content_hash(const ImageShape& shape, const hash::Digest& root);

// Pixels are [n][h][w][c]; a sample is read by numerics::from_bytes: 0 -> -1, 255 -> about 1.
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

}  // namespace lockstep::data

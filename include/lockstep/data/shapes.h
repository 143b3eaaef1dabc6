// Toy pictures in colour: a disc, a square or stripes on a ground, all of one colour each. For
// networks of images where no data set of colour pictures is at hand.
//
//   sample i: words w0 … w9 = fill_bits at position i, stream(seed, "data/shapes"); below(w, n) =
//   (w * n) >> 32, all divisions of whole numbers, s = side:
//     ground of channel c: wc >> 24; shape: (ground + 96 + below(w(3+c), 65)) mod 256
//     kind: below(w6, 3)
//     0 disc, 1 square: r = s/6 + below(w7, s/6 + 1), centre (r + below(w8, s-2r), r + below(w9,
//       s-2r)); pixels with dx^2 + dy^2 <= r^2, or |dx|, |dy| <= r
//     2 stripes: width d = s/8 + below(w7, s/8 + 1), t = one of x, y, x+y, x-y+s by below(w8, 4);
//       pixels where (t + below(w9, 2d)) / d is odd
//   Channels differ by 96 to 160, so every shape is seen. Bytes become floats as those of images.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "lockstep/data/dataset.h"
#include "lockstep/numerics/philox.h"

namespace lockstep::data {

struct ShapesOptions {
  std::int64_t side = 32;
  std::int64_t count = 1 << 16;  // pictures in an epoch; computed when read, so any number is free
  std::int64_t seed = 0;         // of the pictures, so that the data does not change with run.seed
};
inline void describe(Fields& f, ShapesOptions& o) {
  f.begin("shapes", "discs, squares and stripes on a ground");
  f.field("side", o.side, 8, 256, Effect::kBits, "pixels of a picture's side");
  f.field("count", o.count, 1, std::int64_t{1} << 40, Effect::kBits, "pictures in an epoch");
  f.field("seed", o.seed, 0, INT64_MAX, Effect::kBits, "of the pictures");
  f.end();
}

class Shapes : public Dataset {
 public:
  // A picture's label is its kind. Throws Error(kUsage) for fewer classes than kinds; 0: no labels.
  explicit Shapes(const ShapesOptions& options, std::int64_t classes = 0);

  std::int64_t size() const override { return options_.count; }
  const std::vector<std::int64_t>& sample_shape() const override { return sample_shape_; }
  const hash::Digest& hash() const override { return hash_; }  // of the parameters, as text
  void read(Sample sample, float* out) const override;
  std::int64_t classes() const override { return classes_; }
  std::int64_t label(Sample sample) const override;

  // The picture, [side][side][3]. Bits: options, sample.
  std::vector<std::uint8_t> pixels(Sample sample) const;

 private:
  std::array<std::uint32_t, 10> words(Sample sample) const;

  ShapesOptions options_;
  std::int64_t classes_;
  std::vector<std::int64_t> sample_shape_;
  numerics::Stream stream_;
  hash::Digest hash_;
};

}  // namespace lockstep::data

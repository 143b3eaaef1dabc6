#include "lockstep/data/augment.h"

#include <algorithm>
#include <string>

#include "lockstep/core/error.h"
#include "lockstep/data/dataset.h"
#include "lockstep/numerics/philox.h"
#include "lockstep/numerics/stream.h"

namespace lockstep::data {
namespace {

constexpr int kFlipWord = 0, kRowWord = 1, kColumnWord = 2;

// Pixel i of a row that goes on beyond its border as in a mirror; the border itself is not doubled.
std::int64_t reflected(std::int64_t i, std::int64_t size) {
  if (i < 0) return -i;
  return i < size ? i : 2 * (size - 1) - i;
}

}  // namespace

void require_augmentable(const Options& options, const Dataset& dataset) {
  if (!options.flip && options.crop == 0) return;
  const std::vector<std::int64_t>& sides = dataset.sample_shape();
  if (sides.size() != 3)
    throw Error(Code::kUsage,
                "[data]: flip and crop are for pictures and fields, these data are " +
                    std::string(options.kind == "signals" ? "signals" : "points"),
                "leave them out");
  if (const std::int64_t side = std::min(sides[0], sides[1]); options.crop >= side)
    throw Error(Code::kUsage,
                "[data]: crop: " + std::to_string(options.crop) + ", the pictures are " +
                    std::to_string(sides[1]) + " wide and " + std::to_string(sides[0]) + " high",
                "set data.crop below " + std::to_string(side));
}

Augment::Augment(const Options& options, const Dataset& dataset, std::uint64_t seed)
    : flip_(options.flip), crop_(options.crop), stream_(numerics::stream(seed, "data/augment")) {
  if (!flip_ && crop_ == 0) return;
  require_augmentable(options, dataset);
  const std::vector<std::int64_t>& sides = dataset.sample_shape();
  height_ = sides[0], width_ = sides[1], channels_ = sides[2];
}

void Augment::apply(Draw draw, float* sample) const {
  if (!flip_ && crop_ == 0) return;
  const auto position = static_cast<std::uint64_t>(draw.value);
  const auto below = [&](std::int64_t bound, int word) -> std::int64_t {
    return numerics::draw_below(stream_, position, word, static_cast<std::uint32_t>(bound));
  };
  const bool mirrored = flip_ && below(2, kFlipWord) == 1;
  const std::int64_t down = below(2 * crop_ + 1, kRowWord) - crop_;
  const std::int64_t right = below(2 * crop_ + 1, kColumnWord) - crop_;
  const std::vector<float> old(sample, sample + height_ * width_ * channels_);
  for (std::int64_t y = 0; y < height_; ++y) {
    const std::int64_t row = reflected(y + down, height_) * width_;
    for (std::int64_t x = 0; x < width_; ++x) {
      const std::int64_t column = reflected((mirrored ? width_ - 1 - x : x) + right, width_);
      sample = std::copy_n(old.data() + (row + column) * channels_, channels_, sample);
    }
  }
}

}  // namespace lockstep::data

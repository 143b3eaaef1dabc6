#include "lockstep/data/shapes.h"

#include <array>

#include "data/kinds.h"
#include "lockstep/core/error.h"
#include "lockstep/data/labels.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/numerics/stream.h"

namespace lockstep::data {
namespace {

constexpr std::int64_t kChannels = 3;
using Words = std::array<std::uint32_t, 10>;

std::int64_t below(std::uint32_t word, std::int64_t bound) {
  return static_cast<std::int64_t>((std::uint64_t{word} * static_cast<std::uint64_t>(bound)) >> 32);
}

enum Kind : std::int64_t { kDisc, kSquare, kStripes, kKinds };
std::int64_t kind_of(const Words& w) {
  return below(w[6], kKinds);
}

// Says of each pixel whether it belongs to the shape.
class Mask {
 public:
  Mask(const Words& w, std::int64_t side) : side_(side), kind_(kind_of(w)) {
    if (kind_ == kStripes) {
      size_ = side / 8 + below(w[7], side / 8 + 1);
      direction_ = below(w[8], 4);
      phase_ = below(w[9], 2 * size_);
      return;
    }
    size_ = side / 6 + below(w[7], side / 6 + 1);
    x_ = size_ + below(w[8], side - 2 * size_);
    y_ = size_ + below(w[9], side - 2 * size_);
  }

  bool has(std::int64_t x, std::int64_t y) const {
    if (kind_ == kStripes) {
      const std::array<std::int64_t, 4> along = {x, y, x + y, x - y + side_};
      return (along[static_cast<std::size_t>(direction_)] + phase_) / size_ % 2 == 1;
    }
    const std::int64_t dx = x - x_, dy = y - y_;
    if (kind_ == kDisc) return dx * dx + dy * dy <= size_ * size_;
    return dx >= -size_ && dx <= size_ && dy >= -size_ && dy <= size_;
  }

 private:
  std::int64_t side_, kind_;
  std::int64_t size_ = 0, x_ = 0, y_ = 0, direction_ = 0, phase_ = 0;
};

// Every parameter that changes a sample, and nothing else.
std::string canonical_text(const ShapesOptions& o) {
  return "lockstep shapes 1\nside = " + std::to_string(o.side) +
         "\ncount = " + std::to_string(o.count) + "\nseed = " + std::to_string(o.seed) + "\n";
}

}  // namespace

Shapes::Shapes(const ShapesOptions& options, std::int64_t classes)
    : options_(options),
      classes_(classes),
      sample_shape_{options.side, options.side, kChannels},
      stream_(numerics::stream(static_cast<std::uint64_t>(options.seed), "data/shapes")),
      hash_(hash::sha256(as_bytes(canonical_text(options)))) {
  LOCKSTEP_ASSERT(options.side >= 8 && options.count >= 1, std::to_string(options.side));
  if (classes == 0) return;
  require_classes(classes, kKinds, "kinds of shapes");
  hash_ = labelled_hash(hash_);
}

Words Shapes::words(Sample sample) const {
  LOCKSTEP_ASSERT(sample.value >= 0 && sample.value < options_.count,
                  "sample " + std::to_string(sample.value));
  Words words;
  numerics::Cpu().fill_bits(stream_, static_cast<std::uint64_t>(sample.value), words.size(),
                            words.data());
  return words;
}

std::int64_t Shapes::label(Sample sample) const {
  LOCKSTEP_ASSERT(classes_ > 0);
  return kind_of(words(sample));
}

std::vector<std::uint8_t> Shapes::pixels(Sample sample) const {
  const Words w = words(sample);
  std::array<std::uint8_t, kChannels> ground, shape;
  for (std::size_t c = 0; c < kChannels; ++c) {
    ground[c] = static_cast<std::uint8_t>(w[c] >> 24);
    shape[c] = static_cast<std::uint8_t>(ground[c] + 96 + below(w[3 + c], 65));  // mod 256
  }
  const Mask mask(w, options_.side);
  std::vector<std::uint8_t> pixels;
  pixels.reserve(static_cast<std::size_t>(sample_values()));
  for (std::int64_t y = 0; y < options_.side; ++y) {
    for (std::int64_t x = 0; x < options_.side; ++x) {
      const auto& colour = mask.has(x, y) ? shape : ground;
      pixels.insert(pixels.end(), colour.begin(), colour.end());
    }
  }
  return pixels;
}

void Shapes::read(Sample sample, float* out) const {
  numerics::Cpu().from_bytes(sample_values(), pixels(sample).data(), out);
}

std::unique_ptr<Dataset> open_shapes(const Options& options) {
  return std::make_unique<Shapes>(options.kind.as<ShapesOptions>(), options.classes);
}

}  // namespace lockstep::data

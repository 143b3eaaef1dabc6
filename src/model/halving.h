// What the convolutional networks of GANs share: sides that halve, and checks of their options.
#pragma once

#include <vector>

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/model/options.h"

namespace lockstep::model {

// Kernel and stride that halve a side: n becomes n / 2, rounded down; transposed, they double it.
inline constexpr std::int64_t kHalvingSize = 4, kHalvingStride = 2;

struct Side {
  std::int64_t h, w;
  std::int64_t positions() const { return h * w; }
};

// The picture's side, then each half of the one before: halvings + 1 of them.
inline std::vector<Side> halved(const std::vector<std::int64_t>& sample_shape,
                                std::int64_t halvings) {
  std::vector<Side> sides = {{sample_shape[0], sample_shape[1]}};
  for (std::int64_t i = 0; i < halvings; ++i)
    sides.push_back({sides.back().h / 2, sides.back().w / 2});
  return sides;
}

// Error(kUsage) unless these are pictures that can be halved so often; `levels`: the key channels.
inline void check_halvings(const Options& options, const std::vector<std::int64_t>& levels,
                           const std::vector<std::int64_t>& sample_shape, std::int64_t halvings) {
  const std::string& kind = options.kind.word();
  if (sample_shape.size() != 3)
    throw Error(Code::kUsage, "kind: " + kind + " needs pictures",
                "use another kind for this data");
  if (levels.empty())
    throw Error(Code::kUsage, "channels: " + kind + " needs at least one level",
                "give e.g. [64, 128]");
  const std::vector<Side> sides = halved(sample_shape, halvings);
  if (sides.back().positions() == 0)
    throw Error(Code::kUsage,
                "channels: " + counted(levels.size(), "level is", "levels are") + " too many for " +
                    std::to_string(sample_shape[0]) + " x " + std::to_string(sample_shape[1]) +
                    " pixels",
                "each level halves the sides");
}

}  // namespace lockstep::model

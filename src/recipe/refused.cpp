#include "refused.h"

#include <algorithm>
#include <array>

namespace lockstep::recipe {
namespace {

// Learning rates times the number of processes, as Horovod's and Diffusers' scripts have them.
constexpr std::array<std::string_view, 4> kWorldKeys = {"scale_lr", "scale_lr_by_world_size",
                                                        "lr_world_scaling", "world_size"};
constexpr std::array<std::string_view, 5> kWorldWords = {"world", "world_size", "ranks", "gpus",
                                                         "processes"};

Refused by_world() {
  return {"no bit may depend on the number of ranks",
          "lr_scaling = \"linear\" or \"sqrt\" with base_batch follows the recipe's batch, lanes x "
          "samples_per_lane"};
}

}  // namespace

std::optional<Refused> refused_key(std::string_view key) {
  if (std::ranges::find(kWorldKeys, key) == kWorldKeys.end()) return std::nullopt;
  return by_world();
}

std::optional<Refused> refused_word(std::string_view key, std::string_view word) {
  if (key != "lr_scaling" || std::ranges::find(kWorldWords, word) == kWorldWords.end())
    return std::nullopt;
  return by_world();
}

}  // namespace lockstep::recipe

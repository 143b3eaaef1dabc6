// How large a recipe's networks are, and what its whole run makes and leaves behind: counted, not
// tried.
#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/recipe/recipe.h"

namespace lockstep::cli {

struct Size {
  std::int64_t parameters = 0;
  std::int64_t state_bytes = 0;
  double step_flops = 0;
  std::int64_t passes_per_sample = 0;  // of the network that makes samples
  double sample_flops = 0;             // of all of them
};
// A step costs one forward and two backward products a network and phase, in the mean over steps;
// good to a few tens of percent.
Size size_of(const recipe::Recipe& recipe, const std::vector<std::int64_t>& sample_shape);

// What the whole run draws, makes and leaves behind.
struct Course {
  std::int64_t samples = 0, grids = 0, saved = 0, kept = 0, evaluations = 0;
  std::int64_t made = 0;  // samples of grids, evaluations and the monitor
  double epochs = 0;
};
// data: the samples that training draws from.
Course course_of(const recipe::Recipe& recipe, std::int64_t data);

// Of so many checkpoints, about: their tensors.
std::int64_t bytes_of(std::int64_t checkpoints, const Size& size);

}  // namespace lockstep::cli

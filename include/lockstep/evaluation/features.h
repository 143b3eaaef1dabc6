// Features of samples: what the distances of this folder compare.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::evaluation {

struct Features {
  std::int64_t width = 0;     // numbers a sample
  std::vector<float> values;  // [count()][width], sample after sample

  std::int64_t count() const { return static_cast<std::int64_t>(values.size()) / width; }
};

}  // namespace lockstep::evaluation

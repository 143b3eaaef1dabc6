// Pictures from a run or from a checkpoint alone.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "lockstep/core/ids.h"
#include "lockstep/train/training.h"

namespace lockstep::train {

struct SampleOptions {
  std::filesystem::path source;  // a run folder (its newest checkpoint) or a checkpoint file
  std::filesystem::path out;     // .png
  std::int64_t first = 0;        // number of the first sample in the pictures' stream
  std::int64_t count = 64;
  std::int64_t columns = 8;
  int threads = 1;
};

struct SampleResult {
  Step step;
  std::string sha256;  // of the picture's bytes
};

SampleResult sample(const SampleOptions& options);

// The picture of samples [first, first+count): a grid of images, or the scatter of 2-D points. Its
// provenance names recipe, step and state. Bits: state, recipe, arguments.
Bytes picture(Training& training, const hash::Digest& state_root, std::int64_t first,
              std::int64_t count, std::int64_t columns);

}  // namespace lockstep::train

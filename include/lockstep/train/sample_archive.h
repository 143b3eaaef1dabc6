// Samples as a NumPy archive with their provenance.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "lockstep/data/npz.h"
#include "lockstep/data/options.h"
#include "lockstep/data/png.h"
#include "lockstep/train/training.h"

namespace lockstep::train {

// arr_0: of pictures uint8 [n][h][w][c], of all others binary32 [n][sample shape], as they are;
// with classes arr_1: int64 [n]; provenance.txt: a line "key: value" each. Written as it goes.
class SampleArchive {
 public:
  // `out` takes the file's bytes in order; `count` samples follow.
  SampleArchive(std::function<void(ByteView)> out, const Training& training, std::int64_t count);
  void append(const Tensor& samples);
  // labels: one a sample, or none.
  void finish(const std::vector<std::int64_t>& labels, const data::Provenance& provenance);

  // Bytes of the arrays of so many samples; more than data::kMostNpzBytes are too many.
  static std::uint64_t bytes(const Training& training, std::int64_t count);

 private:
  data::NpzWriter npz_;
  const bool pictures_;
};

// What an archive says of itself. Throws as data::read_npz.
data::Provenance read_archive_provenance(const std::filesystem::path& path);
// The same of one among a run's samples. Throws also if it has other members than a run of this
// recipe writes, or another number of samples than it says.
data::Provenance read_archive_of_run(const std::filesystem::path& path,
                                     const recipe::Recipe& recipe);

}  // namespace lockstep::train

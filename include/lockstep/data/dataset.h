// A data set: a fixed list of samples with a content hash, which the ledger carries.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lockstep/core/ids.h"
#include "lockstep/data/options.h"
#include "lockstep/hash/sha256.h"

namespace lockstep::data {

// Const and thread-safe: the prefetch thread and the training thread read at the same time.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual std::int64_t size() const = 0;  // samples, >= 1

  // Images: {h, w, c}. Points: {2}.
  virtual const std::vector<std::int64_t>& sample_shape() const = 0;

  // Names the content, not the file: the same samples out of another container have the same hash.
  // Labels belong to the content where there are classes.
  virtual const hash::Digest& hash() const = 0;

  // Writes the sample_values() floats of one sample, row-major, roughly in [-1, 1].
  // LOCKSTEP_ASSERTs 0 <= sample < size(). Bits: content, sample.
  virtual void read(Sample sample, float* out) const = 0;

  std::int64_t sample_values() const;  // product of sample_shape()

  // Classes that the options ask for; 0: no labels.
  virtual std::int64_t classes() const { return 0; }
  // 0 … classes() - 1. LOCKSTEP_ASSERTs 0 <= sample < size(), and that there are labels. Bits:
  // content, sample.
  virtual std::int64_t label(Sample sample) const;
  // Of the classes 0, 1, …, as the data's files have them (labels.h); empty: they do not say.
  virtual std::vector<std::string> class_names() const { return {}; }
  // Samples of each class, classes() numbers. Here: looks at every sample's label.
  virtual std::vector<std::int64_t> class_counts() const;
};

// Opens what the options name. Throws Error(kData) with the path if a file is missing, damaged, not
// of a known format, or larger than its format allows; Error(kUsage) for impossible options.
std::unique_ptr<Dataset> open(const Options& options);
// For who does not train: no sample is held out, so there may be fewer than data.holdout.
Options whole(Options options);

}  // namespace lockstep::data

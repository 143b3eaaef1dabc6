// Toy data: a mixture of Gaussians on a ring, points in the plane; a GAN that drops modes shows it
// here.
//
//   sample i: mode k = draw_below(stream, i, word 2, modes); centre = radius * (cos, sin)(2 pi k /
//   modes) in binary64 by numerics::host, rounded to binary32; point = fma(stddev, z, centre) with
//   z the normals 0 and 1 at position i. Stream: stream(seed, "data/mixture"). (Word 2: the normals
//   use 0, 1.)
#pragma once

#include "lockstep/data/dataset.h"
#include "lockstep/numerics/philox.h"

namespace lockstep::data {

struct MixtureOptions {
  std::int64_t modes = 8;
  double radius = 1.0;
  double stddev = 0.05;
  std::int64_t count = 1 << 20;  // samples in an epoch; computed when read, so any number is free
  std::int64_t seed = 0;         // of the points, so that the data does not change with run.seed
};
inline void describe(Fields& f, MixtureOptions& o) {
  f.begin("mixture", "Gaussians evenly on a ring");
  f.field("modes", o.modes, 1, 1 << 20, Effect::kBits, "number of Gaussians");
  f.field("radius", o.radius, 0.0, 1e6, Effect::kBits, "of the ring");
  f.field("stddev", o.stddev, 0.0, 1e6, Effect::kBits, "of each Gaussian");
  f.field("count", o.count, 1, std::int64_t{1} << 40, Effect::kBits, "samples in an epoch");
  f.field("seed", o.seed, 0, INT64_MAX, Effect::kBits, "of the points");
  f.end();
}

class Mixture : public Dataset {
 public:
  // A sample's label is its mode. Throws Error(kUsage) for fewer classes than modes; 0: no labels.
  explicit Mixture(const MixtureOptions& options, std::int64_t classes = 0);

  std::int64_t size() const override { return options_.count; }
  const std::vector<std::int64_t>& sample_shape() const override { return sample_shape_; }
  const hash::Digest& hash() const override { return hash_; }  // of the parameters, as text
  void read(Sample sample, float* out) const override;
  std::int64_t classes() const override { return classes_; }
  std::int64_t label(Sample sample) const override;

  const std::vector<float>& centres() const { return centres_; }  // [modes][2]

 private:
  std::uint32_t mode(Sample sample) const;

  MixtureOptions options_;
  std::int64_t classes_;
  std::vector<std::int64_t> sample_shape_{2};
  std::vector<float> centres_;
  float stddev_;
  numerics::Stream stream_;
  hash::Digest hash_;
};

}  // namespace lockstep::data

// Private: a classifier out of its run, asked for features or classes.
#pragma once

#include "lockstep/evaluation/features.h"
#include "lockstep/train/training.h"
#include "train/open_state.h"

namespace lockstep::train {

class FeatureNetwork {
 public:
  // source: as open_state. Error(kUsage) if it is no classifier, or computes natively: its features
  // would be one machine's.
  FeatureNetwork(FileSystem& fs, const std::string& source);
  FeatureNetwork(const std::string& source, OpenedState opened);

  // SHA-256 over "lockstep features 1\n", the recipe id, and the SHA-256 tree of the state.
  hash::Digest hash() const;
  const OpenedState& opened() const { return opened_; }
  const std::vector<std::int64_t>& sample_shape() const { return training_.sample_shape; }
  std::int64_t width() const { return network_->width(); }

  // Samples [N, ...sample shape], appended in order. By the averages, where they are kept. Under
  // the guard. Bits: state, samples, not how many are asked at once.
  void append(const Tensor& samples, evaluation::Features& features);
  // [N, classes]
  Tensor logits(const Tensor& samples);

 private:
  template <class Pass>
  Tensor pass(const Tensor& samples, const Pass& pass);

  OpenedState opened_;
  Training training_;
  std::shared_ptr<model::Classifier> network_;
};

}  // namespace lockstep::train

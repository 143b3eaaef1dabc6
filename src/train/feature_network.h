// Private: what gives the features of samples.
#pragma once

#include "lockstep/evaluation/features.h"
#include "lockstep/ops/script.h"
#include "lockstep/train/evaluate.h"
#include "lockstep/train/training.h"
#include "train/open_state.h"

namespace lockstep::train {

class FeatureNetwork {
 public:
  virtual ~FeatureNetwork() = default;
  virtual FeaturesOf of() const = 0;
  // How data are read for it: a classifier's as its recipe reads them, else pictures of a file.
  virtual data::Options data() const = 0;
  // Error(kUsage) unless it takes samples of this shape.
  virtual void require_takes(const std::vector<std::int64_t>& sample_shape) const = 0;
  // Samples [N, ...sample shape], appended in order.
  void append(const Tensor& samples, evaluation::Features& features);

 protected:
  virtual Tensor rows(const Tensor& samples) = 0;  // [N, width]
};

// source: a TorchScript file, NAME.pt, for samples of this shape; or a classifier, as open_state.
std::unique_ptr<FeatureNetwork> open_features(FileSystem& fs, const std::string& source,
                                              const std::vector<std::int64_t>& sample_shape);

// A classifier out of its run, by the averages where they are kept. Bits: state, samples, not how
// many are asked at once.
class TrainedClassifier final : public FeatureNetwork {
 public:
  // Error(kUsage) if it is no classifier, or computes natively: its features would be one
  // machine's.
  TrainedClassifier(const std::string& source, OpenedState opened);

  FeaturesOf of() const override;
  data::Options data() const override { return opened_.recipe.data; }
  void require_takes(const std::vector<std::int64_t>& sample_shape) const override;
  Tensor logits(const Tensor& samples);  // [N, classes]
  const checkpoint::Loaded& loaded() const { return opened_.loaded; }

 private:
  template <class Pass>
  Tensor pass(const Tensor& samples, const Pass& pass);
  Tensor rows(const Tensor& samples) override;

  std::string source_;
  OpenedState opened_;
  std::shared_ptr<model::Classifier> network_;
};

// A network of another program (ops/script.h): bits of this machine.
class ScriptedFeatures final : public FeatureNetwork {
 public:
  ScriptedFeatures(FileSystem& fs, const std::string& path,
                   const std::vector<std::int64_t>& sample_shape);

  FeaturesOf of() const override { return of_; }
  data::Options data() const override { return {}; }
  void require_takes(const std::vector<std::int64_t>&) const override {}  // it was tried

 private:
  Tensor rows(const Tensor& samples) override;

  std::unique_ptr<ops::Script> script_;
  FeaturesOf of_;
};

}  // namespace lockstep::train

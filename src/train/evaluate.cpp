#include "lockstep/train/evaluate.h"

#include <algorithm>

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/core/finite.h"
#include "lockstep/data/batch.h"
#include "lockstep/data/stream.h"
#include "lockstep/objective/condition.h"
#include "lockstep/objective/right.h"
#include "lockstep/ops/device.h"
#include "lockstep/recipe/canonical.h"
#include "train/feature_network.h"

namespace lockstep::train {
namespace {

constexpr std::int64_t kAtOnce = 16;  // samples that are held as numbers

class DataSide {
 public:
  // The recipe's data, which must be what was trained on; or others of the same shape.
  DataSide(const EvaluateOptions& options, const OpenedState& opened)
      : dataset_(open(options, opened.recipe.data)),
        order_(data::stream(static_cast<std::uint64_t>(options.seed), "evaluation/data"),
               dataset_->size()) {
    const checkpoint::Meta& meta = opened.loaded.meta();
    if (dataset_->sample_shape() != meta.sample_shape)
      throw Error(Code::kUsage,
                  "the data have samples of " + sides(dataset_->sample_shape()) +
                      " values, the run of " + sides(meta.sample_shape),
                  "give data of the run's shape by --data");
    if (options.data.empty() && dataset_->hash() != meta.data)
      throw Error(Code::kData,
                  "the data are not those of the run: their hash is " + dataset_->hash().hex(),
                  "--data with their path compares with other data on purpose");
  }

  const data::Dataset& set() const { return *dataset_; }

  // take(samples, their conditions) for the draws 0 … count - 1, some at a time.
  template <class Take>
  void in_blocks(std::int64_t count, const Take& take) const {
    for (std::int64_t done = 0; done < count; done += kAtOnce) {
      const std::int64_t n = std::min(kAtOnce, count - done);
      const data::Batch batch = data::assemble(*dataset_, order_, Draw(done), n);
      std::vector<std::int64_t> sizes = dataset_->sample_shape();
      sizes.insert(sizes.begin(), n);
      take(ops::from_host(batch.values, sizes),
           objective::condition_of(batch.labels, dataset_->classes()));
    }
  }

 private:
  static std::unique_ptr<data::Dataset> open(const EvaluateOptions& options, data::Options data) {
    if (!options.data.empty()) data::move_to(data, options.data);
    return data::open(data);
  }

  std::unique_ptr<data::Dataset> dataset_;
  data::Order order_;
};

// Pictures as a file would hold them: 8 bits a value.
Tensor as_pictures(const Tensor& samples) {
  const ops::HostView values(samples);
  const std::int64_t n = samples.numel();
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(n));
  std::vector<float> rounded(bytes.size());
  ops::device().host().to_bytes(n, values.floats().data(), bytes.data());
  ops::device().host().from_bytes(n, bytes.data(), rounded.data());
  return ops::from_host(rounded, samples.sizes());
}

void require_finite(const evaluation::Features& features, const std::string& whose) {
  const auto at = std::ranges::find_if_not(features.values, is_finite);
  if (at == features.values.end()) return;
  const std::int64_t sample = (at - features.values.begin()) / features.width;
  throw Error(Code::kDiverged,
              "sample " + std::to_string(sample) + " of " + whose +
                  " has features that are not "
                  "finite: there is no distance to it",
              "look at it: `lockstep sample`");
}

class Evaluating {
 public:
  explicit Evaluating(const EvaluateOptions& options)
      : options_(options), opened_(open_state(fs_, options.source)) {}

  Evaluation run() {
    const bool samples = objective::makes_samples(opened_.recipe.objective);
    if (samples && options_.features.empty())
      throw Error(Code::kUsage, "--features is missing: distances need a classifier's features",
                  "train one, such as recipes/fashion-mnist-classifier.toml, and give its run");
    if (!samples && !(options_.features.empty() && options_.features_hash.empty()))
      throw Error(Code::kUsage,
                  "--features is for what makes samples: " + options_.source + " is a classifier",
                  "leave it out to measure the classifier's accuracy");
    return samples ? distances() : accuracy();
  }

 private:
  Evaluation begun(const DataSide& data, std::int64_t samples) const {
    if (samples > data.set().size())
      throw Error(Code::kUsage,
                  "--samples " + std::to_string(samples) + ": the data have " +
                      counted(data.set().size(), "sample"),
                  "ask for fewer");
    return {.step = opened_.loaded.state().step,
            .recipe = recipe::id(opened_.recipe),
            .state = opened_.loaded.meta().state,
            .data = data.set().hash(),
            .samples = samples,
            .seed = options_.seed,
            .portable = !recipe::is_native(opened_.recipe)};
  }

  void progress(std::int64_t done, std::int64_t total) const {
    if (options_.progress) options_.progress(done, total);
  }

  Evaluation distances() {
    const auto& shape = opened_.loaded.meta().sample_shape;
    const auto network = open_features(fs_, options_.features, shape);
    const FeaturesOf of = network->of();
    if (!of.hash.hex().starts_with(options_.features_hash))
      throw Error(
          Code::kUsage,
          options_.features + ": its hash is " + of.hash.hex() + ", not " + options_.features_hash,
          "give the network that --features-hash names");
    const std::int64_t count = options_.samples.value_or(kEvaluated),
                       least = std::max(of.width, evaluation::kOfDensity) + 1;
    if (count < least)
      throw Error(Code::kUsage,
                  "--samples " + std::to_string(count) + ": the covariance of " +
                      counted(of.width, "feature") + " needs more",
                  "ask for at least " + std::to_string(least) + ", better ten times as many");
    const DataSide data(options_, opened_);
    Evaluation evaluation = begun(data, count);
    const evaluation::Features real = real_features(data, count, *network),
                               made = generated_features(count, *network);
    numerics::Cpu& cpu = ops::device().host();
    evaluation.portable = evaluation.portable && of.step.has_value();
    evaluation.distances = {of, evaluation::frechet_distance(real, made),
                            evaluation::kernel_distance(real, made, cpu),
                            evaluation::neighbourhoods(real, made, cpu)};
    return evaluation;
  }

  evaluation::Features real_features(const DataSide& data, std::int64_t count,
                                     FeatureNetwork& network) const {
    evaluation::Features real;
    data.in_blocks(count,
                   [&](const Tensor& samples, const Tensor&) { network.append(samples, real); });
    require_finite(real, "the data");
    return real;
  }

  // Sample i is that of the run's pictures, but for the key of its streams: options_.seed.
  evaluation::Features generated_features(std::int64_t count, FeatureNetwork& network) {
    Training training =
        make_training(opened_.recipe, opened_.loaded.meta().sample_shape, {.world = 1});
    opened_.loaded.restore(training.state);
    training.recipe.run.seed = options_.seed;
    sample_by(training, training.recipe.objective);
    evaluation::Features made;
    for (std::int64_t done = 0; done < count; done += kAtOnce) {
      progress(done, count);
      const Tensor samples = draw_samples(training, {done, std::min(kAtOnce, count - done), {}});
      network.append(data::arrays(opened_.recipe.data) ? samples : as_pictures(samples), made);
    }
    require_finite(made, "the run");
    return made;
  }

  Evaluation accuracy() {
    const DataSide data(options_, opened_);
    Evaluation evaluation = begun(data, options_.samples.value_or(data.set().size()));
    TrainedClassifier network(options_.source, std::move(opened_));
    std::int64_t done = 0;
    data.in_blocks(evaluation.samples, [&](const Tensor& samples, const Tensor& condition) {
      progress(done, evaluation.samples);
      evaluation.right += objective::classified_rightly(network.logits(samples), condition);
      done += samples.size(0);
    });
    return evaluation;
  }

  FileSystem& fs_ = real_file_system();
  const EvaluateOptions& options_;
  OpenedState opened_;
};

}  // namespace

Evaluation evaluate(const EvaluateOptions& options) {
  return Evaluating(options).run();
}

}  // namespace lockstep::train

// Private: samples beside data, in the features of a network. docs/evaluation.md, "What is
// computed".
#pragma once

#include <functional>

#include "lockstep/data/batch.h"
#include "lockstep/data/dataset.h"
#include "lockstep/data/order.h"
#include "lockstep/train/evaluate.h"
#include "train/feature_network.h"

namespace lockstep::train {

inline constexpr std::int64_t kComparedAtOnce = 16;  // samples that are held as numbers

// The data of these options; where a path is given, those that lie there. Errors: kUsage for a path
// of data that a recipe makes; as data::open.
std::unique_ptr<data::Dataset> open_compared(data::Options options, const std::string& path);

// The same for distances, which need no labels: data without them, or with others, will do.
std::unique_ptr<data::Dataset> open_for_distances(data::Options options, const std::string& path);

// Data in the order of the stream `evaluation/data`, key of `seed`. `set` must outlive this.
class DataDraws {
 public:
  DataDraws(const data::Dataset& set, std::int64_t seed);
  // take(samples, their conditions) for the draws [first, end), some at a time.
  void in_blocks(std::int64_t first, std::int64_t end,
                 const std::function<void(const Tensor&, const Tensor&)>& take) const;

 private:
  const data::Dataset& set_;
  data::Order order_;
};

// A batch's values and conditions, where tensors are.
struct Block {
  Tensor samples, condition;
};
Block block_of(const data::Dataset& set, const data::Batch& batch);

// Of the draws 0 … count - 1. Error(kDiverged) if a value is not finite.
evaluation::Features features_of_data(const data::Dataset& set, std::int64_t seed,
                                      std::int64_t count, FeatureNetwork& network);

// Samples as a file of these data would hold them: pictures in 8 bits a value, arrays as they are.
Tensor as_saved(const Tensor& samples, const data::Options& data);

// Error(kUsage) if no network of features is named.
void require_features(const std::string& features);
// Each Error(kUsage): the features' network has another hash than the one whose beginning `pinned`
// is, by the option of this name; it has too many features for so many samples, which `option` asks
// for; the data have fewer.
void require_pinned(const std::string& source, const FeaturesOf& of, const std::string& pinned,
                    const std::string& option = "--features-hash");
void require_enough(std::int64_t samples, const FeaturesOf& of,
                    const std::string& option = "--samples");
void require_at_most(std::int64_t samples, const data::Dataset& set,
                     const std::string& option = "--samples");

// Error(kDiverged) if a value is not finite. `whose`: "the data".
void require_finite(const evaluation::Features& features, const std::string& whose);

// Of as many samples on each side.
Distances distances_between(const FeaturesOf& of, const evaluation::Features& real,
                            const evaluation::Features& made);

}  // namespace lockstep::train

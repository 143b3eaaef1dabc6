#include "train/comparison.h"

#include <algorithm>

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/core/finite.h"
#include "lockstep/core/log.h"
#include "lockstep/numerics/stream.h"
#include "lockstep/objective/condition.h"
#include "lockstep/ops/device.h"

namespace lockstep::train {

std::unique_ptr<data::Dataset> open_compared(data::Options options, const std::string& path) {
  if (path.empty()) return data::open(data::whole(options));
  data::move_to(options, path);
  try {
    return data::open(data::whole(options));
  } catch (const Error& error) {  // its hint is for the writer of a recipe
    if (error.code() != Code::kData) throw;
    throw Error(
        error.code(), error.message(),
        "give data like the run's by --data; `lockstep pack` makes them of a folder of pictures");
  }
}

std::unique_ptr<data::Dataset> open_for_distances(data::Options options, const std::string& path) {
  try {
    return open_compared(options, path);
  } catch (const Error& error) {
    if (error.code() != Code::kData || options.classes == 0 || path.empty()) throw;
    options.classes = 0;
    std::unique_ptr<data::Dataset> unlabelled;
    try {
      unlabelled = open_compared(options, path);
    } catch (const Error&) {  // labels were not what is wrong, or the recipe has a file of theirs
    }
    if (!unlabelled) throw;
    log::warn(error.message() + ": labels are left out, as distances need none");
    return unlabelled;
  }
}

DataDraws::DataDraws(const data::Dataset& set, std::int64_t seed)
    : set_(set),
      order_(numerics::stream(static_cast<std::uint64_t>(seed), "evaluation/data"), set.size()) {}

void DataDraws::in_blocks(std::int64_t first, std::int64_t end,
                          const std::function<void(const Tensor&, const Tensor&)>& take) const {
  for (std::int64_t done = first; done < end; done += kComparedAtOnce) {
    const std::int64_t n = std::min(kComparedAtOnce, end - done);
    const auto [samples, condition] = block_of(set_, data::assemble(set_, order_, Draw(done), n));
    take(samples, condition);
  }
}

Block block_of(const data::Dataset& set, const data::Batch& batch) {
  std::vector<std::int64_t> sizes = set.sample_shape();
  sizes.insert(sizes.begin(), batch.count);
  return {ops::from_host(batch.values, sizes),
          objective::condition_of(batch.labels, set.classes())};
}

evaluation::Features features_of_data(const data::Dataset& set, std::int64_t seed,
                                      std::int64_t count, FeatureNetwork& network) {
  evaluation::Features features;
  DataDraws(set, seed).in_blocks(
      0, count, [&](const Tensor& samples, const Tensor&) { network.append(samples, features); });
  require_finite(features, "the data");
  return features;
}

void require_features(const std::string& features) {
  if (features.empty())
    throw Error(Code::kUsage, "--features is missing: distances need a classifier's features",
                "train one, such as recipes/fashion-mnist-classifier.toml, and give its run");
}

void require_pinned(const std::string& source, const FeaturesOf& of, const std::string& pinned,
                    const std::string& option) {
  if (!of.hash.hex().starts_with(pinned))
    throw Error(Code::kUsage, source + ": its hash is " + of.hash.hex() + ", not " + pinned,
                "give the network that " + option + " names");
}

void require_enough(std::int64_t samples, const FeaturesOf& of, const std::string& option) {
  const std::int64_t least = std::max(of.width, evaluation::kOfDensity) + 1;
  if (samples < least)
    throw Error(Code::kUsage,
                option + " " + std::to_string(samples) + ": the covariance of " +
                    counted(of.width, "feature") + " needs more",
                "ask for at least " + std::to_string(least) + ", better ten times as many");
}

void require_at_most(std::int64_t samples, const data::Dataset& set, const std::string& option) {
  if (samples > set.size())
    throw Error(
        Code::kUsage,
        option + " " + std::to_string(samples) + ": the data have " + counted(set.size(), "sample"),
        "ask for fewer");
}

Tensor as_saved(const Tensor& samples, const data::Options& data) {
  if (data::arrays(data)) return samples;
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
                  " has features that are not finite: there is no distance to it",
              "look at it: `lockstep sample`");
}

Distances distances_between(const FeaturesOf& of, const evaluation::Features& real,
                            const evaluation::Features& made) {
  numerics::Cpu& cpu = ops::device().host();
  return {of, evaluation::frechet_distance(real, made),
          evaluation::kernel_distance(real, made, cpu),
          evaluation::neighbourhoods(real, made, cpu)};
}

}  // namespace lockstep::train

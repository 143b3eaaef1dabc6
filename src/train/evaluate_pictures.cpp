#include "train/evaluate_pictures.h"

#include <algorithm>

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/core/list.h"
#include "lockstep/data/sources.h"
#include "lockstep/ops/device.h"
#include "lockstep/train/file_kind.h"
#include "train/comparison.h"

namespace lockstep::train {
namespace {

std::int64_t count_of(const EvaluateOptions& options, const data::Images& pictures) {
  const std::int64_t count = options.samples.value_or(std::min(kEvaluated, pictures.size()));
  if (count > pictures.size())
    throw Error(Code::kUsage,
                "--samples " + std::to_string(count) + ": " + options.source + " has " +
                    counted(pictures.size(), "picture"),
                "ask for fewer");
  return count;
}

// Floats may have any scale: only a classifier of arrays knows it.
void require_same_kind(const EvaluateOptions& options, const data::ImageShape& shape,
                       const FeatureNetwork& network) {
  const bool floats = data::arrays(network.data());
  if (shape.floats() == floats) return;
  throw Error(Code::kData,
              options.source + ": its values are " + (floats ? "bytes" : "floats") + ", and " +
                  options.features + " knows " + (floats ? "arrays of floats" : "pictures"),
              floats ? "save float32" : "save pictures as uint8");
}

// How data are read does not follow from pictures: it is as the network's own data were.
std::unique_ptr<data::Dataset> data_of(const EvaluateOptions& options,
                                       const FeatureNetwork& network,
                                       const std::vector<std::int64_t>& shape) {
  const data::Options reads = network.data();
  if (options.data.empty() && !data::files(reads).empty())
    throw Error(Code::kUsage, "--data is missing: " + options.source + " names no data",
                "give the data that its pictures are compared with");
  auto dataset = open_for_distances(reads, options.data);
  if (dataset->sample_shape() != shape)
    throw Error(Code::kUsage,
                "the data have samples of " + shape_text(dataset->sample_shape()) + " values, " +
                    options.source + " of " + shape_text(shape),
                "give data of the pictures' shape by --data");
  return dataset;
}

evaluation::Features features_of(const data::Images& pictures, std::int64_t count,
                                 FeatureNetwork& network, const EvaluateOptions& options) {
  evaluation::Features features;
  std::vector<std::int64_t> sizes = pictures.sample_shape();
  sizes.insert(sizes.begin(), 0);
  const std::int64_t values = pictures.sample_values();
  for (std::int64_t done = 0; done < count; done += kComparedAtOnce) {
    if (options.progress) options.progress(done, count);
    sizes.front() = std::min(kComparedAtOnce, count - done);
    std::vector<float> block(static_cast<std::size_t>(sizes.front() * values));
    for (std::int64_t i = 0; i < sizes.front(); ++i)
      pictures.read(Sample(done + i), block.data() + i * values);
    network.append(ops::from_host(block, sizes), features);
  }
  return features;
}

}  // namespace

bool names_pictures(const std::string& source) {
  return source.ends_with(".npz") || source.ends_with(".npy") || kind_of(source) == FileKind::kPack;
}

Evaluation evaluate_pictures(const EvaluateOptions& options) {
  require_features(options.features);
  if (!std::filesystem::exists(options.source))
    throw Error(Code::kUsage, "there is no " + options.source,
                "give a file of pictures, as `lockstep sample --out NAME.npz` writes it");
  const data::PictureFile file = data::read_pictures(options.source);
  const auto& shape = file.images->sample_shape();
  const auto network = open_features(real_file_system(), options.features, shape);
  const FeaturesOf of = network->of();
  require_pinned(options.features, of, options.features_hash);
  require_same_kind(options, file.images->shape(), *network);
  const std::int64_t count = count_of(options, *file.images);
  require_enough(count, of,
                 options.samples ? "--samples" : "all samples of " + options.source + ":");
  const auto dataset = data_of(options, *network, shape);
  require_at_most(count, *dataset);
  const evaluation::Features real = features_of_data(*dataset, options.seed, count, *network),
                             made = features_of(*file.images, count, *network, options);
  require_finite(made, options.source);
  return {.pictures = file.sha256,
          .data = dataset->hash(),
          .samples = count,
          .seed = options.seed,
          .portable = of.step.has_value(),
          .distances = distances_between(of, real, made)};
}

}  // namespace lockstep::train

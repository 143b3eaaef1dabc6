// Samples as a PNG with its provenance.
#include "lockstep/train/picture.h"

#include <algorithm>

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/ops/device.h"
#include "lockstep/recipe/canonical.h"
#include "lockstep/train/sample.h"
#include "lockstep/train/sample_archive.h"

namespace lockstep::train {
namespace {

data::Picture picture_of(const Tensor& samples, data::SampleKind kind, data::GridLayout layout) {
  if (kind == data::SampleKind::kPoints) {
    LOCKSTEP_ASSERT(samples.dim() == 2 && samples.size(1) == 2, "points of the plane");
    return scatter(samples.size(0), ops::HostView(samples).floats().data());
  }
  return data::grid(samples.size(0), samples.size(1), samples.size(2), samples.size(3),
                    pixels_of(samples, kind).data(), layout);
}

Bytes archive_of(const Training& training, const Tensor& samples,
                 const data::Provenance& provenance) {
  Bytes bytes;
  const std::int64_t count = samples.size(0);
  SampleArchive archive(
      [&](ByteView piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); }, training,
      count);
  archive.append(samples);
  archive.finish(objective::labels_of({.first = 0, .count = count}, training.recipe.data.classes),
                 provenance);
  return bytes;
}

}  // namespace

bool make_pictures(const recipe::Recipe& recipe, const std::vector<std::int64_t>& sample_shape) {
  const data::SampleKind kind = data::samples_of(recipe.data);
  if (kind == data::SampleKind::kFields)
    return sample_shape.size() == 3 && (sample_shape[2] == 1 || sample_shape[2] == 3);
  return kind == data::SampleKind::kPictures;
}

std::vector<std::uint8_t> pixels_of(const Tensor& samples, data::SampleKind kind) {
  std::vector<float> values = ops::HostView(samples).copy();
  if (kind == data::SampleKind::kFields)
    for (float& value : values) value *= 1 / kFieldRange;
  std::vector<std::uint8_t> bytes(values.size());
  ops::device().host().to_bytes(std::ssize(values), values.data(), bytes.data());
  return bytes;
}

data::GridLayout grid_layout(const recipe::Recipe& recipe, std::int64_t columns) {
  return {.columns = columns, .rows = std::max<std::int64_t>(1, recipe.data.classes)};
}

void require_pictures_fit(const recipe::Recipe& recipe,
                          const std::vector<std::int64_t>& sample_shape) {
  const auto& [every, count, columns] = recipe.samples;
  if (!recipe::makes_pictures(recipe) || !make_pictures(recipe, sample_shape)) return;
  if (data::grid_fits(count, sample_shape[0], sample_shape[1], sample_shape[2],
                      grid_layout(recipe, columns)))
    return;
  throw Error(Code::kUsage,
              "[samples]: a grid of " + counted(count, "sample") + " in " +
                  counted(columns, "column") + (recipe.data.classes > 0 ? ", a row a class," : "") +
                  " is too large for one picture",
              "use other columns, or a smaller count");
}

data::Picture scatter(std::int64_t n, const float* points) {
  data::Picture picture{.width = kScatterSide, .height = kScatterSide, .channels = 1, .pixels = {}};
  picture.pixels.resize(kScatterSide * kScatterSide);
  const auto pixel = [](float value) -> std::int64_t {
    const float unit = (value + kScatterRange) / (2 * kScatterRange);
    return unit >= 0 && unit < 1 ? static_cast<std::int64_t>(unit * kScatterSide) : -1;
  };
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t x = pixel(points[2 * i]), y = pixel(-points[2 * i + 1]);
    if (x >= 0 && y >= 0) picture.pixels[static_cast<std::size_t>(y * kScatterSide + x)] = 255;
  }
  return picture;
}

data::Provenance provenance(const hash::Digest& recipe, Step step, const hash::Digest& state_root,
                            std::int64_t first, std::int64_t count) {
  return {{"Software", "lockstep"},
          {"recipe", recipe.hex()},
          {"step", std::to_string(step.value)},
          {"state", state_root.hex()},
          {"samples", std::to_string(first) + " to " + std::to_string(first + count - 1)}};
}

data::Provenance provenance(const Training& training, const hash::Digest& state_root,
                            std::int64_t first, std::int64_t count) {
  return provenance(recipe::id(training.recipe), training.state.step, state_root, first, count);
}

SampleForms sample_forms(const Training& training) {
  const bool points = data::samples_of(training.recipe.data) == data::SampleKind::kPoints;
  return {.png = points || make_pictures(training.recipe, training.sample_shape),
          .npz = data::arrays(training.recipe.data)};
}

SampleFiles sample_files(Training& training, const hash::Digest& state_root,
                         const objective::BeforePass& before) {
  const auto& [every, count, columns] = training.recipe.samples;
  const Tensor samples = draw_samples(training, {.first = 0, .count = count}, before);
  const data::Provenance origin = provenance(training, state_root, 0, count);
  const data::SampleKind kind = data::samples_of(training.recipe.data);
  const SampleForms forms = sample_forms(training);
  SampleFiles files;
  if (forms.png)
    files.png =
        data::write_png(picture_of(samples, kind, grid_layout(training.recipe, columns)), origin);
  if (forms.npz) files.npz = archive_of(training, samples, origin);
  return files;
}

}  // namespace lockstep::train

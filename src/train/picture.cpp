// Samples as a PNG with its provenance.
#include "lockstep/train/picture.h"

#include <algorithm>

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "lockstep/recipe/canonical.h"
#include "lockstep/train/sample.h"

namespace lockstep::train {
namespace {

data::Picture picture_of(const Tensor& samples, data::GridLayout layout) {
  const ops::HostView held(samples);
  const float* const values = held.floats().data();
  if (samples.dim() == 4)
    return data::grid(samples.size(0), samples.size(1), samples.size(2), samples.size(3), values,
                      layout);
  LOCKSTEP_ASSERT(samples.dim() == 2 && samples.size(1) == 2, "samples are images or points");
  return scatter(samples.size(0), values);
}

}  // namespace

data::GridLayout grid_layout(const recipe::Recipe& recipe, std::int64_t columns) {
  return {.columns = columns, .rows = std::max<std::int64_t>(1, recipe.data.classes)};
}

void require_pictures_fit(const recipe::Recipe& recipe,
                          const std::vector<std::int64_t>& sample_shape) {
  const auto& [every, count, columns] = recipe.samples;
  if (!recipe::makes_pictures(recipe) || sample_shape.size() != 3) return;
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

Bytes picture(Training& training, const hash::Digest& state_root, std::int64_t first,
              std::int64_t count, std::int64_t columns) {
  return data::write_png(picture_of(draw_samples(training, {.first = first, .count = count}),
                                    grid_layout(training.recipe, columns)),
                         provenance(training, state_root, first, count));
}

}  // namespace lockstep::train

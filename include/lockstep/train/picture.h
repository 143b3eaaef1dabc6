// What a picture of samples is made of.
#pragma once

#include "lockstep/data/grid.h"
#include "lockstep/data/png.h"
#include "lockstep/train/training.h"

namespace lockstep::train {

// Where the samples [first, first+count) come from: recipe id, step, root of the state.
data::Provenance provenance(const hash::Digest& recipe, Step step, const hash::Digest& state_root,
                            std::int64_t first, std::int64_t count);
data::Provenance provenance(const Training& training, const hash::Digest& state_root,
                            std::int64_t first, std::int64_t count);

// Of samples whose classes follow their numbers a row is a class; `columns` of them.
data::GridLayout grid_layout(const recipe::Recipe& recipe, std::int64_t columns);

// What stands for one unit of a field's scale in a picture: values from -3 to 3 become black to
// white, because fields are thought to have mean 0 and deviation 1; what is beyond is clipped.
inline constexpr float kFieldRange = 3;

// Do samples of this recipe and shape make a picture each: are they pictures, or fields of 1 or 3
// channels?
bool make_pictures(const recipe::Recipe& recipe, const std::vector<std::int64_t>& sample_shape);
// The bytes of such samples: to_bytes of a picture's values, of a field's times float(1 / 3).
std::vector<std::uint8_t> pixels_of(const Tensor& samples, data::SampleKind kind);

// Error(kUsage) if the pictures that a run of this recipe makes are too large for a file.
void require_pictures_fit(const recipe::Recipe& recipe,
                          const std::vector<std::int64_t>& sample_shape);

inline constexpr std::int64_t kScatterSide = 256;  // pixels
inline constexpr float kScatterRange = 1.5F;       // points outside [-1.5, 1.5]^2 are left out

// 2-D points [n][2], a white pixel each on black.
data::Picture scatter(std::int64_t n, const float* points);

}  // namespace lockstep::train

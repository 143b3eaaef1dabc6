#include "lockstep/core/finite.h"
#include "lockstep/numerics/host_math.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/record.h"
#include "lockstep/optim/optimizer.h"

namespace lockstep::optim {

at::Tensor tile_squares(const std::vector<at::Tensor>& gradients) {
  constexpr std::int64_t kTile = numerics::kTileFloats;
  const auto tiles = [](const at::Tensor& g) { return (g.numel() + kTile - 1) / kTile; };
  std::int64_t all = 0;
  for (const at::Tensor& g : gradients) all += tiles(g);
  at::Tensor squares = ops::empty({all});
  std::vector<std::span<const float>> list;
  for (const at::Tensor& g : gradients)
    list.emplace_back(ops::read(g), static_cast<std::size_t>(g.numel()));
  ops::device().tile_squares(list, ops::write(squares));
  return squares;
}

namespace {

// Where their values lie.
std::vector<std::span<float>> writable(const std::vector<at::Tensor>& gradients) {
  std::vector<std::span<float>> list;
  for (at::Tensor g : gradients)
    list.emplace_back(ops::write(g), static_cast<std::size_t>(g.numel()));
  return list;
}

}  // namespace

void clip_by_value(float limit, const std::vector<at::Tensor>& gradients) {
  if (limit != 0.0F) ops::device().clamp_all(-limit, limit, writable(gradients));
}

float norm_of(std::span<const float> squares) {
  const float sum = numerics::tree_fold(
      0, static_cast<std::int64_t>(squares.size()),
      [&](std::int64_t i) { return squares[static_cast<std::size_t>(i)]; },
      [](float a, float b) { return a + b; });
  // The double root of a float, rounded to float, is the correctly rounded float root.
  return static_cast<float>(numerics::host::sqrt(static_cast<double>(sum)));
}

float clip_by_global_norm(float clip, std::span<const float> squares,
                          const std::vector<at::Tensor>& gradients) {
  if (squares.empty()) return 0.0f;
  const float norm = norm_of(squares);

  // A norm that overflowed must not turn finite gradients into silent zeros: left alone, they reach
  // the state, where training stops on what is not finite.
  if (clip > 0.0f && is_finite(norm) && norm > clip)
    ops::device().scale_all(clip / norm, writable(gradients));
  return norm;
}

}  // namespace lockstep::optim

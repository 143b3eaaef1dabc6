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

void clip_by_global_norm(float clip, const at::Tensor& squares,
                         const std::vector<at::Tensor>& gradients) {
  if (clip > 0.0F)
    ops::device().clip_all(clip, squares.numel(), ops::read(squares), writable(gradients));
}

}  // namespace lockstep::optim

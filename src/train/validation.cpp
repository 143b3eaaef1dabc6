#include "train/validation.h"

#include <algorithm>

#include "lockstep/comm/gather.h"
#include "lockstep/comm/own_time.h"
#include "lockstep/core/error.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/where.h"

namespace lockstep::train {
namespace {

// No more memory than a lane's pass in training. Never affects bits.
constexpr std::int64_t kMostAtOnce = 16;

std::vector<float> losses_of(Training& training, const Feed& held_out, std::int64_t first,
                             std::int64_t end) {
  const std::int64_t at_once =
      std::clamp<std::int64_t>(training.plan.samples_per_lane(), 1, kMostAtOnce);
  std::vector<float> losses;
  while (first < end) {
    const std::int64_t count = std::min(at_once, end - first);
    const ops::HostView piece(held_out_losses(training, held_out(Draw(first), count)));
    losses.insert(losses.end(), piece.floats().begin(), piece.floats().end());
    first += count;
  }
  return losses;
}

}  // namespace

float validation_loss(Training& training, comm::Group& group, const Feed& held_out) {
  const ops::Scope here("validation");
  const std::int64_t total = training.recipe.data.holdout, world = group.size();
  const auto begin = [&](std::int64_t rank) { return rank * total / world; };
  std::vector<std::size_t> sizes;
  for (std::int64_t rank = 0; rank < world; ++rank)
    sizes.push_back(static_cast<std::size_t>(begin(rank + 1) - begin(rank)));
  const std::int64_t me = group.rank().value;
  std::vector<float> mine;
  comm::in_own_time(group, [&] { mine = losses_of(training, held_out, begin(me), begin(me + 1)); });
  const auto by_rank = comm::gather(group, mine, sizes);
  std::vector<const float*> rows;
  for (const std::vector<float>& losses : by_rank)
    for (const float& loss : losses) rows.push_back(&loss);
  LOCKSTEP_ASSERT(std::ssize(rows) == total, std::to_string(rows.size()));
  float sum = 0;
  ops::device().host().tree_sum(rows.data(), total, 1, &sum);
  return sum * (1.0F / static_cast<float>(total));
}

}  // namespace lockstep::train

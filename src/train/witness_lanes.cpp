#include "lockstep/train/witness_lanes.h"

#include "lockstep/numerics/philox.h"
#include "lockstep/numerics/stream.h"

namespace lockstep::train {
namespace {

numerics::Stream stream_of(const recipe::Recipe& recipe) {
  return numerics::stream(static_cast<std::uint64_t>(recipe.run.seed), "evidence/witness");
}

std::uint64_t position_of(const recipe::Recipe& recipe, Step before, Lane lane) {
  return static_cast<std::uint64_t>(before.value * recipe.batch.lanes + lane.value);
}

}  // namespace

std::vector<Lane> drawn_lanes(const recipe::Recipe& recipe, Step before) {
  const numerics::Stream stream = stream_of(recipe);
  const auto rate = static_cast<float>(recipe.evidence.witness_rate);
  std::vector<Lane> drawn;
  for (Lane lane; lane.value < recipe.batch.lanes; ++lane) {
    const float uniform = numerics::draw_uniform(stream, position_of(recipe, before, lane));
    if (uniform < rate) drawn.push_back(lane);
  }
  return drawn;
}

std::vector<Witnessed> witnessed_lanes(const Training& training) {
  const lane::Partition& partition = training.plan.partition();
  const numerics::Stream stream = stream_of(training.recipe);
  const auto others = static_cast<std::uint32_t>(partition.world() - 1);
  std::vector<Witnessed> witnessed;
  for (const Lane lane : drawn_lanes(training.recipe, training.state.step)) {
    const std::uint64_t position = position_of(training.recipe, training.state.step, lane);
    const Rank owner = partition.owner(lane);
    const std::int64_t shift =
        others == 0 ? 0 : 1 + numerics::draw_below(stream, position, 1, others);
    witnessed.push_back({lane, owner, Rank((owner.value + shift) % partition.world())});
  }
  return witnessed;
}

}  // namespace lockstep::train

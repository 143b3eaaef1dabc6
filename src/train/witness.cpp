#include "train/witness.h"

#include <algorithm>

#include "lockstep/comm/gather.h"
#include "lockstep/core/error.h"
#include "lockstep/data/stream.h"

namespace lockstep::train {
namespace {

using lane::LaneEvidence;

LaneEvidence computed_again(const PhaseAgain& again, Lane lane) {
  const lane::Plan& plan = again.training.plan;
  lane::Context shadow = again.context.shadow(lane);
  const objective::Batch batch =
      again.feed(Draw(again.training.state.samples + lane.value * plan.samples_per_lane()),
                 plan.samples_per_lane());
  const Tensor loss =
      again.training.objective->loss(again.phase, shadow, again.training.networks, batch);
  return lane::backward_of_shadow(shadow, loss, again.seed);
}

const LaneEvidence& evidence_of(const std::vector<LaneEvidence>& of_lanes, Lane lane) {
  return *std::ranges::find_if(of_lanes, [&](const auto& one) { return one.lane == lane; });
}

// Owner and witness differ. All ranks compute the lane once more, then say the same.
[[noreturn]] void judge(const PhaseAgain& again, const Watch& watch, const LaneEvidence* mine,
                        const hash::Digest& of_owner, const hash::Digest& of_witness) {
  comm::Group& group = again.context.group();
  const LaneEvidence once_more = computed_again(again, watch.lane);
  std::vector<hash::Digest> votes = {of_owner, of_witness};
  for (const auto& vote : comm::gather(group, std::vector{once_more.digest()}))
    votes.push_back(vote[0]);
  const auto share = [&](const hash::Digest& value) { return std::ranges::count(votes, value); };
  const auto most = static_cast<std::ptrdiff_t>(votes.size() / 2);
  std::string verdict = "it cannot be told which of the two computes wrongly";
  for (const auto& [value, other] :
       {std::pair(of_owner, watch.witness), std::pair(of_witness, watch.owner)}) {
    if (share(value) > most)
      verdict = "rank " + std::to_string(other.value) +
                " is the odd one: " + std::to_string(share(value)) + " of " +
                std::to_string(votes.size()) + " computations agree without it";
  }

  const auto leaves = comm::gather(group, mine ? mine->leaves() : once_more.leaves());
  const auto& a = leaves[static_cast<std::size_t>(watch.owner.value)];
  const auto& b = leaves[static_cast<std::size_t>(watch.witness.value)];
  const auto at =
      static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
  const std::string place =
      at < a.size() ? lane::place_of(once_more, at) : std::string("not the same twice");
  throw Error(Code::kDiffer,
              "lane " + std::to_string(watch.lane.value) + ", phase " +
                  again.training.objective->phases()[static_cast<std::size_t>(again.phase)].name +
                  ", " + place + ": rank " + std::to_string(watch.owner.value) +
                  ", its owner, and rank " + std::to_string(watch.witness.value) +
                  ", its witness, computed different bits; " + verdict,
              "take that rank's machine out and resume from the last checkpoint");
}

}  // namespace

std::vector<Watch> watched_lanes(const Training& training) {
  const lane::Plan& plan = training.plan;
  const auto seed = static_cast<std::uint64_t>(training.recipe.run.seed);
  const numerics::Stream stream = data::stream(seed, "evidence/witness");
  const auto rate = static_cast<float>(training.recipe.evidence.witness_rate);
  std::vector<Watch> watched;
  for (Lane lane; lane.value < plan.lanes(); ++lane) {
    const auto position =
        static_cast<std::uint64_t>(training.state.step.value * plan.lanes() + lane.value);
    float uniform = 0;
    numerics::fill_uniform(stream, position, 1, &uniform);
    if (!(uniform < rate)) continue;
    const Rank owner = plan.owner(lane);
    const auto others = static_cast<std::uint32_t>(plan.world() - 1);
    const std::int64_t shift =
        others == 0 ? 0 : 1 + numerics::draw_below(stream, position, 1, others);
    watched.push_back({lane, owner, Rank((owner.value + shift) % plan.world())});
  }
  return watched;
}

lane::Plan isolating(const lane::Plan& plan, const std::vector<Watch>& watched) {
  std::vector<Lane> lanes;
  for (const Watch& watch : watched) lanes.push_back(watch.lane);
  return plan.isolating(std::move(lanes));
}

void witness(const PhaseAgain& again, const std::vector<Watch>& watched,
             const lane::PhaseGradients& whole) {
  const bool finite = whole.loss_sum - whole.loss_sum == 0.0F;
  if (watched.empty() || !finite) return;
  comm::Group& group = again.context.group();
  // Two claims a lane, the owner's and the witness's; a rank fills in its own.
  std::vector<hash::Digest> claims(2 * watched.size());
  std::vector<LaneEvidence> shadows(watched.size());
  for (std::size_t i = 0; i < watched.size(); ++i) {
    if (watched[i].owner == group.rank())
      claims[2 * i] = evidence_of(whole.of_lanes, watched[i].lane).digest();
    if (watched[i].witness == group.rank()) {
      shadows[i] = computed_again(again, watched[i].lane);
      claims[2 * i + 1] = shadows[i].digest();
    }
  }
  const auto all = comm::gather(group, claims);
  for (std::size_t i = 0; i < watched.size(); ++i) {
    const Watch& watch = watched[i];
    const hash::Digest& of_owner = all[static_cast<std::size_t>(watch.owner.value)][2 * i];
    const hash::Digest& of_witness = all[static_cast<std::size_t>(watch.witness.value)][2 * i + 1];
    if (of_owner == of_witness) continue;
    const LaneEvidence* mine = nullptr;
    if (watch.witness == group.rank()) mine = &shadows[i];
    if (watch.owner == group.rank()) mine = &evidence_of(whole.of_lanes, watch.lane);
    judge(again, watch, mine, of_owner, of_witness);
  }
}

}  // namespace lockstep::train

#include "train/witness.h"

#include <algorithm>

#include "lockstep/comm/gather.h"
#include "lockstep/core/error.h"
#include "lockstep/core/finite.h"

namespace lockstep::train {
namespace {

using lane::LaneEvidence;

LaneEvidence recomputed(const PhaseInputs& inputs, Lane lane) {
  const lane::Plan& plan = inputs.training.plan;
  lane::Context shadow = inputs.context.shadow(lane);
  const objective::Batch batch =
      inputs.feed(Draw(inputs.training.state.samples + lane.value * plan.samples_per_lane()),
                  plan.samples_per_lane());
  const objective::Loss loss = objective::loss_at_once(inputs.phase.phase, shadow, batch);
  return lane::backward_of_shadow(shadow, loss.sums, inputs.seed);
}

const LaneEvidence& evidence_of(const std::vector<LaneEvidence>& of_lanes, Lane lane) {
  return *std::ranges::find_if(of_lanes,
                               [&](const auto& evidence) { return evidence.lane == lane; });
}

// Owner and witness differ. All ranks compute the lane once more and throw the same error.
[[noreturn]] void judge(const PhaseInputs& inputs, const Witnessed& one, const LaneEvidence* mine,
                        const hash::Digest& of_owner, const hash::Digest& of_witness) {
  comm::Group& group = inputs.context.group();
  const LaneEvidence once_more = recomputed(inputs, one.lane);
  std::vector<hash::Digest> votes = {of_owner, of_witness};
  for (const auto& vote : comm::gather(group, std::vector{once_more.digest()}))
    votes.push_back(vote[0]);
  const auto share = [&](const hash::Digest& value) { return std::ranges::count(votes, value); };
  const auto most = static_cast<std::ptrdiff_t>(votes.size() / 2);
  std::string verdict = "nobody can tell which of the two computes wrongly";
  for (const auto& [value, other] :
       {std::pair(of_owner, one.witness), std::pair(of_witness, one.owner)}) {
    if (share(value) > most)
      verdict = "rank " + std::to_string(other.value) +
                " is the odd one: " + std::to_string(share(value)) + " of " +
                std::to_string(votes.size()) + " computations agree without it";
  }

  const auto leaves = comm::gather(group, mine ? mine->leaves() : once_more.leaves());
  const auto& a = leaves[static_cast<std::size_t>(one.owner.value)];
  const auto& b = leaves[static_cast<std::size_t>(one.witness.value)];
  const auto at =
      static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
  const std::string place =
      at < a.size() ? lane::place_of(once_more, at) : std::string("not the same twice");
  throw Error(
      Code::kDiffer,
      "lane " + std::to_string(one.lane.value) + ", phase " + std::string(inputs.phase.names.name) +
          ", " + place + ": rank " + std::to_string(one.owner.value) + ", its owner, and rank " +
          std::to_string(one.witness.value) + ", its witness, computed different bits; " + verdict,
      "take that rank's machine out and resume from the last checkpoint");
}

}  // namespace

lane::Plan isolating(const lane::Plan& plan, const std::vector<Witnessed>& witnessed) {
  std::vector<Lane> lanes;
  for (const Witnessed& one : witnessed) lanes.push_back(one.lane);
  return plan.isolating(std::move(lanes));
}

void witness(const PhaseInputs& inputs, const std::vector<Witnessed>& witnessed,
             const lane::PhaseGradients& whole) {
  if (witnessed.empty() || !is_finite(whole.loss_sum())) return;
  comm::Group& group = inputs.context.group();
  // Two claims a lane, the owner's and the witness's; a rank fills in its own.
  std::vector<hash::Digest> claims(2 * witnessed.size());
  std::vector<LaneEvidence> shadows(witnessed.size());
  for (std::size_t i = 0; i < witnessed.size(); ++i) {
    if (witnessed[i].owner == group.rank())
      claims[2 * i] = evidence_of(whole.of_lanes, witnessed[i].lane).digest();
    if (witnessed[i].witness == group.rank()) {
      shadows[i] = recomputed(inputs, witnessed[i].lane);
      claims[2 * i + 1] = shadows[i].digest();
    }
  }
  const auto all = comm::gather(group, claims);
  for (std::size_t i = 0; i < witnessed.size(); ++i) {
    const Witnessed& one = witnessed[i];
    const hash::Digest& of_owner = all[static_cast<std::size_t>(one.owner.value)][2 * i];
    const hash::Digest& of_witness = all[static_cast<std::size_t>(one.witness.value)][2 * i + 1];
    if (of_owner == of_witness) continue;
    const LaneEvidence* mine = nullptr;
    if (one.witness == group.rank()) mine = &shadows[i];
    if (one.owner == group.rank()) mine = &evidence_of(whole.of_lanes, one.lane);
    judge(inputs, one, mine, of_owner, of_witness);
  }
}

}  // namespace lockstep::train

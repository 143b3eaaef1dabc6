#include "train/phase.h"

#include <algorithm>

#include "lockstep/ops/view.h"

namespace lockstep::train {
namespace {

class PhaseRun {
 public:
  PhaseRun(const Training& training, lane::Context& all, int number, const objective::Batch& batch)
      : training_(training),
        objective_(*training.objective),
        all_(all),
        number_(number),
        phase_(objective_.phases()[static_cast<std::size_t>(number)]),
        batch_(batch) {}

  PhaseResult operator()(float seed, const Trained& trained) {
    const std::vector<lane::Portion> portions = cut();
    lane::Backward backward(all_, portions, seed, trained.parameters, trained.divisions);
    if (portions.size() == 1) {
      pass(backward, all_, objective_.given(number_, all_, training_.networks, batch_), false);
    } else {
      in_portions(backward, portions);
    }
    return {backward.finish(), objective::counted(judgements_)};
  }

 private:
  // All lanes at once where the loss is of a network that mixes samples.
  std::vector<lane::Portion> cut() const {
    const bool whole = std::ranges::any_of(training_.networks, [&](const objective::Role& role) {
      return role.name != phase_.maker && role.network->mixes_samples();
    });
    return training_.plan.portions(all_.group().rank(), whole ? 0 : training_.lanes_at_once);
  }

  void in_portions(lane::Backward& backward, const std::vector<lane::Portion>& portions) {
    const bool made_at_once =
        !phase_.maker.empty() &&
        objective::network_of(training_.networks, phase_.maker).mixes_samples();
    Tensor made, gradient;
    if (made_at_once) {
      made = objective_.given(number_, all_, training_.networks, batch_);
      if (made.requires_grad()) gradient = ops::empty(made.sizes());
    }
    for (const lane::Portion& portion : portions) {
      lane::Context context(all_.plan(), all_.group(), portion);
      if (!made_at_once) {
        pass(backward, context,
             objective_.given(number_, context, training_.networks, batch_of(portion)), false);
        continue;
      }
      // Cut off here, and gone on from with all lanes' gradients.
      Tensor given = part(ops::bare(made), portion);
      given.set_requires_grad(gradient.defined());
      const Tensor of_given = pass(backward, context, given, gradient.defined());
      if (gradient.defined()) part(gradient, portion).copy_(of_given);
    }
    if (gradient.defined()) backward.given(made, gradient);
  }

  Tensor pass(lane::Backward& backward, lane::Context& context, const Tensor& given,
              bool with_gradient) {
    const objective::Loss loss =
        objective_.loss(number_, context, training_.networks, batch_of(context.portion()), given);
    judgements_.insert(judgements_.end(), loss.judgements.begin(), loss.judgements.end());
    return backward.portion(context, loss.sums, with_gradient ? given : Tensor());
  }

  // Of something that the block has a row a sample of, the portion's rows.
  Tensor part(const Tensor& block, const lane::Portion& portion) const {
    return block.narrow(0, skipped(portion), portion.count * all_.plan().samples_per_lane());
  }
  objective::Batch batch_of(const lane::Portion& portion) const {
    return {part(batch_.values, portion), batch_.first + skipped(portion)};
  }
  std::int64_t skipped(const lane::Portion& portion) const {
    return (portion.first - all_.portion().first) * all_.plan().samples_per_lane();
  }

  const Training& training_;
  const objective::Objective& objective_;
  lane::Context& all_;
  const int number_;
  const objective::Phase phase_;
  const objective::Batch& batch_;
  std::vector<objective::Judgements> judgements_;
};

}  // namespace

PhaseResult compute_phase(const Training& training, lane::Context& all, int phase,
                          const objective::Batch& batch, float seed, const Trained& trained) {
  return PhaseRun(training, all, phase, batch)(seed, trained);
}

}  // namespace lockstep::train

#include "train/phase.h"

#include <algorithm>

#include "lockstep/ops/view.h"

namespace lockstep::train {
namespace {

class PhaseRun {
 public:
  PhaseRun(const Training& training, lane::Context& all, const PhaseAt& phase,
           const objective::Batch& batch)
      : training_(training), all_(all), names_(phase.names), phase_(phase.phase), batch_(batch) {}

  PhaseResult operator()(float seed, const Trained& trained) {
    const std::vector<lane::Portion> portions = cut();
    lane::Backward backward(all_, portions, seed, trained.parameters, trained.divisions);
    if (portions.size() == 1) {
      pass(backward, all_, phase_.given(all_, batch_), false);
    } else {
      in_portions(backward, portions);
    }
    PhaseResult result{backward.finish(), {}};
    for (const auto& counts : counts_) objective::add(result.counts, counts());
    return result;
  }

 private:
  // All lanes at once where the loss is of a network that mixes samples.
  std::vector<lane::Portion> cut() const {
    const bool whole = std::ranges::any_of(training_.trained, [&](const Trained& one) {
      return one.role != names_.maker && one.network->mixes_samples();
    });
    return training_.plan.portions(all_.group().rank(), whole ? 0 : training_.lanes_at_once);
  }

  void in_portions(lane::Backward& backward, const std::vector<lane::Portion>& portions) {
    const bool made_at_once = std::ranges::any_of(training_.trained, [&](const Trained& one) {
      return one.role == names_.maker && one.network->mixes_samples();
    });
    Tensor made, gradient;
    if (made_at_once) {
      made = phase_.given(all_, batch_);
      if (made.requires_grad()) gradient = ops::empty(made.sizes());
    }
    for (const lane::Portion& portion : portions) {
      lane::Context context(all_.plan(), all_.group(), portion);
      if (!made_at_once) {
        pass(backward, context, phase_.given(context, batch_of(portion)), false);
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
    const objective::Loss loss = phase_.loss(context, batch_of(context.portion()), given);
    if (loss.counts) counts_.push_back(loss.counts);
    return backward.portion(context, loss.sums, with_gradient ? given : Tensor());
  }

  // Of something that the block has a row a sample of, the portion's rows.
  Tensor part(const Tensor& block, const lane::Portion& portion) const {
    return block.narrow(0, skipped(portion), portion.count * all_.plan().samples_per_lane());
  }
  objective::Batch batch_of(const lane::Portion& portion) const {
    return {part(batch_.values, portion), batch_.first + skipped(portion),
            batch_.condition.defined() ? part(batch_.condition, portion) : Tensor()};
  }
  std::int64_t skipped(const lane::Portion& portion) const {
    return (portion.first - all_.portion().first) * all_.plan().samples_per_lane();
  }

  const Training& training_;
  lane::Context& all_;
  const objective::PhaseNames names_;
  const objective::Phase& phase_;
  const objective::Batch& batch_;
  std::vector<std::function<objective::Counts()>> counts_;
};

}  // namespace

std::vector<PhaseAt> phases_of(const Training& training) {
  std::vector<PhaseAt> phases;
  const auto names = objective::phases(training.recipe.objective);
  const auto trained = recipe::phases(training.recipe);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::ranges::find(trained, names[i].name, &objective::PhaseNames::name) != trained.end())
      phases.push_back({names[i], *training.objective->phases()[i]});
  }
  return phases;
}

PhaseResult compute_phase(const Training& training, lane::Context& all, const PhaseAt& phase,
                          const objective::Batch& batch, float seed, const Trained& trained) {
  return PhaseRun(training, all, phase, batch)(seed, trained);
}

}  // namespace lockstep::train

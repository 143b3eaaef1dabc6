#include "train/phase.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "lockstep/ops/beside.h"
#include "lockstep/ops/view.h"

namespace lockstep::train {
namespace {

class PhaseRun {
 public:
  PhaseRun(const Training& training, lane::Context& all, const PhaseAt& phase,
           const objective::Batch& batch, Activations* activations)
      : training_(training),
        all_(all),
        names_(phase.names),
        phase_(phase.phase),
        batch_(batch),
        activations_(activations) {}

  PhaseResult operator()(float seed, const Trained& trained) {
    const Streams streams = cut();
    std::vector<lane::Portion> portions;
    for (const auto& stream : streams)
      portions.insert(portions.end(), stream.begin(), stream.end());
    losses_.resize(streams.size());
    lane::Backward backward(all_, portions, seed, trained.parameters, trained.divisions);
    if (portions.size() == 1) {
      pass(backward, all_, generated_in(all_), false, losses_.front());
    } else {
      in_portions(backward, streams);
    }
    PhaseResult result{backward.finish(), {}};
    for (auto& of_stream : losses_) std::ranges::move(of_stream, std::back_inserter(result.losses));
    return result;
  }

 private:
  using Streams = std::vector<std::vector<lane::Portion>>;
  using Losses = std::vector<objective::Loss>;

  // All lanes at once where the loss is of a network that mixes samples. Else the device's threads
  // take lanes of their own, if there is enough to do: they need not wait for each other after
  // every kernel.
  Streams cut() const {
    const bool whole = std::ranges::any_of(training_.trained, [&](const Trained& one) {
      return one.role != names_.generator && one.network->mixes_samples();
    });
    const Rank rank = all_.group().rank();
    if (whole) return {training_.plan.portions(rank, 0)};
    return training_.plan.streams(rank, training_.step_plan.lanes_at_once, threads_with_work());
  }

  int threads_with_work() const {
    const double flops = flops_of_lane(training_) * static_cast<double>(all_.portion().count);
    const double most = ops::threads_beside();
    return static_cast<int>(std::clamp(flops / training_.flops_of_thread, 1.0, most));
  }

  void in_portions(lane::Backward& backward, const Streams& streams) {
    const bool made_at_once = std::ranges::any_of(training_.trained, [&](const Trained& one) {
      return one.role == names_.generator && one.network->mixes_samples();
    });
    Tensor made, gradient;
    if (made_at_once) {
      made = generated_in(all_);
      if (made.requires_grad()) gradient = ops::empty(made.sizes());
    }
    const auto go_through = [&](const lane::Portion& portion, Losses& losses) {
      lane::Context context(all_.plan(), all_.group(), portion);
      if (!made_at_once) {
        pass(backward, context, generated_in(context), false, losses);
        return;
      }
      // Cut off here, and gone on from with all lanes' gradients.
      Tensor generated = part(ops::bare(made), portion);
      generated.set_requires_grad(gradient.defined());
      const Tensor of_generated = pass(backward, context, generated, gradient.defined(), losses);
      if (gradient.defined()) part(gradient, portion).copy_(of_generated);
    };
    ops::side_by_side(streams.size(), [&](std::size_t i, const ops::Stopped& stopped) {
      for (const lane::Portion& portion : streams[i]) {
        if (stopped()) return;
        go_through(portion, losses_[i]);
      }
    });
    if (gradient.defined()) backward.given(made, gradient);
  }

  // What a forward pass gives, its activations measured where a check of layers wants them.
  template <class Forward>
  auto measured(const lane::Context& context, const Forward& forward) const {
    std::optional<Activations::Scope> looking;
    if (activations_ != nullptr) looking.emplace(*activations_, context.portion());
    return forward();
  }
  Tensor generated_in(lane::Context& context) const {
    const objective::Batch batch = batch_of(context.portion());
    return measured(context, [&] { return phase_.generated(context, batch); });
  }

  Tensor pass(lane::Backward& backward, lane::Context& context, const Tensor& generated,
              bool with_gradient, Losses& losses) const {
    const objective::Batch batch = batch_of(context.portion());
    objective::Loss loss =
        measured(context, [&] { return phase_.loss(context, batch, generated); });
    const Tensor sums = std::exchange(loss.sums, {});  // with its graph
    if (loss.counts) losses.push_back(std::move(loss));
    return backward.portion(context, sums, with_gradient ? generated : Tensor());
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
  Activations* const activations_;
  std::vector<Losses> losses_;  // that count something, by stream
};

}  // namespace

std::vector<PhaseAt> phases_of(const Training& training, Step step) {
  std::vector<PhaseAt> phases;
  const auto names = objective::phases(training.recipe.objective);
  const auto trained = recipe::phases(training.recipe, step);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::ranges::find(trained, names[i].name, &objective::PhaseNames::name) != trained.end())
      phases.push_back({names[i], *training.objective->phases()[i]});
  }
  return phases;
}

PhaseResult compute_phase(const Training& training, lane::Context& all, const PhaseAt& phase,
                          const objective::Batch& batch, float seed, const Trained& trained,
                          Activations* activations) {
  return PhaseRun(training, all, phase, batch, activations)(seed, trained);
}

}  // namespace lockstep::train

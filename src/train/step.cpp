#include "lockstep/train/step.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "lockstep/comm/journal.h"
#include "lockstep/core/error.h"
#include "lockstep/lane/inject.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/guard.h"
#include "lockstep/ops/numerics.h"
#include "lockstep/ops/trace.h"
#include "lockstep/ops/transfer.h"
#include "lockstep/ops/where.h"
#include "lockstep/optim/learning_rate.h"
#include "lockstep/train/interval.h"
#include "lockstep/train/numerics.h"
#include "train/agree.h"
#include "train/captured.h"
#include "train/divided_state.h"
#include "train/phase.h"
#include "train/update.h"
#include "train/validation.h"
#include "train/witness.h"

namespace lockstep::train {
namespace {

Trained& trained_of(Training& training, std::string_view role) {
  for (Trained& one : training.trained) {
    if (one.role == role) return one;
  }
  throw Error(Code::kBug, "no network for role " + std::string(role));
}

// One step's part of a run: which lanes are witnessed, and this rank's samples.
struct Round {
  comm::Group& group;
  const Feed& feed;
  std::vector<Witnessed> witnessed;
  lane::Plan plan;
  Look look;
  CapturedPhases* captured;  // null: this step is taken call by call
  objective::Batch batch;

  Round(const Training& training, comm::Group& group_in, const Feed& feed_in, Look look_in)
      : group(group_in),
        feed(feed_in),
        witnessed(witnessed_lanes(training)),
        plan(isolating(training.plan, witnessed)),
        look(look_in),
        captured(capturable(training) ? training.captured.get() : nullptr),
        batch(feed(Draw(training.state.samples + plan.first_draw(group.rank())),
                   plan.sample_count(group.rank()))) {
    if (captured) batch = captured->in_place(batch);
    if (batch.condition.defined())
      ops::show("samples", {}, {batch.values, batch.condition});
    else
      ops::show("samples", {}, {batch.values});
  }

 private:
  // Whether one step's calls are the next one's.
  bool capturable(const Training& training) const {
    return !recipe::is_native(training.recipe) && witnessed.empty() && look == Look::kNone &&
           !ops::traced();
  }
};

// What the host learns of a phase: on its way while the device goes on.
class Measured {
 public:
  Measured(std::string phase, float inverse_batch, const Tensor& squares, const Tensor& loss_sum,
           std::vector<objective::Loss> losses)
      : phase_(std::move(phase)),
        inverse_batch_(inverse_batch),
        losses_(std::move(losses)),
        on_their_way_(tensors_of(squares, loss_sum, losses_)) {}

  // Waits for it.
  void tell(StepRecord& record) {
    const std::vector<Tensor> here = on_their_way_.tensors();
    const ops::HostView squares(here[0]);
    record.gradient_squares.emplace_back(squares.floats().begin(), squares.floats().end());
    record.gradient_norms.emplace_back(phase_, numerics::norm_of(record.gradient_squares.back()));
    record.entry.losses.emplace_back(phase_, ops::value_of(here[1]) * inverse_batch_);
    auto next = here.begin() + 2;
    for (const objective::Loss& loss : losses_) {
      const auto end = next + std::ssize(loss.seen);
      objective::add(record.counts, loss.counts({next, end}));
      next = end;
    }
  }

 private:
  static std::vector<Tensor> tensors_of(const Tensor& squares, const Tensor& loss_sum,
                                        const std::vector<objective::Loss>& losses) {
    std::vector<Tensor> all = {squares, loss_sum};
    for (const objective::Loss& loss : losses)
      all.insert(all.end(), loss.seen.begin(), loss.seen.end());
    return all;
  }

  std::string phase_;
  float inverse_batch_;
  std::vector<objective::Loss> losses_;
  ops::Download on_their_way_;
};

Measured run_phase(Training& training, const Round& round, const PhaseAt& phase, Updates& update,
                   StepRecord& record) {
  const std::string name(phase.names.name);
  const ops::Scope here("objective/" + name);
  Trained& trained = trained_of(training, phase.names.role);
  lane::Context context(round.plan, round.group);
  const float inverse_batch = 1.0F / static_cast<float>(training.plan.batch());
  std::optional<Activations> activations;
  if (round.look == Look::kActivations)
    activations.emplace(trained.role, round.plan, round.group.rank());
  const auto compute = [&] {
    context = lane::Context(round.plan, round.group);  // again, if it was captured in vain
    for (Trained& one : training.trained)
      one.network->prepare(/*trained=*/one.role == phase.names.role);
    return compute_phase(training, context, phase, round.batch, inverse_batch, trained,
                         activations ? &*activations : nullptr);
  };
  auto [sums, losses] = round.captured ? (*round.captured)(name, round.batch,
                                                           training.step_plan.beside_state, compute)
                                       : compute();
  if (activations)
    std::ranges::move(activations->root_mean_squares(round.group),
                      std::back_inserter(record.activations));
  ops::show("sum over lanes", {}, sums.gradients);
  witness({training, context, phase, inverse_batch, round.feed}, round.witnessed, sums);

  optim::clip_by_value(static_cast<float>(trained.options.clip_value), sums.gradients);
  const Tensor squares = all_squares(round.group, trained, optim::tile_squares(sums.gradients));
  Measured measured(name, inverse_batch, squares, sums.loss, std::move(losses));
  optim::clip_by_global_norm(static_cast<float>(trained.options.clip_norm), squares,
                             sums.gradients);
  ops::show("clip", {}, sums.gradients);
  for ([[maybe_unused]] const Tensor& gradient : sums.gradients)
    LOCKSTEP_STRIKE(kSum, round.group, gradient.mutable_data_ptr<float>(), gradient.numel());
  const std::int64_t steps =
      recipe::updates_before(training.recipe) + training.state.step.value + 1;
  const std::int64_t t = steps / objective::steps_between(training.recipe.objective, phase.names);
  const double lr = optim::learning_rate(trained.options, steps);
  update(trained, t, lr, sums.gradients);
  ops::show(trained.options.kind.word().c_str(), sums.gradients, trained.updated);
  record.learning_rates.emplace_back(name, lr);
  return measured;
}

StepRecord guarded_step(Training& training, comm::Group& group, const Feed& feed,
                        const Feed& held_out, const Evaluate& evaluate, Look look) {
  StepRecord record;
  if (!training.agreed) training.agreed = digest(group, training.state);
  record.entry.before = training.agreed->root;
  const std::vector<PhaseAt> phases = phases_of(training, Step(training.state.step.value + 1));
  Updates update(training, phases, group);
  const Round round(training, group, feed, look);
  std::vector<Measured> measured;
  try {
    for (const PhaseAt& phase : phases)
      measured.push_back(run_phase(training, round, phase, update, record));
  } catch (...) {
    update.require_unchanged_so_far();  // a changed state is the cause of what follows from it
    throw;
  }
  for (const PhaseAt& phase : phases) {
    const Trained& trained = trained_of(training, phase.names.role);
    for (const std::vector<Tensor>& average : trained.averages)
      ops::show("average", trained.parameters, average);
  }
  ++training.state.step;
  training.state.samples += training.plan.batch();

  for ([[maybe_unused]] const state::Named& named : training.state.tensors)
    LOCKSTEP_STRIKE(kState, group, named.tensor.mutable_data_ptr<float>(), named.tensor.numel());
  update.hash_rest();
  update.finish();
  for (Measured& of_phase : measured) of_phase.tell(record);
  const std::vector<bool> finite = update.finite();
  training.agreed = digest(group, training.state, std::move(update).leaves());
  agree(group, training.state, *training.agreed, finite);

  record.entry.step = training.state.step;
  record.entry.samples = training.state.samples;
  record.entry.state = training.agreed->root;
  if (held_out && due(training.state.step, training.recipe.run.validate_every))
    record.entry.validation = validation_loss(training, group, held_out);
  if (evaluate && due(training.state.step, training.recipe.evaluation.every))
    record.entry.evaluation = evaluate(training, group);
  if (due(training.state.step, training.recipe.evidence.commit_every)) {
    if (const auto whole = whole_state(group, training.state))
      record.entry.commit = state::commit(*whole);
    // The commit is of the bytes at hand: they must be those of the update.
    require_unchanged(training, whole_leaves(training.state, training.agreed->leaves));
  }
  return record;
}

}  // namespace

StepRecord step(Training& training, comm::Group& group, const Feed& feed, const Feed& held_out,
                const Evaluate& evaluate, Look look) {
  const std::string number = "step " + std::to_string(training.state.step.value + 1);
  const ops::NumericsScope kernels(numerics_of(training.recipe, training.plan.samples_per_lane()));
  if (comm::Journal* const journal = group.journal())
    journal->step(Step(training.state.step.value + 1));
  return ops::guarded(number, [&] {
    try {
      return guarded_step(training, group, feed, held_out, evaluate, look);
    } catch (const Error& error) {
      if (error.code() == Code::kBug) throw;  // the guard's say it themselves
      throw error.within(number);
    }
  });
}

}  // namespace lockstep::train

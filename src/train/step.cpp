#include "lockstep/train/step.h"

#include "lockstep/core/error.h"
#include "lockstep/core/inject.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/guard.h"
#include "lockstep/ops/numerics.h"
#include "lockstep/ops/record.h"
#include "lockstep/ops/trace.h"
#include "lockstep/ops/where.h"
#include "lockstep/optim/learning_rate.h"
#include "train/agree.h"
#include "train/divided_state.h"
#include "train/phase.h"
#include "train/witness.h"

namespace lockstep::train {
namespace {

// The state must be what the last step left: a bit that changed in between names its tensor.
hash::Digest checked_start(const Training& training, comm::Group& group) {
  if (!training.agreed) return digest(group, training.state).root;
  require_unchanged(training, digest(training.state, *training.agreed));
  return training.agreed->root;
}

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
  objective::Batch batch;

  Round(const Training& training, comm::Group& group_in, const Feed& feed_in)
      : group(group_in),
        feed(feed_in),
        witnessed(witnessed_lanes(training)),
        plan(isolating(training.plan, witnessed)),
        batch(feed(Draw(training.state.samples + plan.first_draw(group.rank())),
                   plan.sample_count(group.rank()))) {
    if (batch.condition.defined())
      ops::show("samples", {}, {batch.values, batch.condition});
    else
      ops::show("samples", {}, {batch.values});
  }
};

void run_phase(Training& training, const Round& round, const PhaseAt& phase,
               SlotHashes& slot_hashes, StepRecord& record) {
  const std::string name(phase.names.name);
  const ops::Scope here("objective/" + name);
  Trained& trained = trained_of(training, phase.names.role);
  for (Trained& one : training.trained)
    one.network->prepare(/*trained=*/one.role == phase.names.role);

  lane::Context context(round.plan, round.group);
  const float inverse_batch = 1.0F / static_cast<float>(training.plan.batch());
  const auto [sums, counts] =
      compute_phase(training, context, phase, round.batch, inverse_batch, trained);
  objective::add(record.counts, counts);
  ops::show("sum over lanes", {}, sums.gradients);
  witness({training, context, phase, inverse_batch, round.feed}, round.witnessed, sums);

  const float norm =
      optim::clip_by_global_norm(static_cast<float>(trained.options.clip_norm),
                                 all_squares(round.group, trained, sums.gradients), sums.gradients);
  ops::show("clip", {}, sums.gradients);
  const std::int64_t t = recipe::updates_before(training.recipe) + training.state.step.value + 1;
  const double lr = optim::learning_rate(trained.options, t);
  trained.optimizer->update(t, lr, trained.updated, sums.gradients);
  ops::show(trained.options.kind.word().c_str(), sums.gradients, trained.updated);
  note_slots(training.state, trained.role, slot_hashes);
  gather_parameters(round.group, trained);

  record.entry.losses.emplace_back(name, sums.loss_sum * inverse_batch);
  record.gradient_norms.emplace_back(name, norm);
  record.learning_rates.emplace_back(name, lr);
}

void update_averages(Training& training) {
  for (Trained& trained : training.trained) {
    if (!trained.average) continue;
    const auto one_minus_decay = static_cast<float>(1.0 - trained.options.ema_decay);
    for (std::size_t i = 0; i < trained.parameters.size(); ++i) {
      ops::device().ema(one_minus_decay, trained.parameters[i].numel(),
                        ops::read(trained.parameters[i]),
                        ops::write(trained.average_parameters[i]));
    }
    ops::show("average", trained.parameters, trained.average_parameters);
  }
}

StepRecord guarded_step(Training& training, comm::Group& group, const Feed& feed) {
  StepRecord record;
  record.entry.before = checked_start(training, group);
  const Round round(training, group, feed);
  SlotHashes slot_hashes;
  for (const PhaseAt& phase : phases_of(training))
    run_phase(training, round, phase, slot_hashes, record);
  update_averages(training);
  ++training.state.step;
  training.state.samples += training.plan.batch();

  for ([[maybe_unused]] const state::Named& named : training.state.tensors)
    LOCKSTEP_STRIKE(kState, group, named.tensor.mutable_data_ptr<float>(), named.tensor.numel());
  training.agreed = digest(group, training.state, slot_hashes);
  agree(group, training.state, *training.agreed);

  record.entry.step = training.state.step;
  record.entry.samples = training.state.samples;
  record.entry.state = training.agreed->root;
  const std::int64_t every = training.recipe.evidence.commit_every;
  if (every > 0 && training.state.step.value % every == 0) {
    if (const auto whole = whole_state(group, training.state))
      record.entry.commit = state::commit(*whole);
  }
  return record;
}

}  // namespace

StepRecord step(Training& training, comm::Group& group, const Feed& feed) {
  const std::string number = "step " + std::to_string(training.state.step.value + 1);
  const ops::NumericsScope kernels({.native = recipe::is_native(training.recipe),
                                    .samples = training.plan.samples_per_lane(),
                                    .integer = recipe::has_integer_products(training.recipe)});
  return ops::guarded(number, [&] {
    try {
      return guarded_step(training, group, feed);
    } catch (const Error& error) {
      if (error.code() == Code::kBug) throw;  // the guard's say it themselves
      throw error.within(number);
    }
  });
}

}  // namespace lockstep::train

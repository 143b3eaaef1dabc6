#include "lockstep/train/training.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/fingerprint/settings.h"
#include "lockstep/ops/guard.h"
#include "lockstep/ops/memory.h"
#include "lockstep/ops/numerics.h"
#include "lockstep/ops/record.h"
#include "lockstep/ops/where.h"
#include "lockstep/train/numerics.h"
#include "train/captured.h"

namespace lockstep::train {
namespace {

std::vector<Tensor> tensors_of(const std::vector<model::NamedTensor>& named) {
  std::vector<Tensor> tensors;
  for (const model::NamedTensor& item : named) tensors.push_back(item.tensor);
  return tensors;
}

void copy_all(const std::vector<Tensor>& from, const std::vector<Tensor>& to) {
  LOCKSTEP_ASSERT(from.size() == to.size());
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < from.size(); ++i) to[i].copy_(from[i]);
}

// Options that do not fit say in which table they stand.
template <class Make>
auto in_table(const std::string& table, Make&& make) {
  try {
    return make();
  } catch (const Error& error) {
    throw error.within("[" + table + "]");
  }
}

// This rank's optimiser keeps and updates its slices of the parameters.
void divide(Trained& trained, const lane::Partition& partition, Rank rank) {
  std::vector<std::int64_t> sizes;
  for (const Tensor& whole : trained.parameters) sizes.push_back(whole.numel());
  trained.divisions = partition.divide(sizes);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Slice& slice = trained.divisions[i].slice(rank);
    trained.updated.push_back(
        ops::bare(trained.parameters[i]).view(-1).narrow(0, slice.first, slice.size()));
  }
}

Trained make_trained(const recipe::NetworkOptions& options, const recipe::Recipe& recipe,
                     const std::vector<std::int64_t>& sample_shape,
                     const lane::Partition& partition, std::optional<Rank> keeps,
                     const MakeNetwork& make) {
  const ops::Scope here(options.role);
  const auto make_network = [&] { return make(options.model, sample_shape, recipe.data.classes); };
  Trained trained{.role = options.role,
                  .network = in_table(options.role, make_network),
                  .parameters = {},
                  .updated = {},
                  .divisions = {},
                  .options = options.optimizer,
                  .optimizer = nullptr,
                  .average = nullptr,
                  .averages = {},
                  .numbers = {}};
  const std::int64_t batch = recipe.batch.batch();
  trained.options.lr = optim::peak(options.optimizer, batch);
  trained.network->initialize(recipe.run.seed, options.role);
  trained.parameters = tensors_of(trained.network->parameters_in_order());
  if (recipe::is_frozen(options)) return trained;
  if (keeps && partition.world() > 1) {
    divide(trained, partition, *keeps);
  } else {
    trained.updated = trained.parameters;
  }
  trained.optimizer = in_table(options.role + ".optimizer", [&] {
    return optim::make_optimizer(options.optimizer, trained.updated);
  });
  if (options.optimizer.ema_decay > 0) {
    trained.average = make_network();
    trained.average->name_layers(options.role);
    trained.averages.push_back(tensors_of(trained.average->parameters_in_order()));
    for (const Tensor& parameter : trained.averages.front()) parameter.set_requires_grad(false);
    for (std::size_t k = 0; k < options.optimizer.more_ema_decays.size(); ++k) {
      auto& more = trained.averages.emplace_back();
      for (const Tensor& parameter : trained.parameters)
        more.push_back(ops::empty(parameter.sizes()));
    }
    for (const auto& average : trained.averages) copy_all(trained.parameters, average);
  }
  return trained;
}

void name_state(Trained& trained, std::optional<Rank> keeps, state::State& state) {
  const auto parameters = trained.network->parameters_in_order();
  const auto add = [&](const std::string& kind, const std::string& path, const Tensor& tensor) {
    state.tensors.push_back({trained.role + "/" + kind + "/" + path, tensor.detach()});
  };
  trained.numbers.parameters = state.tensors.size();
  for (const auto& [path, tensor] : parameters) add("param", path, tensor);
  for (const auto& [path, tensor] : trained.network->buffers_in_order())
    add("buffer", path, tensor);
  if (!trained.optimizer) return;
  trained.numbers.slots = state.tensors.size();
  const auto slots = trained.optimizer->slot_names();
  for (std::size_t s = 0; s < slots.size(); ++s) {
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      add(slots[s], parameters[p].path, trained.optimizer->slots()[s][p]);
      if (!trained.divisions.empty())
        state.tensors.back().part = {parameters[p].tensor.sizes().vec(), trained.divisions[p],
                                     *keeps};
    }
  }
  trained.numbers.averages = state.tensors.size();
  for (std::size_t k = 0; k < trained.averages.size(); ++k)
    for (std::size_t p = 0; p < parameters.size(); ++p)
      add(average_kind(k), parameters[p].path, trained.averages[k][p]);
}

// To the network that `of` says of each role.
template <class Of>
std::unique_ptr<objective::Objective> bound(const Training& training,
                                            const objective::Options& options, std::int64_t seed,
                                            const Of& of) {
  objective::Setting setting{.seed = seed,
                             .sample_shape = training.sample_shape,
                             .classes = training.recipe.data.classes,
                             .bounded = !data::arrays(training.recipe.data),
                             .networks = {}};
  for (const Trained& one : training.trained) setting.networks.push_back({one.role, of(one)});
  return in_table("objective", [&] { return objective::make_objective(options, setting); });
}

Training untrained(const recipe::Recipe& recipe, const std::vector<std::int64_t>& sample_shape,
                   const Ranks& ranks, const MakeNetwork& make_network) {
  at::set_num_threads(1);  // ATen only moves data here; its threads would spin beside ours
  Training training{.recipe = recipe,
                    .sample_shape = sample_shape,
                    .plan = lane::Plan(recipe.batch, ranks.world),
                    .trained = {},
                    .objective = nullptr,
                    .pictures = nullptr,
                    .state = {},
                    .agreed = {},
                    .captured = std::make_shared<CapturedPhases>()};
  for (const recipe::NetworkOptions& options : recipe.networks) {
    training.trained.push_back(make_trained(options, recipe, sample_shape,
                                            training.plan.partition(), ranks.keeps, make_network));
    name_state(training.trained.back(), ranks.keeps, training.state);
  }
  training.objective = bound(training, recipe.objective, recipe.run.seed,
                             [](const Trained& one) { return one.network; });
  sample_by(training, recipe.objective, recipe.run.seed);
  return training;
}

}  // namespace

double flops_of_lane(const Training& training) {
  double flops = 0;
  for (const Trained& one : training.trained) flops += 3 * one.network->forward_flops();
  return flops * static_cast<double>(training.plan.samples_per_lane());
}

std::string average_kind(std::size_t k) {
  return k == 0 ? "ema" : "ema" + std::to_string(k + 1);
}

void require_average(const recipe::Recipe& recipe, const std::optional<std::int64_t>& number,
                     const std::optional<std::string>& weights) {
  const std::string asked = "--average " + std::to_string(number.value_or(1));
  if (number && weights == "trained")
    throw Error(Code::kUsage, "--average is of averages: --weights is trained",
                "leave one of the two out");
  std::int64_t most = 0;
  for (const recipe::NetworkOptions& one : recipe.networks)
    most = std::max(most, std::ssize(optim::ema_decays(one.optimizer)));
  if (most == 0 && (number || weights == "average"))
    throw Error(Code::kUsage, (number ? asked : "--weights average") + ": the run keeps no average",
                "leave it out: the run has its trained weights alone");
  if (number.value_or(1) > std::max<std::int64_t>(most, 1))
    throw Error(Code::kUsage, asked + ": the run keeps " + counted(most, "average"),
                "its recipe lists them: ema_decay, then more_ema_decays");
}

bool is_average(std::string_view kind) {
  return kind.starts_with("ema");
}

Training make_training(const recipe::Recipe& recipe, const std::vector<std::int64_t>& sample_shape,
                       const Ranks& ranks, const MakeNetwork& make_network) {
  if (recipe::is_native(recipe) && ops::counted_threads() == 0)
    fingerprint::require_native_settings(precision_of(recipe));
  return ops::guarded("initialisation",
                      [&] { return untrained(recipe, sample_shape, ranks, make_network); });
}

namespace {

std::shared_ptr<model::Network> averaged(const Trained& one) {
  return one.average ? one.average : one.network;
}

}  // namespace

void sample_by(Training& training, const objective::Options& options, std::int64_t seed) {
  training.pictures = bound(training, options, seed, averaged);
}

std::unique_ptr<objective::Objective> sampler_of(const Training& training, std::int64_t seed) {
  return bound(training, training.recipe.objective, seed, averaged);
}

void sample_with(Training& training, std::int64_t average) {
  for (const Trained& one : training.trained)
    if (std::ssize(one.averages) >= average)
      copy_all(one.averages[static_cast<std::size_t>(average - 1)], one.averages.front());
}

void sample_with_trained(Training& training) {
  for (const Trained& one : training.trained)
    if (!one.averages.empty()) copy_all(one.parameters, one.averages.front());
}

namespace {

// Calls `evaluate` with today's buffers beside the averages, as networks see samples one by one.
template <class Evaluate>
Tensor evaluated(Training& training, Evaluate&& evaluate) {
  const at::NoGradGuard no_grad;
  const ops::NumericsScope kernels(numerics_of(training.recipe, 1));
  for (const Trained& trained : training.trained) {
    if (trained.average)
      copy_all(tensors_of(trained.network->buffers_in_order()),
               tensors_of(trained.average->buffers_in_order()));
  }
  return evaluate();
}

}  // namespace

Tensor draw_samples(Training& training, const objective::Objective& sampler,
                    const objective::SampleRange& range, const objective::BeforePass& before) {
  return ops::guarded("sampling at step " + std::to_string(training.state.step.value), [&] {
    return evaluated(training, [&] { return sampler.sample(range, before); });
  });
}

Tensor draw_samples(Training& training, const objective::SampleRange& range,
                    const objective::BeforePass& before) {
  return draw_samples(training, *training.pictures, range, before);
}

Tensor held_out_losses(Training& training, const objective::Batch& batch) {
  return evaluated(training, [&] { return training.pictures->held_out_losses(batch); });
}

}  // namespace lockstep::train

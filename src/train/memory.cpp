#include "lockstep/train/memory.h"

#include <algorithm>

#include "lockstep/comm/single_rank.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/core/log.h"
#include "lockstep/core/text.h"
#include "lockstep/lane/messages.h"
#include "lockstep/lane/partition.h"
#include "lockstep/objective/diffusion.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/gpu_tensors.h"
#include "lockstep/ops/memory.h"
#include "lockstep/ops/record.h"
#include "lockstep/train/step.h"
#include "train/comparison.h"

namespace lockstep::train {
namespace {

// Beside tensors: stacks, buffers of kernels, the ledger; and what malloc loses, measured at 1 to 2
// parts of 100.
constexpr std::int64_t kBeside = std::int64_t{128} << 20;
constexpr std::int64_t kLossOf = 16;

// A pass of this many operations takes a core a third of a second: what each pass costs anew, such
// as packing weights, is less than 1 % of it.
constexpr double kBusyFlops = 40e9;
// A pass of this many keeps any GPU busy for a while.
constexpr double kBusyFlopsOfGpu = 10e12;

std::int64_t lanes_of(const recipe::Recipe& recipe, const Ranks& ranks) {
  return lane::Partition(recipe.batch.lanes, ranks.world).lanes_of(Rank(0)).count;
}

// A sampler's steps need the same memory, one after the other: but the last may need less.
void take_few_steps(objective::DiffusionOptions& options) {
  if (!options.sampler.row("sampler").steps) {  // it visits all timesteps: one of another kind is
    const auto rows = options.sampler.rows();   // as large
    const auto row =
        std::ranges::find_if(rows, [](const auto& one) { return one.steps != nullptr; });
    LOCKSTEP_ASSERT(row != rows.end());
    options.sampler = row->word;
    row->steps(options.sampler) = 1;  // however few timesteps there are
  }
  std::int64_t& steps = options.sampler.row("sampler").steps(options.sampler);
  steps = std::min<std::int64_t>(steps, 2);
}

// The recipe of a rank alone with `lanes` lanes: in what it needs for its passes like one of many.
// Witnesses compare values, and there are none.
recipe::Recipe alone(recipe::Recipe recipe, std::int64_t lanes) {
  recipe.batch.lanes = lanes;
  recipe.evidence.witness_rate = 0;
  recipe.evidence.commit_every = 0;
  if (auto* const diffusion = objective::diffusion(recipe.objective)) take_few_steps(*diffusion);
  return recipe;
}

// What the process takes besides.
std::int64_t beside(const StepMemory& memory) {
  return memory.total() / kLossOf + kBeside;
}

std::string sentence(std::int64_t lanes, const StepMemory& memory) {
  return counted(lanes, "lane needs ", "lanes at once need ") + to_text(memory);
}

}  // namespace

std::string to_text(const StepMemory& memory) {
  const auto human = [](std::int64_t bytes) { return human_bytes(static_cast<double>(bytes)); };
  return human(memory.total()) + " (state " + human(memory.state) + ", passes " +
         human(memory.passes) +
         (memory.exchange() > 0 ? ", exchange " + human(memory.exchange()) : "") + ")";
}

Exchanges exchanges_of(const comm::Group& group) {
  return {group.rank(), group.takes_device_memory()};
}

StepWalk::StepWalk(const recipe::Recipe& recipe, const std::vector<std::int64_t>& sample_shape,
                   const Ranks& ranks, const Exchanges& exchanges)
    : plan_(recipe.batch, ranks.world),
      exchanges_(exchanges),
      divided_(ranks.keeps && ranks.world > 1),
      training_(make_training(alone(recipe, lanes_of(recipe, ranks)), sample_shape, {.world = 1})) {
  if (ranks.world > 1) training_.plan = training_.plan.as_part();
  memory_.state = tensors_.live();
  std::int64_t pictures = recipe::makes_pictures(recipe) ? recipe.samples.count : 0;
  if (recipe.evaluation.every > 0)
    pictures = std::max(pictures, std::min(kComparedAtOnce, recipe.evaluation.samples));
  if (pictures > 0) memory_.pictures = peak_of_pictures(pictures);
  const std::int64_t whole = memory_.state;
  if (ranks.keeps) {
    const std::int64_t before = tensors_.live();
    const Training divided = make_training(alone(recipe, recipe.batch.lanes), sample_shape, ranks);
    memory_.state = tensors_.live() - before;
  }
  if (exchanges.rank == Rank(0)) {
    // Of all slots, which a checkpoint gathers between two steps.
    memory_.pictures = std::max(memory_.pictures, whole - memory_.state);
    // A checkpoint is written beside the next steps, and the last one in any case, beside pictures.
    if (recipe.checkpoint.every > 0 || recipe.evaluation.every > 0)
      memory_.copy = whole;
    else
      memory_.pictures += whole;
  }
  const std::int64_t floats = c10::multiply_integers(sample_shape) + recipe.data.classes;
  memory_.ahead = training_.plan.batch() * floats * static_cast<std::int64_t>(sizeof(float));
}

StepMemory StepWalk::operator()(std::int64_t lanes_at_once) {
  training_.step_plan.lanes_at_once = lanes_at_once;
  StepMemory memory = memory_;
  walk_step(memory);
  return memory;
}

void StepWalk::walk_step(StepMemory& memory) {
  const lane::Exchanger who{.plan = plan_,
                            .rank = exchanges_.rank,
                            .in_device = exchanges_.in_device,
                            .elsewhere = ops::on_gpu() && !exchanges_.in_device,
                            .divided = divided_};
  const auto most_of = [&](const lane::MessageBytes& one) {
    memory.sums = std::max(memory.sums, one.kept);
    memory.messages = std::max(memory.messages, one.in_flight);
    traffic_.sent += one.sent;
    traffic_.longest = std::max(traffic_.longest, one.longest);
  };
  traffic_ = {};
  const lane::ExpectedScope phases([&](const auto& sent) { most_of(messages_of(who, sent)); });
  for (const Trained& one : training_.trained) {
    std::vector<std::int64_t> sizes;  // gathered once they are updated
    for (const Tensor& parameter : one.parameters) sizes.push_back(parameter.numel());
    if (divided_ && one.optimizer) most_of(messages_of_slices(who, sizes));
  }
  training_.state.step = Step(recipe::first_of_all_phases(training_.recipe).value - 1);
  training_.agreed.reset();  // of the walk before
  const std::int64_t before = tensors_.live();
  tensors_.reset_peak();
  const ops::DeviceScope here(ops::device());
  comm::SingleRank group;
  step(training_, group, [&](Draw first, std::int64_t count) {
    std::vector<std::int64_t> sizes = training_.sample_shape;
    sizes.insert(sizes.begin(), count);
    const std::int64_t classes = training_.recipe.data.classes;
    return objective::Batch{ops::empty(sizes), first,
                            classes > 0 ? ops::empty({count, classes}) : Tensor()};
  });
  memory.passes = tensors_.peak() - before;
}

std::int64_t StepWalk::peak_of_pictures(std::int64_t count) {
  const std::int64_t before = tensors_.live();
  tensors_.reset_peak();
  draw_samples(training_, {.first = 0, .count = count});
  return tensors_.peak() - before;
}

bool fits(const StepMemory& memory, const MemoryLeft& left) {
  return memory.total() + beside(memory) <= left.bytes;
}

std::vector<std::int64_t> lanes_at_once_choices(const recipe::Recipe& recipe, const Ranks& ranks) {
  std::vector<std::int64_t> choices{lanes_of(recipe, ranks)};
  while (choices.back() > 1) choices.push_back((choices.back() + 1) / 2);
  return choices;
}

StepPlan plan_step(const recipe::Recipe& recipe, const std::vector<std::int64_t>& sample_shape,
                   const Ranks& ranks, const comm::Group& group, std::int64_t asked,
                   int processes) {
  if (processes == 0) return {.lanes_at_once = asked};
  const auto left = ops::memory_left(processes);
  if (!left) return {.lanes_at_once = asked};
  const std::int64_t all = lanes_of(recipe, ranks);
  const double busy = ops::tensors_device().is_cpu() ? kBusyFlops * ops::device().host().threads()
                                                     : kBusyFlopsOfGpu;
  StepWalk walk(recipe, sample_shape, ranks, exchanges_of(group));
  auto choices =
      asked > 0 ? std::vector{std::min(asked, all)} : lanes_at_once_choices(recipe, ranks);
  while (choices.size() > 1 && static_cast<double>(choices[1]) * walk.flops_of_lane() >= busy)
    choices.erase(choices.begin());
  std::vector<StepMemory> needs;
  for (const std::int64_t lanes : choices) {
    needs.push_back(walk(lanes));
    if (!fits(needs.back(), *left)) continue;
    const std::int64_t beside_state = needs.back().beside_state();
    if (asked > 0 || lanes == all) return {asked, beside_state};
    if (lanes < choices.front()) {
      log::info(counted(lanes, "lane") + " of " + std::to_string(all) + " at once: " +
                sentence(choices.front(), needs.front()) + ", and " + to_text(*left));
    }
    return {lanes, beside_state};
  }
  // Fewer lanes have smaller activations and more pending partials: any may be the least.
  const auto least = std::ranges::min_element(needs, {}, &StepMemory::total);
  throw Error(Code::kEnvironment,
              sentence(choices[static_cast<std::size_t>(least - needs.begin())], *least) +
                  ", libraries and allocators up to " +
                  human_bytes(static_cast<double>(beside(*least))) + " more, and " + to_text(*left),
              asked > 0
                  ? "lower --lanes-at-once, or leave it out: as many as fit"
                  : (left->limit.find("limit") != std::string::npos ? "raise that limit, " : "") +
                        std::string("use more machines, lower batch.samples_per_lane or the "
                                    "model's size"));
}

}  // namespace lockstep::train

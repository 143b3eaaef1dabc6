#include "train/update.h"

#include <algorithm>
#include <span>

#include "lockstep/lane/inject.h"
#include "lockstep/lane/partition.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/record.h"
#include "train/agree.h"
#include "train/divided_state.h"

namespace lockstep::train {

Updates::Updates(const Training& training, const std::vector<PhaseAt>& phases, comm::Group& group)
    : training_(training),
      group_(group),
      pending_(training.state.tensors.size()),
      written_(training.state.tensors.size()) {
  for (const PhaseAt& phase : phases) {
    for (const Trained& trained : training.trained) {
      if (trained.role != phase.names.role) continue;
      const auto mark = [&](std::size_t first, std::size_t count) {
        std::fill_n(pending_.begin() + static_cast<std::ptrdiff_t>(first), count, true);
      };
      const std::size_t count = trained.parameters.size();
      if (trained.divisions.empty()) mark(trained.numbers.parameters, count);
      mark(trained.numbers.slots, trained.optimizer->slots().size() * count);
      mark(trained.numbers.averages, trained.averages.size() * count);
    }
  }
  require_same_cursor(training_);
  std::vector<std::size_t> resting;
  for (std::size_t i = 0; i < pending_.size(); ++i)
    if (!pending_[i]) resting.push_back(i);
  hash(resting, Take::kBefore);
}

void Updates::operator()(Trained& trained, std::int64_t t, double lr,
                         const std::vector<Tensor>& gradients) {
  const bool whole = trained.divisions.empty();
  const std::size_t count = trained.parameters.size();
  auto tensors = trained.optimizer->tensors(trained.updated, gradients);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t first = whole ? 0 : trained.divisions[i].slice(group_.rank()).first;
    hold(trained.numbers.parameters + i, first, tensors[i].n, whole ? Take::kBoth : Take::kBefore,
         tensors[i].p);
    for (std::size_t s = 0; s < tensors[i].slots.size(); ++s)
      hold(trained.numbers.slots + s * count + i, first, tensors[i].n, Take::kBoth,
           tensors[i].slots[s]);
  }
  if (whole) add_averages(trained, t, tensors);
  compute(groups_of(trained, t, lr, tensors));
  if (whole) return;

  gather_parameters(group_, trained);
  tensors.assign(count, {});
  for (std::size_t i = 0; i < count; ++i) {
    Tensor parameter = ops::bare(trained.parameters[i]);
    tensors[i].n = parameter.numel();
    tensors[i].p.values = ops::write(parameter);
    hold(trained.numbers.parameters + i, 0, tensors[i].n, Take::kAfter, tensors[i].p);
  }
  add_averages(trained, t, tensors);
  compute({{numerics::Keep{}, std::move(tensors)}});
}

void Updates::hash_rest() {
  std::vector<std::size_t> rest;
  for (std::size_t i = 0; i < written_.size(); ++i)
    if (written_[i].empty()) rest.push_back(i);
  hash(rest, Take::kAfter);
}

void Updates::finish() {
  // The last first: then the others are done.
  for (; !under_way_.empty(); under_way_.pop_back())
    all_finite_ = under_way_.back()->finish() && all_finite_;
  require_as_agreed();
}

void Updates::hash(const std::vector<std::size_t>& numbers, Take take) {
  std::vector<numerics::UpdatedTensor> tensors;
  for (const std::size_t i : numbers) {
    const state::Named& named = training_.state.tensors[i];
    Tensor held = ops::bare(named.tensor);
    tensors.emplace_back().n = held.numel();
    tensors.back().p.values = ops::write(held);
    watch(i, named.first(), held.numel(), take, tensors.back().p);
  }
  if (!tensors.empty()) compute({{numerics::Keep{}, std::move(tensors)}});
}

// Parameters with weight decay, and those without, if there are any.
std::vector<Updates::Group> Updates::groups_of(
    const Trained& trained, std::int64_t t, double lr,
    const std::vector<numerics::UpdatedTensor>& tensors) {
  std::vector<Group> groups;
  for (const double decay : {trained.options.weight_decay, 0.0}) {
    std::vector<numerics::UpdatedTensor> some;
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (optim::weight_decay_of(trained.options, trained.parameters[i]) == decay)
        some.push_back(tensors[i]);
    if (!some.empty()) groups.push_back({trained.optimizer->rule(t, lr, decay), std::move(some)});
    if (decay == 0.0) break;
  }
  return groups;
}

void Updates::add_averages(Trained& trained, std::int64_t t,
                           std::vector<numerics::UpdatedTensor>& tensors) {
  const std::vector<double> decays = optim::ema_decays(trained.options);
  for (std::size_t k = 0; k < trained.averages.size(); ++k) {
    const auto one_minus_decay =
        static_cast<float>(1.0 - optim::ema_decay_at(trained.options, decays[k], t));
    const std::size_t first = trained.numbers.averages + k * tensors.size();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      numerics::Updated average{ops::write(trained.averages[k][i])};
      hold(first + i, 0, tensors[i].n, Take::kBoth, average);
      tensors[i].averages.push_back({average, one_minus_decay});
    }
  }
}

void Updates::hold(std::size_t number, std::int64_t first, std::int64_t n, Take take,
                   numerics::Updated& array) {
  if (take != Take::kAfter) LOCKSTEP_STRIKE(kHeld, group_, array.values, n);
  watch(number, first, n, take, array);
}

void Updates::watch(std::size_t number, std::int64_t first, std::int64_t n, Take take,
                    numerics::Updated& array) {
  const auto tiles_in = [](std::int64_t floats) {
    return static_cast<std::size_t>(lane::tiles_in(floats));
  };
  const std::size_t tile = tiles_in(first);
  if (take != Take::kAfter) {
    reads_.push_back({number, tile, std::vector<hash::Leaf>(tiles_in(n))});
    array.before = reads_.back().leaves.data();
  }
  if (take != Take::kBefore) {
    written_[number] = training_.agreed->leaves[number];  // of slices the update writes its own
    array.after = written_[number].data() + tile;
    pending_[number] = false;
  }
}

void Updates::compute(const std::vector<Group>& groups) {
  for (const Group& group : groups)
    under_way_.push_back(ops::device().update(group.rule, group.tensors));
  asked_ = reads_.size();
}

void Updates::require_as_agreed() const {
  const state::Leaves& agreed = training_.agreed->leaves;
  for (const Read& read : std::span(reads_).first(asked_)) {
    const auto first = agreed[read.number].begin() + static_cast<std::ptrdiff_t>(read.first);
    if (std::ranges::equal(read.leaves, std::span(first, read.leaves.size()))) continue;
    state::Leaves now = agreed;
    std::ranges::copy(read.leaves,
                      now[read.number].begin() + static_cast<std::ptrdiff_t>(read.first));
    require_unchanged(training_, now);
  }
}

void Updates::require_unchanged_so_far() {
  finish();
  require_unchanged(
      training_, whole_leaves(training_.state, training_.agreed->leaves, agreed_unless_pending()));
}

std::vector<bool> Updates::finite() const {
  std::vector<bool> numbers(written_.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = all_finite_ && !written_[i].empty();
  return numbers;
}

// The agreed leaves of the tensors that no update will read any more.
state::Leaves Updates::agreed_unless_pending() const {
  state::Leaves leaves(pending_.size());
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (!pending_[i]) leaves[i] = training_.agreed->leaves[i];
  return leaves;
}

}  // namespace lockstep::train

#include "train/update.h"

#include <algorithm>

#include "lockstep/core/inject.h"
#include "lockstep/lane/partition.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/record.h"
#include "train/agree.h"
#include "train/divided_state.h"
#include "train/phase.h"

namespace lockstep::train {

Updates::Updates(const Training& training, comm::Group& group)
    : training_(training),
      group_(group),
      pending_(training.state.tensors.size()),
      before_(training.state.tensors.size()),
      written_(training.state.tensors.size()) {
  for (const PhaseAt& phase : phases_of(training)) {
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
  require_unchanged(training_,
                    whole_leaves(training_.state, training_.agreed->leaves, agreed_where(true)));
}

void Updates::operator()(Trained& trained, std::int64_t t, double lr,
                         const std::vector<Tensor>& gradients) {
  const bool whole = trained.divisions.empty();
  const std::size_t count = trained.parameters.size();
  auto tensors = trained.optimizer->tensors(trained.updated, gradients);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t first = whole ? 0 : trained.divisions[i].slice(group_.rank()).first;
    watch(trained.numbers.parameters + i, first, tensors[i].n, whole ? Take::kBoth : Take::kBefore,
          tensors[i].p);
    for (std::size_t s = 0; s < tensors[i].slots.size(); ++s)
      watch(trained.numbers.slots + s * count + i, first, tensors[i].n, Take::kBoth,
            tensors[i].slots[s]);
  }
  if (whole) add_averages(trained, tensors);
  compute(groups_of(trained, t, lr, tensors));
  if (whole) return;

  gather_parameters(group_, trained);
  tensors.assign(count, {});
  for (std::size_t i = 0; i < count; ++i) {
    Tensor parameter = ops::bare(trained.parameters[i]);
    tensors[i].n = parameter.numel();
    tensors[i].p.values = ops::write(parameter);
    watch(trained.numbers.parameters + i, 0, tensors[i].n, Take::kAfter, tensors[i].p);
  }
  add_averages(trained, tensors);
  compute({{numerics::Keep{}, std::move(tensors)}});
}

void Updates::hash_rest() {
  std::vector<numerics::UpdatedTensor> tensors;
  for (std::size_t i = 0; i < written_.size(); ++i) {
    if (!written_[i].empty()) continue;
    Tensor tensor = ops::bare(training_.state.tensors[i].tensor);
    tensors.emplace_back().n = tensor.numel();
    tensors.back().p.values = ops::write(tensor);
    watch(i, 0, tensor.numel(), Take::kAfter, tensors.back().p);
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

void Updates::add_averages(Trained& trained, std::vector<numerics::UpdatedTensor>& tensors) {
  const std::vector<double> decays = optim::ema_decays(trained.options);
  for (std::size_t k = 0; k < trained.averages.size(); ++k) {
    const auto one_minus_decay = static_cast<float>(1.0 - decays[k]);
    const std::size_t first = trained.numbers.averages + k * tensors.size();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      numerics::Updated average{ops::write(trained.averages[k][i])};
      watch(first + i, 0, tensors[i].n, Take::kBoth, average);
      tensors[i].averages.push_back({average, one_minus_decay});
    }
  }
}

void Updates::watch(std::size_t number, std::int64_t first, std::int64_t n, Take take,
                    numerics::Updated& array) {
  const std::vector<hash::Leaf>& agreed = training_.agreed->leaves[number];
  const auto tile = static_cast<std::size_t>(lane::tiles_in(first));
  if (take != Take::kAfter) {
    before_[number].resize(agreed.size());
    array.before = before_[number].data() + tile;
    reads_.push_back({number, tile, tile + static_cast<std::size_t>(lane::tiles_in(n))});
    LOCKSTEP_STRIKE(kHeld, group_, array.values, n);
  }
  if (take != Take::kBefore) {
    written_[number] = agreed;  // of slices the update writes its own
    array.after = written_[number].data() + tile;
    pending_[number] = false;
  }
}

void Updates::compute(const std::vector<Group>& groups) {
  for (const Group& group : groups)
    all_finite_ = ops::device().update(group.rule, group.tensors) && all_finite_;
  require_as_agreed();
  reads_.clear();
}

void Updates::require_as_agreed() const {
  const state::Leaves& agreed = training_.agreed->leaves;
  const bool same = std::ranges::all_of(reads_, [&](const Read& read) {
    const hash::Leaf* const before = before_[read.number].data();
    return std::equal(before + read.first, before + read.last,
                      agreed[read.number].data() + read.first);
  });
  if (same) return;
  state::Leaves now = agreed;
  for (const Read& read : reads_) {
    const hash::Leaf* const before = before_[read.number].data();
    std::copy(before + read.first, before + read.last, now[read.number].data() + read.first);
  }
  require_unchanged(training_, now);
}

void Updates::require_rest_unchanged() const {
  require_unchanged(training_,
                    whole_leaves(training_.state, training_.agreed->leaves, agreed_where(false)));
}

std::vector<bool> Updates::finite() const {
  std::vector<bool> numbers(written_.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = all_finite_ && !written_[i].empty();
  return numbers;
}

// The agreed leaves of the tensors that an update will read, or of the others.
state::Leaves Updates::agreed_where(bool pending) const {
  state::Leaves leaves(pending_.size());
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (pending_[i] == pending) leaves[i] = training_.agreed->leaves[i];
  return leaves;
}

}  // namespace lockstep::train

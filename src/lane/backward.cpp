#include <algorithm>
#include <optional>

#include "lockstep/core/error.h"
#include "lockstep/core/inject.h"
#include "lockstep/lane/exchange.h"
#include "lockstep/numerics/elementwise.h"

namespace lockstep::lane {
namespace {

// Adds the whole gradients of one entered tensor's uses, in use order. This happens after the
// exchange: partials of different world sizes would pair the same numbers differently.
Tensor sum_of_uses(const std::vector<Tensor>& grads) {
  LOCKSTEP_ASSERT(!grads.empty(), "a tensor entered the lane graph and does not reach the loss");
  Tensor total = grads.front();
  for (std::size_t use = 1; use < grads.size(); ++use) {
    Tensor sum = ops::empty(total.sizes());
    numerics::binary(numerics::Binary::kAdd, sum.numel(), ops::read(total), ops::read(grads[use]),
                     ops::write(sum));
    total = sum;
  }
  return total;
}

// The parameter that an entered tensor is, if it is one itself.
std::optional<std::size_t> parameter_number(const Tensor& root,
                                            const std::vector<Tensor>& parameters) {
  const auto leaf =
      std::ranges::find_if(parameters, [&](const Tensor& p) { return p.is_same(root); });
  if (leaf == parameters.end()) return std::nullopt;
  return static_cast<std::size_t>(leaf - parameters.begin());
}

// The parameter graph's backward pass: from gradients of the entered tensors to those of the
// parameters. Those of parameters that entered themselves pass as they are.
std::vector<Tensor> parameter_gradients(const std::vector<Entered>& entered,
                                        const std::vector<Tensor>& whole,
                                        const std::vector<Tensor>& parameters) {
  std::vector<Tensor> result(parameters.size());
  std::vector<Tensor> roots, root_grads;
  for (std::size_t i = 0; i < entered.size(); ++i) {
    if (const auto number = parameter_number(entered[i].root, parameters)) {
      result[*number] = whole[i];
    } else {
      roots.push_back(entered[i].root);
      root_grads.push_back(whole[i]);
    }
  }
  std::vector<Tensor> rest;
  std::vector<std::size_t> where;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (result[i].defined()) continue;
    rest.push_back(parameters[i]);
    where.push_back(i);
  }
  if (rest.empty()) return result;
  const std::vector<Tensor> grads = ops::gradients(roots, root_grads, rest, /*create_graph=*/false);
  for (std::size_t i = 0; i < rest.size(); ++i) {
    LOCKSTEP_ASSERT(grads[i].defined(), "parameter number " + std::to_string(where[i]) +
                                            " of the phase gets no gradient");
    result[where[i]] = grads[i];
  }
  return result;
}

// What leaves in the exchange: the loss, then every use, the last one first: about the order in
// which gradients are known. Number 0 is the loss, use u has number uses - u.
std::vector<Outbox::Expected> expected_by(const Context& context) {
  std::vector<Outbox::Expected> list;
  for (const Use& use : context.uses()) {
    const Entered& entered = context.entered()[use.entered];
    list.push_back({"gradient of " + entered.name, entered.root.numel()});
  }
  list.push_back({"the loss", 1});
  std::reverse(list.begin(), list.end());
  Turns turns;
  for (Outbox::Expected& one : list) one.turn = turns.next(one.floats);
  return list;
}

// All uses of a parameter that entered itself stay in the same slices: the optimiser's.
std::vector<Outbox::Expected> sliced_where_possible(std::vector<Outbox::Expected> list,
                                                    const Context& context,
                                                    const std::vector<Tensor>& parameters) {
  std::vector<std::int64_t> turn_of;
  Turns turns;
  for (const Tensor& parameter : parameters) turn_of.push_back(turns.next(parameter.numel()));
  const std::vector<Use>& uses = context.uses();
  for (std::size_t use = 0; use < uses.size(); ++use) {
    const Tensor& root = context.entered()[uses[use].entered].root;
    const auto number = parameter_number(root, parameters);
    if (!number) continue;
    list[uses.size() - use].turn = turn_of[*number];
    list[uses.size() - use].sliced = true;
  }
  return list;
}

// The slices of gradients that are still whole.
void cut(std::vector<Tensor>& gradients, const std::vector<Entered>& entered,
         const std::vector<Tensor>& parameters, const comm::Group& group) {
  std::vector<bool> done(parameters.size());
  for (const Entered& one : entered) {
    if (const auto number = parameter_number(one.root, parameters)) done[*number] = true;
  }
  Turns turns;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::int64_t turn = turns.next(parameters[i].numel());
    if (done[i]) continue;
    const Slice slice = slice_of(turn, parameters[i].numel(), group.rank(), group.size());
    Tensor part = ops::empty({slice.size()});
    std::copy_n(ops::read(gradients[i]) + slice.first, slice.size(), ops::write(part));
    gradients[i] = part;
  }
}

// Calls known(number, partials) for all that reaches the loss, as soon as it is known.
void run_backward(Context& context, const Tensor& loss, float seed,
                  const std::function<void(std::size_t, const Tensor&)>& known) {
  const std::vector<Use>& uses = context.uses();
  known(0, ops::bare(loss));
  context.on_partials(
      [&](std::size_t use, const Tensor& grad) { known(uses.size() - use, grad.contiguous()); });
  std::vector<Tensor> wanted;
  for (const Use& use : uses) wanted.push_back(use.tensor);
  ops::gradients({loss}, {ops::filled(loss.sizes(), seed)}, wanted, /*create_graph=*/false);
  context.on_partials({});
}

LaneEvidence::Part part_of(std::string name, const float* floats, std::int64_t count) {
  const ByteView bytes = std::as_bytes(std::span(floats, static_cast<std::size_t>(count)));
  LaneEvidence::Part part{std::move(name), count,
                          std::vector<hash::Leaf>(hash::leaf_count(bytes.size()))};
  hash::leaf_hashes(bytes, part.leaves);
  return part;
}

// One lane's evidence, gathered while its gradients become known.
class Collector {
 public:
  // row: the lane's among the partials
  Collector(const Context& context, Lane lane, std::int64_t row)
      : list_(expected_by(context)), row_(row), evidence_{lane, {}}, parts_(list_.size()) {}

  void add(std::size_t number, const Tensor& partials) {
    const std::int64_t floats = partials.numel() / partials.size(0);
    parts_[number] = part_of(list_[number].name, ops::read(partials) + row_ * floats, floats);
  }

  LaneEvidence finish(const Context& context) {
    const std::int64_t row = context.is_shadow() ? 0 : evidence_.lane.value;
    evidence_.parts = std::move(parts_);
    for (const Context::Gathered& gathered : context.gathered())
      evidence_.parts.push_back(part_of("batch statistics of " + gathered.name,
                                        gathered.lanes.data() + row * gathered.width,
                                        gathered.width));
    return std::move(evidence_);
  }

 private:
  std::vector<Outbox::Expected> list_;
  std::int64_t row_;
  LaneEvidence evidence_;
  std::vector<LaneEvidence::Part> parts_;
};

// One for each isolated lane of this rank.
std::vector<Collector> collectors(const Context& context) {
  std::vector<Collector> all;
  const auto subtrees = context.plan().subtrees(context.group().rank());
  for (std::size_t row = 0; row < subtrees.size(); ++row) {
    const Lane lane(subtrees[row].first);
    if (std::ranges::binary_search(context.plan().isolated(), lane))
      all.emplace_back(context, lane, static_cast<std::int64_t>(row));
  }
  return all;
}

}  // namespace

PhaseGradients backward(Context& context, const Tensor& loss, float seed,
                        const std::vector<Tensor>& parameters, Gradients form) {
  std::vector<Outbox::Expected> expected = expected_by(context);
  if (form == Gradients::kSlices)
    expected = sliced_where_possible(std::move(expected), context, parameters);
  Outbox outbox(context.plan(), context.group(), std::move(expected));
  std::vector<Collector> lanes = collectors(context);
  run_backward(context, loss, seed, [&](std::size_t number, const Tensor& partials) {
    LOCKSTEP_STRIKE(kGradient, context.group(), partials.mutable_data_ptr<float>(),
                    partials.numel());
    for (Collector& lane : lanes) lane.add(number, partials);
    outbox.put(number, partials);
  });
  const std::vector<Tensor> exchanged = outbox.finish();

  const std::vector<Use>& uses = context.uses();
  std::vector<std::vector<Tensor>> grads(context.entered().size());
  for (std::size_t use = 0; use < uses.size(); ++use) {
    // A use that does not reach the loss (a bias under a gradient penalty) has nothing to send.
    const Tensor& grad = exchanged[uses.size() - use];
    if (grad.defined()) grads[uses[use].entered].push_back(grad);
  }
  std::vector<Tensor> whole;  // one an entered tensor
  for (const std::vector<Tensor>& of_uses : grads) whole.push_back(sum_of_uses(of_uses));
  PhaseGradients result{.loss_sum = *ops::read(exchanged.front()),
                        .gradients = parameter_gradients(context.entered(), whole, parameters),
                        .of_lanes = {}};
  if (form == Gradients::kSlices)
    cut(result.gradients, context.entered(), parameters, context.group());
  for (Collector& lane : lanes) result.of_lanes.push_back(lane.finish(context));
  return result;
}

LaneEvidence backward_of_shadow(Context& shadow, const Tensor& loss, float seed) {
  Collector lane(shadow, shadow.lane(), 0);
  run_backward(shadow, loss, seed,
               [&](std::size_t number, const Tensor& partials) { lane.add(number, partials); });
  return lane.finish(shadow);
}

}  // namespace lockstep::lane

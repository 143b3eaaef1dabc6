#include "lockstep/lane/backward.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "lane/pending.h"
#include "lockstep/core/error.h"
#include "lockstep/lane/exchange.h"
#include "lockstep/lane/inject.h"
#include "lockstep/ops/device.h"

namespace lockstep::lane {
namespace {

// Adds the whole gradients of one entered tensor's uses, in use order. This happens after the
// exchange: partials of different world sizes would pair the same numbers differently.
Tensor sum_of_uses(const std::vector<Tensor>& grads) {
  LOCKSTEP_ASSERT(!grads.empty(), "a tensor entered the lane graph and does not reach the loss");
  Tensor total = grads.front();
  for (std::size_t use = 1; use < grads.size(); ++use) total = added(total, grads[use]);
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

Tensor cut(const Tensor& whole, const Slice& slice) {
  Tensor part = ops::empty({slice.size()});
  ops::device().copy(static_cast<std::size_t>(slice.size()) * sizeof(float),
                     ops::read(whole) + slice.first, ops::write(part));
  return part;
}

// The parameter graph's backward pass: from gradients of the entered tensors to those of the
// parameters. Those of parameters that entered themselves pass as they are; of the others, which
// are whole, the rank keeps its slices, where there are any.
std::vector<Tensor> parameter_gradients(const std::vector<Entered>& entered,
                                        const std::vector<Tensor>& sums,
                                        const std::vector<Tensor>& parameters,
                                        const std::vector<Division>& kept, Rank rank) {
  std::vector<Tensor> result(parameters.size());
  std::vector<Tensor> roots, root_grads;
  for (std::size_t i = 0; i < entered.size(); ++i) {
    if (const auto number = parameter_number(entered[i].root, parameters)) {
      result[*number] = sums[i];
    } else {
      roots.push_back(entered[i].root);
      root_grads.push_back(sums[i]);
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
    result[where[i]] = kept.empty() ? grads[i] : cut(grads[i], kept[where[i]].slice(rank));
  }
  return result;
}

// What leaves in the exchange: the loss, then every use, the last one first: about the order in
// which gradients are known. The loss has number 0; of n uses, use u has number n - u. Uses over
// all lanes at once come before those of a portion, which are the same in every portion.
class Uses {
 public:
  Uses(const Context& all, const Context& portion) {
    append(all);
    if (&portion == &all) return;
    portions_at_ = entered_of_.size();
    append(portion);
  }

  std::size_t count() const { return entered_of_.size(); }
  const std::vector<Entered>& entered() const { return entered_; }
  const Entered& entered_by(std::size_t use) const { return entered_[entered_of_[use]]; }
  std::size_t number_of(std::size_t use) const { return count() - use; }
  std::size_t first_of_portion() const { return portions_at_; }
  // Of each entered tensor what `by_number` holds for its uses, in their order.
  std::vector<std::vector<Tensor>> grouped(const std::vector<Tensor>& by_number) const {
    std::vector<std::vector<Tensor>> groups(entered_.size());
    for (std::size_t use = 0; use < count(); ++use) {
      // A use that does not reach the loss (a bias under a gradient penalty) has nothing to send.
      const Tensor& one = by_number[number_of(use)];
      if (one.defined()) groups[entered_of_[use]].push_back(one);
    }
    return groups;
  }

  std::vector<Outbox::Expected> expected() const {
    std::vector<Outbox::Expected> list = {{"the loss", 1}};
    for (std::size_t use = count(); use-- > 0;)
      list.push_back({"gradient of " + entered_by(use).name, entered_by(use).root.numel()});
    return list;
  }

 private:
  void append(const Context& context) {
    for (const Use& use : context.uses()) {
      const Entered& entered = context.entered()[use.entered];
      const auto known = std::ranges::find_if(
          entered_, [&](const Entered& one) { return one.root.is_same(entered.root); });
      entered_of_.push_back(static_cast<std::size_t>(known - entered_.begin()));
      if (known == entered_.end()) entered_.push_back(entered);
    }
  }

  std::vector<Entered> entered_;
  std::vector<std::size_t> entered_of_;  // by use
  std::size_t portions_at_ = 0;
};

// Backward from `output`; calls known(use, partials) for all uses that it reaches, as soon as that
// is known. Returns the gradient of `given`, where that is defined.
Tensor run_backward(Context& context, const Tensor& output, const Tensor& gradient,
                    const Tensor& given,
                    const std::function<void(std::size_t use, const Tensor&)>& known) {
  context.on_partials([&](std::size_t use, const Tensor& grad) { known(use, grad.contiguous()); });
  std::vector<Tensor> wanted;
  for (const Use& use : context.uses()) wanted.push_back(use.tensor);
  if (given.defined()) wanted.push_back(given);
  const std::vector<Tensor> found =
      ops::gradients({output}, {gradient}, wanted, /*create_graph=*/false);
  context.on_partials({});
  return given.defined() ? found.back() : Tensor();
}

LaneEvidence::Part part_of(std::string name, std::span<const float> floats) {
  const ByteView bytes = std::as_bytes(floats);
  LaneEvidence::Part part{std::move(name), static_cast<std::int64_t>(floats.size()),
                          std::vector<hash::Leaf>(hash::leaf_count(bytes.size()))};
  hash::leaf_hashes(bytes, part.leaves);
  return part;
}

// One lane's evidence, gathered while its gradients become known.
class Collector {
 public:
  Collector(std::vector<Outbox::Expected> list, Lane lane)
      : list_(std::move(list)), evidence_{lane, {}}, parts_(list_.size()) {}

  // Partials of a portion: nothing of it where the lane is not among them. Of several threads at a
  // time, because the lane is in one portion alone.
  void add(std::size_t number, const std::vector<numerics::Subtree>& nodes,
           const Tensor& partials) {
    const auto mine = std::ranges::find(nodes, numerics::Subtree{evidence_.lane.value, 1});
    if (mine == nodes.end()) return;
    const auto floats = static_cast<std::size_t>(partials.numel() / partials.size(0));
    const ops::HostView values(partials);
    parts_[number] = part_of(
        list_[number].name,
        values.floats().subspan(static_cast<std::size_t>(mine - nodes.begin()) * floats, floats));
  }

  LaneEvidence finish(const Context& gatherer) {
    const std::int64_t row = gatherer.is_shadow() ? 0 : evidence_.lane.value;
    evidence_.parts = std::move(parts_);
    for (const LaneGather::Gathered& gathered : gatherer.lane_gather()->gathered())
      evidence_.parts.push_back(part_of("batch statistics of " + gathered.name,
                                        std::span(gathered.lanes)
                                            .subspan(static_cast<std::size_t>(row * gathered.width),
                                                     static_cast<std::size_t>(gathered.width))));
    return std::move(evidence_);
  }

 private:
  std::vector<Outbox::Expected> list_;
  LaneEvidence evidence_;
  std::vector<LaneEvidence::Part> parts_;
};

}  // namespace

class Backward::Sums {
 public:
  Sums(Context& all, std::vector<Portion> portions, float seed, std::vector<Tensor> parameters,
       std::vector<Division> kept)
      : all_(all),
        portions_(std::move(portions)),
        seed_(seed),
        parameters_(std::move(parameters)),
        kept_(std::move(kept)),
        merged_(all.plan().isolating({})),
        ends_(merged_.subtrees(all.portion())) {}

  Tensor portion(Context& context, const Tensor& loss, const Tensor& given) {
    LOCKSTEP_ASSERT(std::ranges::find(portions_, context.portion()) != portions_.end(),
                    "not one of the portions");
    begin(context);
    const std::vector<numerics::Subtree> nodes = context.plan().subtrees(context.portion());
    known(0, nodes, ops::bare(loss));
    const std::size_t first = uses_->first_of_portion();
    return run_backward(context, loss, ops::filled(loss.sizes(), seed_), given,
                        [&](std::size_t use, const Tensor& partials) {
                          known(uses_->number_of(first + use), nodes, partials);
                        });
  }

  void given(const Tensor& given, const Tensor& gradient) {
    const std::vector<numerics::Subtree> nodes = all_.plan().subtrees(all_.portion());
    run_backward(all_, given, gradient, {}, [&](std::size_t use, const Tensor& partials) {
      known(uses_->number_of(use), nodes, partials);
    });
  }

  PhaseGradients finish() {
    LOCKSTEP_ASSERT(begun_ == portions_.size(), "a portion is missing");
    const std::vector<Tensor> exchanged = outbox_->finish();
    std::vector<Tensor> sums;  // one an entered tensor
    for (const std::vector<Tensor>& of_uses : uses_->grouped(exchanged))
      sums.push_back(sum_of_uses(of_uses));
    PhaseGradients result{.loss = exchanged.front(),
                          .gradients = parameter_gradients(uses_->entered(), sums, parameters_,
                                                           kept_, all_.group().rank()),
                          .of_lanes = {}};
    for (Collector& lane : lanes_) result.of_lanes.push_back(lane.finish(all_));
    return result;
  }

 private:
  // The forward pass of whichever portion is here first tells what will leave: all tell the same.
  void begin(const Context& portion) {
    const std::scoped_lock lock(mutex_);
    if (begun_++ > 0) return;
    uses_.emplace(all_, portion);
    std::vector<Outbox::Expected> expected = uses_->expected();
    for (const Lane lane : all_.plan().isolated())
      if (all_.plan().partition().owner(lane) == all_.group().rank())
        lanes_.emplace_back(expected, lane);
    pending_ = std::vector<PendingPartials>(expected.size());
    for (std::size_t use = 0; use < uses_->count(); ++use) {
      const auto number = parameter_number(uses_->entered_by(use).root, parameters_);
      if (!number) continue;
      Outbox::Expected& one = expected[uses_->number_of(use)];
      one.parameter = true;
      if (!kept_.empty()) one.kept = kept_[*number];
    }
    outbox_.emplace(merged_, all_.group(), std::move(expected));
  }

  void known(std::size_t number, const std::vector<numerics::Subtree>& nodes,
             const Tensor& partials) {
    LOCKSTEP_STRIKE(kGradient, all_.group(), partials.mutable_data_ptr<float>(), partials.numel());
    for (Collector& lane : lanes_) lane.add(number, nodes, partials);
    if (!pending_[number].add(merged_, ends_, nodes, partials)) return;
    const Tensor all = pending_[number].take();
    const std::scoped_lock lock(mutex_);
    outbox_->put(number, all);
  }

  Context& all_;
  const std::vector<Portion> portions_;
  const float seed_;
  const std::vector<Tensor> parameters_;
  const std::vector<Division> kept_;
  // What isolated lanes gave was collected by now: their partials wait and leave with the others.
  const Plan merged_;
  const std::vector<numerics::Subtree> ends_;  // what the rank's partials stand for
  std::mutex mutex_;                           // of beginning and of the outbox
  std::size_t begun_ = 0;                      // portions
  std::optional<Uses> uses_;
  std::vector<PendingPartials> pending_;  // by number
  std::vector<Collector> lanes_;
  std::optional<Outbox> outbox_;
};

Backward::Backward(Context& all, std::vector<Portion> portions, float seed,
                   std::vector<Tensor> parameters, std::vector<Division> kept)
    : sums_(std::make_unique<Sums>(all, std::move(portions), seed, std::move(parameters),
                                   std::move(kept))) {}
Backward::~Backward() = default;

Tensor Backward::portion(Context& context, const Tensor& loss, const Tensor& given) {
  return sums_->portion(context, loss, given);
}

void Backward::given(const Tensor& given, const Tensor& gradient) {
  sums_->given(given, gradient);
}

PhaseGradients Backward::finish() {
  return sums_->finish();
}

PhaseGradients backward(Context& context, const Tensor& loss, float seed,
                        const std::vector<Tensor>& parameters) {
  Backward sums(context, {context.portion()}, seed, parameters);
  sums.portion(context, loss);
  return sums.finish();
}

LaneEvidence backward_of_shadow(Context& shadow, const Tensor& loss, float seed) {
  const Uses uses(shadow, shadow);
  const std::vector<numerics::Subtree> nodes = shadow.plan().subtrees(shadow.portion());
  Collector lane(uses.expected(), shadow.portion().first);
  lane.add(0, nodes, ops::bare(loss));
  run_backward(shadow, loss, ops::filled(loss.sizes(), seed), {},
               [&](std::size_t use, const Tensor& partials) {
                 lane.add(uses.number_of(use), nodes, partials);
               });
  return lane.finish(shadow);
}

}  // namespace lockstep::lane

// What is trained: an objective has its phases, bound to their networks; every phase runs the same
// operations of train::step.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/core/ids.h"
#include "lockstep/model/network.h"
#include "lockstep/objective/options.h"

namespace lockstep::objective {

using at::Tensor;

// The rank's part of the global batch. Everything random about sample i is a function of draw first
// + i (streams "<objective>/<purpose>", micro = use within the step).
struct Batch {
  Tensor values;          // [N, ...sample shape], lane-major
  Draw first;             // global draw of values[0]
  Tensor condition = {};  // [N, classes]; undefined where the data have no classes
};

struct Role {
  std::string name;  // "model"; "generator", "discriminator"
  std::shared_ptr<model::Network> network;
};
using Networks = std::vector<Role>;
model::Network& network_of(const Networks& networks,
                           std::string_view role);  // Error(kBug) if absent

// Whole numbers about a phase's samples, such as how many a discriminator judged rightly: they add
// up by name, over portions and ranks, in any order.
using Counts = std::vector<std::pair<std::string, std::int64_t>>;
void add(Counts& sums, const Counts& more);

struct Loss {
  // [P] partial sums over the rank's samples of the loss a sample: the loss is their sum over lanes
  // in the tree, times 1/batch.
  Tensor sums;
  // What is counted, and of which tensors, as the host has them (ops::to_host): asked after the
  // backward pass. Null: nothing.
  std::vector<Tensor> seen = {};
  std::function<Counts(const std::vector<Tensor>& seen)> counts = {};
};

class Phase {
 public:
  virtual ~Phase() = default;
  // What the phase's generator makes for these samples, [N, ...sample shape], with graph if the
  // phase trains it. Undefined where there is no generator. As `loss`.
  virtual Tensor generated(lane::Context& /*context*/, const Batch& /*batch*/) const { return {}; }
  // Of the context's samples, and what was generated for them. `prepare` of all networks has run.
  // Collective: where a network mixes samples (batch norm). Bits: parameters, batch, seed, lanes.
  virtual Loss loss(lane::Context& context, const Batch& batch, const Tensor& generated) const = 0;
};
// With what the generator makes for the same samples.
Loss loss_at_once(const Phase& phase, lane::Context& context, const Batch& batch);

// Which samples are made: those with the numbers [first, first + count) of the stream of pictures.
// A sample is a function of seed, number, class and the weights, not of count.
struct SampleRange {
  std::int64_t first = 0, count = 0;
  std::optional<std::int64_t> label = {};  // of all; without: sample i has the class i mod classes
};
// The class of each; empty where there are no classes. Error(kUsage) for a label that none has.
std::vector<std::int64_t> labels_of(const SampleRange& range, std::int64_t classes);

// Called before each pass of a network that makes samples, with the part of all passes that is done
// (0 to less than 1). What it throws ends the making.
using BeforePass = std::function<void(double done)>;

class Objective {
 public:
  virtual ~Objective() = default;
  // As many as the kind's row has names, in its order.
  const std::vector<std::unique_ptr<Phase>>& phases() const { return phases_; }
  // [count, ...sample shape], without gradients.
  virtual Tensor sample(const SampleRange& range, const BeforePass& before) const = 0;
  Tensor sample(const SampleRange& range) const {
    return sample(range, [](double) {});
  }
  // How often a network is called for a sample; 0: none are made.
  virtual std::int64_t passes_per_sample() const = 0;
  // The loss of each held-out sample [N], without gradients, by random numbers of streams of their
  // own: sample i from position first + i, at every step the same. Labels are not dropped. Only
  // where the kind is a diffusion (diffusion() in options.h); else Error(kBug). Bits: parameters,
  // batch, seed; not the samples beside it.
  virtual Tensor held_out_losses(const Batch& batch) const;

 protected:
  std::vector<std::unique_ptr<Phase>> phases_;
};

// What an objective is made for.
struct Setting {
  std::int64_t seed = 0;
  std::vector<std::int64_t> sample_shape;
  std::int64_t classes = 0;  // of the data; 0: none
  bool bounded = true;       // data are within [-1, 1]; else floats of any size
  Networks networks;         // of its roles
};

// Of the table of kinds. Error(kUsage) for options that do not fit together, and for networks that
// it cannot train: of another sort, or, with a gradient penalty, a discriminator that does not
// allow one.
std::unique_ptr<Objective> make_objective(const Options& options, const Setting& setting);

}  // namespace lockstep::objective

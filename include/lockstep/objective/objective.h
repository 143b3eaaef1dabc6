// What is trained: an objective lists its phases; every phase runs the same verbs of train::step.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockstep/core/ids.h"
#include "lockstep/model/network.h"
#include "lockstep/objective/options.h"

namespace lockstep::objective {

using at::Tensor;

// The rank's part of the global batch. Everything random about sample i is a function of draw first
// + i (streams "<objective>/<purpose>", micro = use within the step).
struct Batch {
  Tensor values;  // [N, ...sample shape], lane-major
  Draw first;     // global draw of values[0]
};

struct Role {
  std::string name;  // "model"; "generator", "discriminator"
  std::shared_ptr<model::Network> network;
};
using Networks = std::vector<Role>;
model::Network& network_of(const Networks& networks,
                           const std::string& role);  // Error(kBug) if absent

struct Phase {
  std::string name;        // key of the loss in the ledger: "denoise"; "discriminator", "generator"
  std::string role;        // whose parameters it trains
  std::string maker = {};  // whose output the loss judges, where that is another network's
};

// What a discriminator said of samples, a logit each, positive for real ones.
struct Judgements {
  Tensor logits;
  bool real = true;  // what the samples are
};
// How many samples a discriminator judged, and how many of them rightly. Whole numbers: they add up
// over ranks in any order.
struct Judged {
  std::int64_t right = 0, all = 0;
};
Judged counted(const std::vector<Judgements>& judgements);  // the logits come to the host

struct Loss {
  // [P] partial sums over the rank's samples of the loss a sample: the loss is their sum over lanes
  // in the tree, times 1/batch.
  Tensor sums;
  std::vector<Judgements> judgements;  // by the way; only where the phase trains a discriminator
};

class Objective {
 public:
  virtual ~Objective() = default;
  virtual std::vector<std::string> roles() const = 0;  // networks it needs, in order
  virtual std::vector<Phase> phases() const = 0;       // in the order of a step
  // Throws Error(kUsage) for networks that it cannot train: another sort, or, with a gradient
  // penalty, a discriminator that does not allow one.
  virtual void check(const Networks& networks) const = 0;
  // What the phase's maker gives for these samples, [N, ...sample shape], with graph if the phase
  // trains it. Undefined where there is no maker. As `loss`.
  virtual Tensor given(int /*phase*/, lane::Context& /*context*/, const Networks& /*networks*/,
                       const Batch& /*batch*/) const {
    return {};
  }
  // Of the context's samples, `given` being what the maker gave for them. `prepare` of all networks
  // has run. Collective: where a network mixes samples (batch norm). Bits: parameters, batch
  // values, draws, seed, lanes.
  virtual Loss loss(int phase, lane::Context& context, const Networks& networks, const Batch& batch,
                    const Tensor& given) const = 0;
  // Samples [count, ...sample shape], number `first` and following of the stream of pictures: a
  // picture is a function of seed, its number and the weights, not of count. No gradients.
  virtual Tensor sample(const Networks& networks, std::int64_t first, std::int64_t count) const = 0;
  // The role whose weights (their average, if one is kept) make samples.
  virtual std::string sampled_role() const = 0;
};

// With what the maker gives for the same samples.
Loss loss_at_once(const Objective& objective, int phase, lane::Context& context,
                  const Networks& networks, const Batch& batch);

// The explicit table: one line a kind.
std::unique_ptr<Objective> make_objective(const Options& options, std::int64_t seed,
                                          const std::vector<std::int64_t>& sample_shape);

}  // namespace lockstep::objective

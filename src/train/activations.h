// How large the values are that a network's layers give in a step: what a check of layers measures
// (monitor.layers_every). Reads them, and changes none.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/lane/plan.h"
#include "lockstep/ops/trace.h"

namespace lockstep::train {

class Activations {
 public:
  // Of the network of this role, in one phase. `plan` must outlive this.
  Activations(std::string role, const lane::Plan& plan, Rank rank);

  // While it lives, what this thread computes in forward passes of that network is measured.
  class Scope {
   public:
    // The passes are of this portion of the rank's lanes; portions may be measured side by side.
    Scope(Activations& all, const lane::Portion& portion);

   private:
    void hear(const std::string& op, at::TensorList inputs, at::TensorList outputs);

    Activations& all_;
    const std::int64_t first_, count_;  // samples, counted from the rank's first
    std::string layer_;                 // the last one that computed something
    const ops::TraceScope listening_;
  };

  // Of each operation that gives a row a sample, in the order of the first pass: the root mean
  // square of its results over all samples of the step and all passes of the phase. A sample's
  // squares are summed as row_dots does, all else in binary64 and in order of the draws. Named
  // "<role>/<path of the layer>/<operation>"; what a network computes between its layers has the
  // name of the layer before it. Collective: yes. Bits: results; not ranks, threads, portions.
  std::vector<std::pair<std::string, float>> root_mean_squares(comm::Group& group) const;

 private:
  struct Sums {
    std::string name;
    std::vector<double> squares;  // by sample of this rank
    std::int64_t values = 0;      // that were squared, of all these samples
  };
  void add(const std::string& name, std::int64_t first, const at::Tensor& results);

  const std::string role_;
  const lane::Plan& plan_;
  const Rank rank_;
  std::mutex mutex_;
  std::vector<Sums> all_;
};

}  // namespace lockstep::train

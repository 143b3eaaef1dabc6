// Private: dead and exploding layers, by the norms of each tensor's gradient and values.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "lockstep/monitor/monitor.h"

namespace lockstep::monitor {

class LayerWatch {
 public:
  explicit LayerWatch(const Options& options) : options_(options) {}
  // Lines of one look, one a tensor that is not fine. Bits: the layers, and those of the looks
  // before.
  std::vector<std::string> look(Step step, std::span<const Layer> layers);

 private:
  struct History {
    std::int64_t dead = 0;        // looks in a row
    std::deque<double> gradient;  // finite norms of the last looks
    std::deque<double> values;
  };
  // How many times the median of `last` the norm is, where it is more than the limit; else 0.
  double growth(std::deque<double>& last, float norm) const;

  const Options options_;
  std::map<std::string, History> histories_;  // by tensor
};

}  // namespace lockstep::monitor

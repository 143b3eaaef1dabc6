// Private: dead and exploding layers, by the norms of each tensor's gradient and values, and by the
// root mean square of what each operation gives.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lockstep/monitor/monitor.h"

namespace lockstep::monitor {

class LayerWatch {
 public:
  explicit LayerWatch(const Options& options) : options_(options) {}
  // Lines of one check, one a thing that is not fine. Bits: the layers and activations, and those
  // of the checks before.
  std::vector<std::string> check(const Observation& seen);

 private:
  struct History {
    std::int64_t dead = 0;        // checks in a row
    std::deque<double> gradient;  // finite norms of the last checks
    std::deque<double> values;
  };
  using Say = std::function<void(const std::string& what)>;
  void check(const Layer& layer, double of_network, double gradient_of_network, const Say& say);
  void check(const std::string& operation, float rms, float highest, const Say& say);
  // Says so if `what` is not finite, or far beyond its median and not small: its square is not far
  // below `whole`.
  void compare(const std::string& what, float value, double whole, std::deque<double>& last,
               const Say& say) const;
  // How many times the median of `last` the value is, where it is more than the limit; else 0.
  double growth(std::deque<double>& last, float value) const;

  const Options options_;
  std::map<std::string, History> histories_;    // by tensor
  std::map<std::string, History> activations_;  // by operation
};

}  // namespace lockstep::monitor

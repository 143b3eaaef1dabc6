// Names a rank that makes the others wait. For people: changes nothing, stops nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/lane/plan.h"

namespace lockstep::train {

class Straggler {
 public:
  explicit Straggler(const lane::Plan& plan) : plan_(plan) {}

  // After a step in which rank r computed for seconds[r], outside of verbs. A line once a rank has
  // computed for 5 s, and 1.5 times as long a lane as the others (their median); then from anew.
  std::optional<std::string> after(const std::vector<double>& seconds);

 private:
  lane::Plan plan_;
  std::vector<double> sums_;
  std::int64_t steps_ = 0;
};

}  // namespace lockstep::train

// Names a rank that makes the others wait. For people: it changes nothing and stops nothing.
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

  // To be called after each step. seconds[r]: how long rank r computed, outside of operations. Once
  // the slowest rank has computed for 5 s: a line if it took 1.5 times as long per lane as the
  // others (their median); then the count starts anew.
  std::optional<std::string> after(const std::vector<double>& seconds);

 private:
  lane::Plan plan_;
  std::vector<double> sums_;
  std::int64_t steps_ = 0;
};

}  // namespace lockstep::train

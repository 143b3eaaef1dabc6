// What rounding to integers of 12 bits (numerics/integer.h) does to the operands of one step: how
// many become 0, and how large the error is. Of runs with float products too, to see it before.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/core/ids.h"

namespace lockstep::audit {

// One operand of one product of a layer that is wide enough.
struct RoundedOperand {
  std::string module;  // "model/down0.block1.conv1"
  std::string op;      // "conv2d", "linear_input_grad"; what was executed
  bool backward = false;
  std::string operand;      // "x", "w" or "dy"
  std::int64_t values = 0;  // of them those that are 0 or not finite do not count
  double zeros = 0;         // share of values other than 0 whose integer is 0
  double error = 0;         // sqrt(sum of (x - rounded x)^2 / sum of x^2), in binary64
};

struct RoundingOptions {
  std::filesystem::path folder;  // the run; never written to
  Step step{1};                  // from the nearest checkpoint before it, on one rank
  std::optional<std::string> data = {};
};

// In the order of execution. Errors: those of `trace`. Bits: recipe, data.
std::vector<RoundedOperand> rounding(const RoundingOptions& options);

}  // namespace lockstep::audit

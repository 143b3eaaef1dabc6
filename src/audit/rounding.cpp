#include "lockstep/audit/rounding.h"

#include "audit/replay_session.h"
#include "lockstep/comm/single_rank.h"
#include "lockstep/core/error.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/numerics/host_math.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/ops.h"
#include "lockstep/ops/trace.h"

namespace lockstep::audit {
namespace {

using at::Tensor;

// Sums over an operand's groups.
RoundedOperand measured(const Tensor& x, std::int64_t groups) {
  const ops::HostView values(ops::bare(x).contiguous());
  const std::span<const float> floats = values.floats();
  const std::size_t size = floats.size() / static_cast<std::size_t>(groups);
  std::vector<std::int16_t> q(floats.size());
  std::vector<std::int32_t> exponents(static_cast<std::size_t>(groups));
  numerics::Cpu().round_groups(groups, 1, static_cast<std::int64_t>(size), floats.data(), q.data(),
                               exponents.data());
  RoundedOperand result;
  result.values = std::ssize(floats);
  double squares = 0, errors = 0, lost = 0, all = 0;
  for (std::size_t i = 0; i < floats.size(); ++i) {
    const std::int32_t exponent = exponents[i / size];
    if (exponent == numerics::spec::kNotFinite || floats[i] == 0.0F) continue;
    const double value = floats[i];
    const double error = value - q[i] * numerics::spec::power_of_two(exponent - 10);
    squares += value * value;
    errors += error * error;
    all += 1;
    lost += q[i] == 0 ? 1 : 0;
  }
  if (all > 0) result.zeros = lost / all;
  if (squares > 0) result.error = numerics::host::sqrt(errors / squares);
  return result;
}

struct Operand {
  const char* name;
  std::size_t input;  // of the op
  bool parameter;     // [P, …]: the same P times
};

// Which inputs of an op are rounded for the first time in a step: a backward pass takes weights as
// they were, and its weight gradients what forward pass and input gradient had. A transposed
// convolution's forward pass is conv2d_input_grad.
std::vector<Operand> operands_of(const std::string& op, bool backward) {
  const bool gradient = op == "conv2d_input_grad" || op == "linear_input_grad";
  if (!gradient && op != "conv2d" && op != "linear") return {};
  if (backward) return {{gradient ? "dy" : "x", 0, false}};
  return {{"x", 0, false}, {"w", 1, true}};
}

// Positions of the small side.
numerics::ConvShape shape_of(const std::string& op, const Tensor& x, const Tensor& w,
                             const Tensor& result) {
  const Tensor& small = op == "conv2d" ? result : x;
  const std::int64_t positions = small.numel() / small.size(0) / small.size(-1);
  return {.n = x.size(0), .h = positions, .w = 1, .in = w.size(-2), .out = w.size(-1)};
}

// The first operand; a linear layer shows one that lies side by side as its first and last input.
Tensor whole(const std::string& op, at::TensorList inputs) {
  if (op != "linear" || inputs.size() < 4) return inputs[0];
  return ops::concat_channels(ops::bare(inputs[0]), ops::bare(inputs[3]));
}

class Listener {
 public:
  explicit Listener(std::vector<RoundedOperand>& all) : all_(all) {}

  void operator()(const std::string& op, at::TensorList inputs, at::TensorList outputs) {
    const bool backward = ops::where().pass == ops::Pass::kBackward;
    const auto operands = operands_of(op, backward);
    // A backward function is shown as a whole, too: with one input.
    if (operands.empty() || inputs.size() < 2) return;
    const Tensor first = whole(op, inputs);
    if (!numerics::integer_products(shape_of(op, first, inputs[1], outputs[0]))) return;
    for (const Operand& operand : operands) {
      const Tensor& x = operand.input == 0 ? first : inputs[operand.input];
      RoundedOperand one = operand.parameter ? measured(x.select(0, 0), 1) : measured(x, x.size(0));
      one.module = ops::where().module;
      one.op = op;
      one.backward = backward;
      one.operand = operand.name;
      all_.push_back(one);
    }
  }

 private:
  std::vector<RoundedOperand>& all_;
};

std::vector<RoundedOperand> computed(const RoundingOptions& options, comm::Group& group) {
  ReplaySession session(options.folder, options.data, group);
  session.without_witnesses();
  session.go_before(options.step);
  std::vector<RoundedOperand> all;
  const ops::TraceScope scope{Listener(all)};
  session.step();
  return all;
}

}  // namespace

std::vector<RoundedOperand> rounding(const RoundingOptions& options) {
  comm::SingleRank group;
  return computed(options, group);
}

}  // namespace lockstep::audit

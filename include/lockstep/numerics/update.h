// An optimiser's update and the moving averages of its parameters, in place, with the leaves
// (hash/leaf.h) of what was there before and of what is there now: memory is read once.
//
// Scalars are computed on the host in double (host_math.h) and rounded once to binary32. Each line
// below is one rounded operation (or fma) in this order.
//
// AdamW (Loshchilov & Hutter 2019, PyTorch's form; Kingma & Ba 2015), slots m and v, t from 1:
//   m = fma(beta1, m, (1-beta1)*g);  v = fma(beta2, v, (1-beta2)*(g*g))
//   d = sqrt(v) * inv_sqrt_bias2 + eps   (product rounded, then the sum)
//   p = p * decay;  p = p - step_size * (m / d)   (quotient, product, difference each rounded)
// with one_minus_beta = float(1-beta), step_size = lr / (1 - beta1^t), inv_sqrt_bias2 = 1/sqrt(1 -
// beta2^t), decay = 1 - lr*weight_decay.
//
// SGD with momentum (Sutskever et al. 2013; PyTorch's form), slot u: g' = fma(weight_decay, p, g);
//   u = fma(momentum, u, g');  p = fma(-lr, u, p)
// With nesterov (Sutskever et al. 2013, equations 3 and 4, in PyTorch's form) the last is
//   d = fma(momentum, u, g');  p = fma(-lr, d, p)
//
// Lion (Chen et al. 2023), slot m, sign(x) 1, -1, or x + 0 for a zero and for what is not a number:
//   u = fma(beta1, m, (1-beta1)*g);  p = fma(-decay, p, p);  p = fma(-lr, sign(u), p)
//   m = fma(beta2, m, (1-beta2)*g)
// with one_minus_beta = float(1-beta), decay = lr*weight_decay.
//
// Exponential moving average, of the new p: e = fma(one_minus_decay, p - e, e)
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "lockstep/hash/leaf.h"
#include "lockstep/numerics/spec/update_scalars.h"

namespace lockstep::numerics {

// What an update does to parameters. Keep leaves them as they are: without g, without slots.
struct Keep {};
using UpdateRule = std::variant<Keep, AdamW, Sgd, Lion>;

// An array that an update changes, and where the leaves of its tiles go, one a tile: on the host;
// nowhere if null. `before` are those of what was read, `after` of what was written.
struct Updated {
  float* values = nullptr;
  hash::Leaf* before = nullptr;
  hash::Leaf* after = nullptr;
};

// A tensor of n elements, or a slice of it, with all that is kept of it.
struct UpdatedTensor {
  struct Average {
    Updated e;
    float one_minus_decay = 0;
  };

  std::int64_t n = 0;
  const float* g = nullptr;
  Updated p;
  std::vector<Updated> slots;  // those of the rule, in its order
  std::vector<Average> averages;
};

// An update that a device was asked for.
class PendingUpdate {
 public:
  PendingUpdate() = default;
  virtual ~PendingUpdate() = default;
  PendingUpdate(const PendingUpdate&) = delete;
  PendingUpdate& operator=(const PendingUpdate&) = delete;

  // Waits for it; then the leaves are where they were to go. Whether all that was written is
  // finite. Once. Error(kEnvironment) if the device is lost.
  virtual bool finish() = 0;
};

// One that is done already.
class DoneUpdate final : public PendingUpdate {
 public:
  explicit DoneUpdate(bool finite) : finite_(finite) {}
  bool finish() override { return finite_; }

 private:
  const bool finite_;
};

class Updates {
 public:
  // No array is in two places. What is called next finds the new values; places of leaves stay
  // until it is finished or gone. Bits: the rule and each tensor's values; not of the other
  // tensors.
  virtual std::unique_ptr<PendingUpdate> update(const UpdateRule& rule,
                                                std::span<const UpdatedTensor> tensors) = 0;

 protected:
  ~Updates() = default;
};

}  // namespace lockstep::numerics

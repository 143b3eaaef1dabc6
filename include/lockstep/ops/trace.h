// Shows every op to a listener, forward and backward: what finds the first one that differs.
#pragma once

#include <functional>
#include <string>

#include "lockstep/ops/record.h"
#include "lockstep/ops/where.h"

namespace lockstep::ops {

// `op` has turned `inputs` into `outputs`, at where(): in a backward pass where().op is the op
// whose gradient is being computed, and `op` that one itself (with the gradients of its inputs for
// outputs) or one that its backward function calls. Undefined tensors stay undefined.
using Listener =
    std::function<void(const std::string& op, at::TensorList inputs, at::TensorList outputs)>;

// While it lives, what this thread computes is shown to `listener`, in the order of execution.
class TraceScope {
 public:
  explicit TraceScope(Listener listener);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  const Listener listener_;
  const Listener* const outer_;
};

// Whether this thread's computation is shown.
bool traced();

// Shows something that was computed outside of recorded ops: noise, sums over lanes, an optimiser.
void show(const char* op, at::TensorList inputs, at::TensorList outputs);

}  // namespace lockstep::ops

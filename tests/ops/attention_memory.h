// What attention takes of a device's memory, by a walk that computes nothing.
#pragma once

#include "lockstep/ops/memory.h"
#include "lockstep/ops/ops.h"

namespace lockstep::ops {

// What a forward pass and its graph leave behind, and the most that both passes need, but for the
// result, its gradient, and the gradient of q, k and v.
struct AttentionMemory {
  std::int64_t left, peak;
};

inline AttentionMemory memory_of_attention(std::int64_t n, std::int64_t tokens, std::int64_t heads,
                                           std::int64_t d) {
  const Allocations memory;
  const std::int64_t floats = n * tokens * heads * d;
  const Tensor qkv = empty({n, tokens, 3 * heads * d}).set_requires_grad(true);
  const std::int64_t before = memory.live();
  const Tensor out = attention(qkv, heads);
  const std::int64_t left = memory.live() - before - 4 * floats;
  gradients({out}, {empty(out.sizes())}, {qkv}, false);
  return {left, memory.peak() - before - 4 * floats * 5};
}

}  // namespace lockstep::ops

// What exchanges take of the memory that they exchange in, and send, counted from sizes alone: for
// the plan of a step (train/memory.h).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lockstep/lane/exchange.h"

namespace lockstep::lane {

// Bytes in the memory of a rank's tensors, at most; and those that it sends, about.
struct MessageBytes {
  // Messages, from when they are packed until they are used, and what kernels are told of them.
  std::int64_t in_flight = 0;
  // Until the phase ends: the places of the sums; partials of a rank whose lanes are several
  // subtrees, where one that is alone has a sum.
  std::int64_t kept = 0;
  std::int64_t sent = 0;     // to all other ranks
  std::int64_t longest = 0;  // of these, to one rank in one operation
};

struct Exchanger {
  const Plan& plan;
  Rank rank{0};
  bool in_device = false;  // messages lie in GPUs' memory, of all ranks
  // Messages lie in the host's memory and tensors on a GPU: they pass through copies there.
  bool elsewhere = false;
  bool divided = false;  // every rank keeps its slices of the parameters' gradients
};

// Of the gradients that an Outbox sends. Nothing in a world of one.
MessageBytes messages_of(const Exchanger& who, const std::vector<Outbox::Expected>& expected);
// Of all_gather (slices.h), tensors of these sizes having been divided.
MessageBytes messages_of_slices(const Exchanger& who, const std::vector<std::int64_t>& sizes);

// While it lives, hears what every Outbox of this process is to send. One at a time, while no other
// thread computes.
class ExpectedScope {
 public:
  using Hear = std::function<void(const std::vector<Outbox::Expected>&)>;
  explicit ExpectedScope(Hear hear);
  ~ExpectedScope();
  ExpectedScope(const ExpectedScope&) = delete;
  ExpectedScope& operator=(const ExpectedScope&) = delete;

 private:
  const Hear hear_;
};

}  // namespace lockstep::lane

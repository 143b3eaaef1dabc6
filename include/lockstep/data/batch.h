// A batch: consecutive draws of the sample stream, decoded.
#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/core/ids.h"
#include "lockstep/data/augment.h"
#include "lockstep/data/dataset.h"
#include "lockstep/data/order.h"

namespace lockstep::data {

struct Batch {
  Draw first;                          // draws [first, first + count)
  std::int64_t count = 0;              // samples
  std::vector<float> values;           // [count][sample_shape], in draw order
  std::vector<std::int64_t> labels{};  // [count], in draw order; empty: the data have no classes
};

// A pure function of its arguments. A rank asks only for the draws of its own block of lanes.
// Bits: all arguments.
Batch assemble(const Dataset& dataset, const Order& order, Draw first, std::int64_t count,
               const Augment& augment = {});

}  // namespace lockstep::data

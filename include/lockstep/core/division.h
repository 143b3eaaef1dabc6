// How one tensor is divided among ranks. lane::Partition makes it; everybody else reads it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "lockstep/core/ids.h"

namespace lockstep {

// Elements [first, last) of one tensor.
struct Slice {
  std::int64_t first = 0, last = 0;
  std::int64_t size() const { return last - first; }
  bool operator==(const Slice&) const = default;
};

class Division {
 public:
  // One slice a rank; together they are the tensor, and none overlap.
  explicit Division(std::vector<Slice> by_rank) : by_rank_(std::move(by_rank)) {}

  int world() const { return static_cast<int>(by_rank_.size()); }
  const Slice& slice(Rank rank) const { return by_rank_.at(static_cast<std::size_t>(rank.value)); }
  std::int64_t size() const {  // of the whole
    std::int64_t total = 0;
    for (const Slice& slice : by_rank_) total += slice.size();
    return total;
  }

 private:
  std::vector<Slice> by_rank_;
};

}  // namespace lockstep

#include "lockstep/comm/single_rank.h"

#include <cstring>

#include "reason.h"

namespace lockstep::comm {

void SingleRank::all_to_all(std::span<const ByteView> to, std::span<const MutableByteView> from,
                            Memory memory) {
  check();
  LOCKSTEP_ASSERT(memory == Memory::kHost);
  LOCKSTEP_ASSERT(to.size() == 1 && from.size() == 1 && to[0].size() == from[0].size());
  if (!to[0].empty()) std::memmove(from[0].data(), to[0].data(), to[0].size());
}

void SingleRank::all_gather(ByteView mine, std::span<const MutableByteView> from, Memory memory) {
  all_to_all({&mine, 1}, from, memory);
}

void SingleRank::broadcast(Rank, MutableByteView) {
  check();
}

void SingleRank::barrier() {
  check();
}

void SingleRank::abort(const Error& reason) {
  if (!reason_) reason_ = reason.within(kGroupStopped);
}

void SingleRank::check() const {
  if (reason_) throw *reason_;
}

}  // namespace lockstep::comm

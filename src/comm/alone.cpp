#include "lockstep/comm/alone.h"

#include <cstring>

#include "reason.h"

namespace lockstep::comm {

void Alone::all_to_all(std::span<const ByteView> to, std::span<const MutableByteView> from,
                       Memory memory) {
  check();
  LOCKSTEP_ASSERT(memory == Memory::kHost);
  LOCKSTEP_ASSERT(to.size() == 1 && from.size() == 1 && to[0].size() == from[0].size());
  if (!to[0].empty()) std::memmove(from[0].data(), to[0].data(), to[0].size());
}

void Alone::all_gather(ByteView mine, std::span<const MutableByteView> from, Memory memory) {
  all_to_all({&mine, 1}, from, memory);
}

void Alone::broadcast(Rank, MutableByteView) {
  check();
}

void Alone::barrier() {
  check();
}

void Alone::abort(const Error& reason) {
  if (!reason_) reason_ = reason.within(kGroupStopped);
}

void Alone::check() const {
  if (reason_) throw *reason_;
}

}  // namespace lockstep::comm

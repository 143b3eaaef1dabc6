#include "support/gpu/stream_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "support/far_device/memory.h"

namespace lockstep::test::gpu {

namespace far = testing::far;

// Of larger blocks no more: pages take memory when they are written.
constexpr std::size_t kFilled = std::size_t{256} << 20;

StreamMemory::StreamMemory(Streams& streams, Heard there, Heard gone)
    : streams_(streams), there_(std::move(there)), gone_(std::move(gone)) {}

void* StreamMemory::take(std::size_t bytes, Streams::Stream stream) {
  const std::scoped_lock lock(mutex_);
  forget_done();
  void* const memory = far::take(bytes, [&](const void* at) {
    const auto* const first = static_cast<const char*>(at);
    const auto elsewhere = std::ranges::find_if(freed_, [&](const Freed& freed) {
      return !orders_ && is_elsewhere(freed, first, bytes, stream);
    });
    if (elsewhere == freed_.end()) return first;
    return elsewhere->first +
           (elsewhere->bytes + far::kAlignment - 1) / far::kAlignment * far::kAlignment;
  });
  if (memory == nullptr) return nullptr;
  taken_[memory] = bytes;
  streams_.count_block(stream);
  order_after_frees(static_cast<const char*>(memory), bytes, stream);
  streams_.put(stream, [this, memory, bytes] {
    std::memset(far::near(memory), 0xff, std::min(bytes, kFilled));
    if (there_) there_(memory, bytes);
  });
  return memory;
}

bool StreamMemory::give_back(void* memory, Streams::Stream stream) {
  const std::scoped_lock lock(mutex_);
  const auto at = taken_.find(memory);
  if (at == taken_.end()) return false;
  const std::size_t bytes = at->second;
  const auto done = std::make_shared<std::atomic<bool>>(false);
  streams_.put(stream, [this, memory, bytes, done] {
    if (gone_) gone_(memory, bytes);
    *done = true;
  });
  freed_.push_back({static_cast<const char*>(memory), bytes, stream, done});
  taken_.erase(at);
  far::release(memory);
  return true;
}

void StreamMemory::forget_done() {
  std::erase_if(freed_, [](const Freed& freed) { return freed.done->load(); });
}

bool StreamMemory::is_elsewhere(const Freed& freed, const char* first, std::size_t bytes,
                                Streams::Stream stream) const {
  return freed.by != stream && freed.first < first + bytes && first < freed.first + freed.bytes;
}

// What other streams will have given back and lies in it: a driver orders them.
void StreamMemory::order_after_frees(const char* first, std::size_t bytes, Streams::Stream stream) {
  for (const Freed& freed : freed_) {
    if (!is_elsewhere(freed, first, bytes, stream)) continue;
    if (!streams_.knows(freed.by)) {
      streams_.wait();
      continue;
    }
    const Streams::Event event = streams_.create_event();
    streams_.record(event, freed.by);
    streams_.order(stream, event);
    streams_.destroy_event(event);
  }
}

}  // namespace lockstep::test::gpu

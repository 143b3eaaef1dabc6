#include "support/ptx/pool.h"

#include <algorithm>

#include "support/far_device/memory.h"

namespace lockstep::test::ptx {

namespace {

std::size_t rounded(std::size_t bytes) {
  constexpr std::size_t kUnit = testing::far::kAlignment;
  return (bytes + kUnit - 1) / kUnit * kUnit;
}

}  // namespace

void* Pool::take(std::size_t bytes, Stream stream, const Place& place) {
  Block block{.bytes = rounded(bytes)};
  {
    const std::scoped_lock lock(mutex_);
    block.of = find(block.bytes, stream);
    if (block.of == nullptr) return nullptr;
    use(*block.of, block.bytes, stream);
  }
  return placed(block, place);
}

void* Pool::take_apart(std::size_t bytes, const Place& place) {
  const Block block{.bytes = rounded(bytes)};
  {
    const std::scoped_lock lock(mutex_);
    if (block.bytes > all_ - apart_ - reserved_) return nullptr;
    apart_ += block.bytes;
  }
  return placed(block, place);
}

// Not under the lock: streams may work meanwhile.
void* Pool::placed(const Block& block, const Place& place) {
  void* const start = place();
  const std::scoped_lock lock(mutex_);
  if (start != nullptr)
    blocks_[start] = block;
  else
    (block.of != nullptr ? block.of->used : apart_) -= block.bytes;
  return start;
}

// The one with the least room of those that have enough, else a new one.
Pool::Allocation* Pool::find(std::size_t bytes, Stream stream) {
  for (Allocation& one : allocations_) one.room = one.bytes - one.used + one.done;
  for (const Freed& freed : freed_)
    if (freed.block.of != nullptr && may_have(freed, stream))
      freed.block.of->room += freed.block.bytes;
  Allocation* best = nullptr;
  for (Allocation& one : allocations_)
    if (one.room >= bytes && (best == nullptr || one.room < best->room)) best = &one;
  if (best != nullptr) return best;
  if (bytes > all_ - apart_ - reserved_) return nullptr;
  reserved_ += bytes;
  return &allocations_.emplace_back(Allocation{.bytes = bytes});
}

// First what nobody uses, then what was given back.
void Pool::use(Allocation& allocation, std::size_t bytes, Stream stream) {
  std::size_t lacking = bytes - std::min(bytes, allocation.bytes - allocation.used);
  const auto reuse = [&](std::size_t& given_back) {
    const std::size_t some = std::min(lacking, given_back);
    given_back -= some;
    allocation.used -= some;
    lacking -= some;
  };
  reuse(allocation.done);
  for (Freed& freed : freed_) {
    if (freed.block.of != &allocation || !may_have(freed, stream)) continue;
    reuse(freed.block.bytes);
    if (freed.block.bytes == 0) freed.block.of = nullptr;  // which may go before this is done
  }
  allocation.used += bytes;
}

bool Pool::give_back(const void* block, Stream stream) {
  const std::scoped_lock lock(mutex_);
  const auto at = blocks_.find(block);
  if (at == blocks_.end()) return false;
  freed_.push_back({block, at->second, stream});
  blocks_.erase(at);
  return true;
}

void Pool::done(const void* block) {
  const std::scoped_lock lock(mutex_);
  const auto at = std::ranges::find(freed_, block, &Freed::start);
  if (at->block.of != nullptr)
    at->block.of->done += at->block.bytes;
  else
    apart_ -= at->block.bytes;
  freed_.erase(at);
}

void Pool::see() {
  const std::scoped_lock lock(mutex_);
  for (Allocation& one : allocations_) {
    one.used -= one.done;
    one.done = 0;
  }
  release(threshold_);
}

void Pool::trim(std::uint64_t keep) {
  const std::scoped_lock lock(mutex_);
  release(keep);
}

void Pool::release(std::uint64_t keep) {
  std::erase_if(allocations_, [&](const Allocation& one) {
    if (one.used > 0 || reserved_ - one.bytes < keep) return false;
    reserved_ -= one.bytes;
    return true;
  });
}

void Pool::threshold(std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  threshold_ = bytes;
}

void Pool::order_streams(bool allowed) {
  const std::scoped_lock lock(mutex_);
  orders_ = allowed;
}

std::size_t Pool::free() {
  const std::scoped_lock lock(mutex_);
  return all_ - apart_ - reserved_;
}

std::size_t Pool::reserved() {
  const std::scoped_lock lock(mutex_);
  return reserved_;
}

std::size_t Pool::used() {
  const std::scoped_lock lock(mutex_);
  std::size_t bytes = 0;
  for (const Allocation& one : allocations_) bytes += one.used;
  return bytes;
}

}  // namespace lockstep::test::ptx

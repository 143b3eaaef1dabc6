#include "ops/large_blocks.h"

#include <sys/mman.h>

#include <bit>
#include <thread>

namespace lockstep::ops {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kGrowth = std::size_t{16} << 20;  // of what is writable
constexpr std::size_t kLeastRest = std::size_t{16} << 10;
constexpr int kSpins = 1000;

std::size_t rounded_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

}  // namespace

struct alignas(kAlignment) LargeBlocks::Header {
  std::size_t size = 0;      // with this
  Header* before = nullptr;  // in memory
  Header* next = nullptr;    // in the list of free ones
  Header* previous = nullptr;
  bool free = false;
  std::array<void*, 3> null = {};  // the last stands in front of the block's bytes

  std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }
};

// A block is found in less time than a thread takes to fall asleep and to be woken.
class LargeBlocks::Lock {
 public:
  explicit Lock(std::atomic_flag& busy) : busy_(busy) {
    for (int spin = 0; busy_.test_and_set(std::memory_order_acquire); ++spin)
      if (spin >= kSpins) std::this_thread::yield();
  }
  ~Lock() { busy_.clear(std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  std::atomic_flag& busy_;
};

std::unique_ptr<LargeBlocks> LargeBlocks::of(std::size_t bytes) {
  static_assert(sizeof(Header) == kAlignment);
  const std::size_t size = rounded_up(bytes, kGrowth);
  void* const base =
      ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  return std::unique_ptr<LargeBlocks>(new LargeBlocks(static_cast<std::byte*>(base), size));
}

LargeBlocks::~LargeBlocks() {
  ::munmap(base_, size_);
}

void* LargeBlocks::allocate(std::size_t bytes) {
  if (bytes > size_) return nullptr;
  const std::size_t size = rounded_up(bytes, kAlignment) + sizeof(Header);
  const Lock lock(busy_);
  Header* block = best_fit(size);
  if (block == nullptr) block = grown(size);
  if (block == nullptr) return nullptr;
  unlink(block);
  give_back_rest(block, size);
  block->free = false;
  block->null = {};
  return block->bytes();
}

void LargeBlocks::release(void* bytes) noexcept {
  auto* block = static_cast<Header*>(bytes) - 1;
  const Lock lock(busy_);
  block->free = true;
  const auto swallow = [&](Header* first, Header* second) {
    first->size += second->size;
    if (last_ == second) last_ = first;
    if (Header* const next = behind(first)) next->before = first;
  };
  if (Header* const next = behind(block); next != nullptr && next->free) {
    unlink(next);
    swallow(block, next);
  }
  if (Header* const before = block->before; before != nullptr && before->free) {
    unlink(before);
    swallow(before, block);
    block = before;
  }
  link(block);
}

LargeBlocks::Header* LargeBlocks::best_fit(std::size_t size) {
  for (auto bin = static_cast<std::size_t>(std::bit_width(size)); bin < free_.size(); ++bin) {
    Header* best = nullptr;
    for (Header* block = free_[bin]; block != nullptr; block = block->next)
      if (block->size >= size && (best == nullptr || block->size < best->size)) best = block;
    if (best != nullptr) return best;
  }
  return nullptr;
}

LargeBlocks::Header* LargeBlocks::grown(std::size_t size) {
  const std::size_t there = last_ != nullptr && last_->free ? last_->size : 0;
  if (size - there > size_ - extent()) return nullptr;
  std::byte* const end = end_ + (size - there);
  if (end > writable_) {
    std::byte* const up_to = base_ + rounded_up(static_cast<std::size_t>(end - base_), kGrowth);
    const auto more = static_cast<std::size_t>(up_to - writable_);
    if (::mprotect(writable_, more, PROT_READ | PROT_WRITE) != 0) return nullptr;
    writable_ = up_to;
  }
  if (there > 0) {
    unlink(last_);
    last_->size = size;
  } else {
    auto* const block = reinterpret_cast<Header*>(end_);
    *block = {.size = size, .before = last_, .free = true};
    last_ = block;
  }
  end_ = end;
  link(last_);
  return last_;
}

void LargeBlocks::give_back_rest(Header* block, std::size_t size) {
  if (block->size < size + kLeastRest) return;
  auto* const rest = reinterpret_cast<Header*>(reinterpret_cast<std::byte*>(block) + size);
  *rest = {.size = block->size - size, .before = block, .free = true};
  block->size = size;
  if (last_ == block) last_ = rest;
  if (Header* const next = behind(rest)) next->before = rest;
  link(rest);
}

LargeBlocks::Header* LargeBlocks::behind(Header* block) const {
  std::byte* const next = reinterpret_cast<std::byte*>(block) + block->size;
  return next < end_ ? reinterpret_cast<Header*>(next) : nullptr;
}

void LargeBlocks::link(Header* block) {
  Header*& first = free_[static_cast<std::size_t>(std::bit_width(block->size))];
  block->next = first;
  block->previous = nullptr;
  if (first != nullptr) first->previous = block;
  first = block;
}

void LargeBlocks::unlink(Header* block) {
  Header*& first = free_[static_cast<std::size_t>(std::bit_width(block->size))];
  (block->previous != nullptr ? block->previous->next : first) = block->next;
  if (block->next != nullptr) block->next->previous = block->previous;
}

}  // namespace lockstep::ops

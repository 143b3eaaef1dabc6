#include "lockstep/ops/memory.h"

#include <c10/core/CPUAllocator.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/core/text.h"
#include "lockstep/numerics/idle.h"
#include "lockstep/ops/gpu_tensors.h"
#include "ops/large_blocks.h"

namespace lockstep::ops {
namespace {

// There is one walk a process at a time, and no other thread computes; its ops may run in a thread
// of their own.
std::atomic<bool> walks_for_gpu = false;
std::atomic<int> walked_threads = 0;

constexpr std::size_t kSmall = std::size_t{1} << 16;  // these get memory of their own
constexpr std::size_t kReal = std::size_t{16} << 20;  // that stands for all larger ones

LargeBlocks* large_blocks = nullptr;  // if threads share one; tensors may outlive all else

// LibTorch's kernels ask for plain memory, too: then the data must be all that giving it back
// needs. So the block's address stands in front of the data; null in front of a large block.
class Malloc : public at::Allocator {
 public:
  at::DataPtr allocate(std::size_t bytes) override {
    if (large_blocks != nullptr && bytes >= LargeBlocks::kLeast)
      if (void* const data = large_blocks->allocate(bytes))
        return {data, data, &release, at::Device(at::kCPU)};
    void* block = std::malloc(bytes + kAlignment + sizeof(void*));
    if (block == nullptr) throw std::bad_alloc();
    const auto first = reinterpret_cast<std::uintptr_t>(block) + sizeof(void*);
    void* data = reinterpret_cast<void*>((first + kAlignment - 1) / kAlignment * kAlignment);
    static_cast<void**>(data)[-1] = block;
    return {data, data, &release, at::Device(at::kCPU)};
  }
  at::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memmove(to, from, bytes);
  }

 private:
  static constexpr std::uintptr_t kAlignment = 64;
  static void release(void* data) {
    if (void* const block = static_cast<void**>(data)[-1])
      std::free(block);
    else
      large_blocks->release(data);
  }
};

// Addresses as many as the largest tensor has, behind which lie kReal bytes again and again.
class Arena {
 public:
  Arena() = default;
  ~Arena() {
    for (const auto& [base, size] : mapped_) ::munmap(base, size);
    if (file_ >= 0) ::close(file_);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Room for `bytes`; every call may give the same.
  void* at_least(std::size_t bytes) {
    const std::size_t largest = mapped_.empty() ? 0 : mapped_.back().second;
    if (bytes <= largest) return mapped_.back().first;
    const std::size_t wanted = (std::max(bytes, 2 * largest) + kReal - 1) / kReal * kReal;
    if (file_ < 0) {
      file_ = ::memfd_create("lockstep-allocations", MFD_CLOEXEC);
      if (file_ < 0 || ::ftruncate(file_, kReal) != 0) {
        const int error = errno;
        throw Error(Code::kEnvironment,
                    "a step's memory cannot be counted, which takes a file of " +
                        human_bytes(kReal) +
                        " in memory: " + std::generic_category().message(error),
                    error == EFBIG ? "allow larger files: ulimit -f" : "");
      }
    }
    void* base =
        ::mmap(nullptr, wanted, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) refuse(bytes);
    for (std::size_t at = 0; at < wanted; at += kReal) {
      if (::mmap(static_cast<char*>(base) + at, kReal, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_FIXED, file_, 0) == MAP_FAILED) {
        ::munmap(base, wanted);  // the process has no mapping left, not even for malloc
        refuse(bytes);
      }
    }
    mapped_.emplace_back(base, wanted);  // beside the smaller one, where tensors lie
    return base;
  }

 private:
  [[noreturn]] static void refuse(std::size_t bytes) {
    throw Error(Code::kEnvironment,
                "one tensor alone needs " + human_bytes(static_cast<double>(bytes)) +
                    " of memory, more than fits into this process",
                "lower --lanes-at-once, batch.samples_per_lane or the model's size");
  }

  int file_ = -1;
  std::vector<std::pair<void*, std::size_t>> mapped_;  // the last is the largest
};

// Aligned as tensors are: a GPU's kernels may be chosen by it.
void* zeros(std::size_t bytes) {
  constexpr std::size_t kAligned = 64;
  const std::size_t whole = (bytes / kAligned + 1) * kAligned;
  void* const data = std::aligned_alloc(kAligned, whole);
  if (data != nullptr) std::memset(data, 0, whole);
  return data;
}

}  // namespace

void take_memory(bool share_large_blocks) {
  if (share_large_blocks) {
    const auto pages = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES));
    const std::size_t most = 2 * pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    large_blocks = LargeBlocks::of(most).release();
  }
  static Malloc blocks;
  c10::SetCPUAllocator(&blocks, /*priority=*/UINT8_MAX);
}

class Allocations::Allocator : public at::Allocator {
 public:
  at::DataPtr allocate(std::size_t bytes) override {
    auto* block = new Block{this, static_cast<std::int64_t>(bytes), nullptr};
    void* data = nullptr;
    if (bytes <= kSmall)
      data = block->own = zeros(bytes);
    else
      data = arena_.at_least(bytes);
    count(block->bytes);
    return {data, block, &release, at::Device(at::kCPU)};
  }
  // Only our ops ask, and for tensors.
  at::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memmove(to, from, bytes);
  }

  void count(std::int64_t bytes) {
    live += bytes;
    peak = std::max<std::int64_t>(peak, live);
  }

  at::Allocator* replaced = nullptr;
  std::int64_t live = 0, peak = 0;

 private:
  struct Block {
    Allocator* allocator;
    std::int64_t bytes;
    void* own;
  };
  static void release(void* context) {
    auto* block = static_cast<Block*>(context);
    block->allocator->live -= block->bytes;
    std::free(block->own);
    delete block;
  }

  Arena arena_;
};

Allocations::Allocations() : allocator_(new Allocator) {
  walks_for_gpu = !tensors_device().is_cpu();
  walked_threads = walks_for_gpu ? 1 : device().host().threads();
  if (walks_for_gpu) {
    idle_ = gpu_memory().idle([to = allocator_](std::int64_t bytes) { to->count(bytes); });
  } else {
    idle_ = std::make_unique<numerics::Idle>();
  }
  computes_nothing_.emplace(*idle_);
  allocator_->replaced = c10::GetCPUAllocator();
  c10::SetCPUAllocator(allocator_, /*priority=*/UINT8_MAX);
}

Allocations::~Allocations() {
  walks_for_gpu = false;
  walked_threads = 0;
  computes_nothing_.reset();
  idle_.reset();
  c10::SetCPUAllocator(allocator_->replaced, /*priority=*/UINT8_MAX);
  if (allocator_->live == 0) delete allocator_;
}

std::int64_t Allocations::live() const {
  return allocator_->live;
}

std::int64_t Allocations::peak() const {
  return allocator_->peak;
}

void Allocations::reset_peak() {
  allocator_->peak = allocator_->live;
}

int counted_threads() {
  return walked_threads;
}

bool on_gpu() {
  return walks_for_gpu || !tensors_device().is_cpu();
}

}  // namespace lockstep::ops

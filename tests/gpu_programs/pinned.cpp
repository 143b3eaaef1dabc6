// All memory of a program's process, main's stack as well, in pages that a GPU reads at the host's
// addresses: for tests that give kernels memory of the host. Linked with -Wl,--wrap=main.
#include "gpu_programs/pinned.h"

#include <pthread.h>

#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>

#include "lockstep/core/error.h"

namespace lockstep::test::gpu {
namespace {

constexpr std::size_t kPiece = std::size_t{64} << 20;
constexpr std::size_t kStack = std::size_t{64} << 20;

[[noreturn]] void give_up(const char* why) {
  std::fprintf(stderr, "NOT PROVED: kernels on a GPU: %s\n", why);
  std::_Exit(static_cast<int>(Code::kEnvironment));
}

// Blocks of powers of two, one list of free ones each.
class Pinned {
 public:
  void* take(std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    const auto size = std::bit_ceil(bytes + kHeader);
    Block*& free = free_[static_cast<std::size_t>(std::countr_zero(size))];
    void* start = free;
    if (free == nullptr) {
      start = fresh(size);
    } else {
      free = free->next;
    }
    *static_cast<std::size_t*>(start) = size;
    void* const memory = static_cast<char*>(start) + kHeader;
    if (reach_only != nullptr) reach_only(memory, bytes);
    return memory;
  }
  void give_back(void* memory) {
    const std::scoped_lock lock(mutex_);
    if (reach_only != nullptr) reach_only(memory, 0);
    auto* const start = static_cast<char*>(memory) - kHeader;
    const std::size_t size = *reinterpret_cast<std::size_t*>(start);
    Block*& free = free_[static_cast<std::size_t>(std::countr_zero(size))];
    free = new (start) Block{free};
  }

  // In front of each block: its size, or 0 of one that is malloc's.
  static constexpr std::size_t kHeader = 64;

 private:
  struct Block {
    Block* next;
  };

  void* fresh(std::size_t size) {
    if (size > left_) {
      left_ = size > kPiece ? size : kPiece;
      at_ = static_cast<char*>(pinned_pages(left_));
      if (at_ == nullptr) give_up("it gives no pinned memory");
      if (reach_only != nullptr) reach_only(at_, 0);  // blocks say for themselves
    }
    void* const start = at_;
    at_ += size;
    left_ -= size;
    return start;
  }

  std::mutex mutex_;
  std::array<Block*, 64> free_{};
  char* at_ = nullptr;
  std::size_t left_ = 0;
};

// From the start of main on: what static objects took before is malloc's, and stays.
Pinned* pinned = nullptr;

void* allocate(std::size_t bytes, std::size_t alignment = 0) {
  if (alignment > Pinned::kHeader) give_up("memory of such an alignment");
  if (pinned != nullptr) return pinned->take(bytes);
  const std::size_t whole = (bytes + 2 * Pinned::kHeader - 1) / Pinned::kHeader * Pinned::kHeader;
  auto* const start = static_cast<char*>(std::aligned_alloc(Pinned::kHeader, whole));
  if (start == nullptr) throw std::bad_alloc();
  *reinterpret_cast<std::size_t*>(start) = 0;
  return start + Pinned::kHeader;
}

void release(void* memory) {
  if (memory == nullptr) return;
  auto* const start = static_cast<char*>(memory) - Pinned::kHeader;
  if (*reinterpret_cast<std::size_t*>(start) == 0) {
    std::free(start);
  } else {
    pinned->give_back(memory);
  }
}

struct Main {
  int argc;
  char** argv;
  int result;
};

}  // namespace
}  // namespace lockstep::test::gpu

using lockstep::test::gpu::allocate;
using lockstep::test::gpu::release;

void* operator new(std::size_t bytes) {
  return allocate(bytes);
}
void* operator new[](std::size_t bytes) {
  return allocate(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  release(memory);
}
void operator delete[](void* memory) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  release(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  release(memory);
}

extern "C" {
int __real_main(int argc, char** argv);

int __wrap_main(int argc, char** argv) {
  using namespace lockstep::test::gpu;
  if (const char* const why = find_gpu(); why != nullptr) give_up(why);
  static Pinned memory;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  const std::size_t stack = kStack - Pinned::kHeader;
  if (pthread_attr_setstack(&attributes, memory.take(stack), stack) != 0)
    give_up("no stack in pinned memory");
  pinned = &memory;
  Main call{argc, argv, 0};
  pthread_t thread;
  if (pthread_create(
          &thread, &attributes,
          [](void* given) -> void* {
            auto* const main = static_cast<Main*>(given);
            main->result = __real_main(main->argc, main->argv);
            return nullptr;
          },
          &call) != 0)
    give_up("no thread on pinned memory");
  pthread_join(thread, nullptr);
  std::fflush(nullptr);
  std::quick_exit(call.result);  // static objects would free what lies in pinned memory
}
}

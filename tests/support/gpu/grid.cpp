#include "support/gpu/grid.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>

#include "support/gpu/matrices.h"

namespace lockstep::test::gpu {
namespace {

using boost::context::fiber;

constexpr std::size_t kStackBytes = 64 * 1024;
constexpr std::uint64_t kWarp = numerics::cuda::kWarp;

[[noreturn]] void die(const char* what) {
  std::fprintf(stderr, "emulated GPU: %s\n", what);
  std::abort();
}

// Bytes that end where a page begins that nobody may touch. Their start is aligned to 16, so up to
// 15 bytes behind the last one are not guarded.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    used_ = (bytes + 15) / 16 * 16;
    const std::size_t whole = (used_ + page - 1) / page * page;
    mapped_ = whole + page;
    void* const base =
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) die("no memory");
    base_ = static_cast<char*>(base);
    if (mprotect(base_ + whole, page, PROT_NONE) != 0) die("no guard page");
    data_ = base_ + whole - used_;
  }
  ~Guarded() { munmap(base_, mapped_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  void poison() { std::memset(data_, 0xff, used_); }
  void* data() { return data_; }

 private:
  char* base_ = nullptr;
  char* data_ = nullptr;
  std::size_t used_ = 0, mapped_ = 0;
};

enum class State { kReady, kAtBarrier, kAtShuffle, kAtLoad, kAtMma, kDone };

}  // namespace

class Block {
 public:
  Block(const numerics::cuda::Grid& grid, std::uint64_t seed)
      : grid_(grid),
        shared_(static_cast<std::size_t>(grid.shared_bytes)),
        random_(seed),
        stacks_(kStackBytes),
        states_(static_cast<std::size_t>(grid.threads)),
        values_(states_.size()),
        fragments_(states_.size()),
        rows_(states_.size()),
        fibers_(states_.size()),
        warps_(states_.size() / kWarp) {
    std::iota(warps_.begin(), warps_.end(), std::size_t{0});
  }

  void run(std::int64_t number, const void* kernel, Body body) {
    number_ = number;
    shared_.poison();
    shuffle_warps();
    let_go(0, states_.size());
    for (std::size_t i = 0; i < fibers_.size(); ++i) {
      fibers_[i] = fiber(std::allocator_arg, stacks_, [this, i, kernel, body](fiber&& back) {
        back_ = std::move(back);
        Thread thread(*this, static_cast<int>(i));
        body(kernel, thread);
        thread.end();
        states_[i] = State::kDone;
        return std::move(back_);
      });
    }
    while (round()) release();
  }

  // From a fiber: waits in this state.
  void wait(int thread, State state) {
    states_[static_cast<std::size_t>(thread)] = state;
    back_ = std::move(back_).resume();
  }

  const numerics::cuda::Grid& grid() const { return grid_; }
  std::int64_t number() const { return number_; }
  void* shared() { return shared_.data(); }
  std::uint64_t& value(std::size_t thread) { return values_[thread]; }
  MatrixRow& row(int thread) { return rows_[static_cast<std::size_t>(thread)]; }
  Fragment& fragment(int thread) { return fragments_[static_cast<std::size_t>(thread)]; }

 private:
  // Each thread that may run does so until it waits; false when all are done.
  bool round() {
    std::shuffle(ready_.begin(), ready_.end(), random_);
    for (const std::size_t i : ready_) fibers_[i] = std::move(fibers_[i]).resume();
    ready_.clear();
    return std::any_of(states_.begin(), states_.end(), [](State s) { return s != State::kDone; });
  }

  // Warps first: a warp is a smaller thing than a block. Until the next barrier they go on side by
  // side, or one after another.
  void release() {
    bool released = false;
    for (const std::size_t warp : warps_) {
      const std::size_t first = warp * kWarp;
      const auto begin = states_.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end = begin + static_cast<std::ptrdiff_t>(kWarp);
      const bool shuffle = std::find(begin, end, State::kAtShuffle) != end;
      const bool loads = std::find(begin, end, State::kAtLoad) != end;
      const bool mma = std::find(begin, end, State::kAtMma) != end;
      if (!shuffle && !loads && !mma) continue;
      if (std::any_of(begin, end, [&](State s) { return s != *begin; }))
        die(mma     ? "a warp's threads part before a product of matrices"
            : loads ? "a warp's threads part before a load of matrices"
                    : "a warp's threads part before a shuffle");
      if (loads) load(&rows_[first]);
      if (mma) multiply(&fragments_[first]);
      let_go(first, kWarp);
      released = true;
      if (!side_by_side_) return;
    }
    if (released) return;
    if (std::any_of(states_.begin(), states_.end(), [](State s) { return s != State::kAtBarrier; }))
      die("a barrier that not all threads of the block reach");
    let_go(0, states_.size());
    shuffle_warps();
  }

  void let_go(std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) {
      states_[i] = State::kReady;
      ready_.push_back(i);
    }
  }

  void shuffle_warps() {
    std::shuffle(warps_.begin(), warps_.end(), random_);
    side_by_side_ = random_() % 2 == 0;
  }

  const numerics::cuda::Grid grid_;
  std::int64_t number_ = 0;
  Guarded shared_;
  std::mt19937_64 random_;
  boost::context::pooled_fixedsize_stack stacks_;
  std::vector<State> states_;
  std::vector<std::uint64_t> values_;  // what each lane shuffles
  std::vector<Fragment> fragments_;    // what each lane multiplies
  std::vector<MatrixRow> rows_;        // what each lane loads
  std::vector<fiber> fibers_;
  std::vector<std::size_t> ready_;  // the threads that may run
  std::vector<std::size_t> warps_;  // in the order in which they may
  bool side_by_side_ = true;
  fiber back_;  // to the thread of the host
};

std::int64_t Thread::block() const {
  return block_.number();
}
std::int64_t Thread::blocks() const {
  return block_.grid().blocks;
}
int Thread::threads() const {
  return block_.grid().threads;
}
void* Thread::shared_memory() {
  return block_.shared();
}
void Thread::barrier() {
  block_.wait(number_, State::kAtBarrier);
}

void Thread::mma(std::int32_t (&sums)[4], const std::uint32_t (&a)[4],
                 const std::uint32_t (&b)[2]) {
  block_.fragment(number_) = {sums, a, b};
  block_.wait(number_, State::kAtMma);
}

bool Thread::in_shared_memory(const void* sixteen_bytes) const {
  const auto place = reinterpret_cast<std::uintptr_t>(sixteen_bytes) -
                     reinterpret_cast<std::uintptr_t>(block_.shared());
  return place + 16 <= static_cast<std::uintptr_t>(block_.grid().shared_bytes) && place + 16 >= 16;
}

void Thread::load(std::uint32_t (&to)[4], const void* row, bool turned) {
  if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0)
    die("a row of a matrix that is not aligned to 16 bytes");
  if (!in_shared_memory(row)) die("a row of a matrix outside shared memory");
  block_.row(number_) = {to, row, turned};
  block_.wait(number_, State::kAtLoad);
}

std::uint64_t Thread::shuffled_down(std::uint64_t bits, int lanes) {
  const auto own = static_cast<std::size_t>(number_);
  block_.value(own) = bits;
  block_.wait(number_, State::kAtShuffle);
  const auto from = own + static_cast<std::size_t>(lanes);
  const std::uint64_t found = from / kWarp == own / kWarp ? block_.value(from) : bits;
  block_.wait(number_, State::kAtShuffle);  // nobody writes the next value before all have read
  return found;
}

void Thread::copy_async(void* to, const void* from, bool there) {
  if (reinterpret_cast<std::uintptr_t>(to) % 16 != 0 ||
      reinterpret_cast<std::uintptr_t>(from) % 16 != 0)
    die("an asynchronous copy that is not aligned to 16 bytes");
  if (!in_shared_memory(to)) die("an asynchronous copy to a place outside shared memory");
  std::memset(to, 0xff, 16);
  copies_.push_back({to, there ? from : nullptr, group_});
}

void Thread::end() const {
  if (!copies_.empty()) die("a thread ends before its asynchronous copies have");
}

void Thread::commit() {
  ++group_;
}

void Thread::wait_for_all_but(int newest) {
  const auto due = [&](const Copy& copy) { return copy.group < group_ - newest; };
  for (const Copy& copy : copies_) {
    if (!due(copy)) continue;
    if (copy.from == nullptr)
      std::memset(copy.to, 0, 16);
    else
      std::memcpy(copy.to, copy.from, 16);
  }
  std::erase_if(copies_, due);
}

void run(const numerics::cuda::Grid& grid, const void* kernel, Body body, std::uint64_t seed) {
  if (grid.blocks == 0) return;
  if (grid.threads < 1 || grid.threads > 1024 || grid.threads % static_cast<int>(kWarp) != 0)
    die("a block of no such size");
  if (grid.shared_bytes > kMostSharedOfAny) die("more shared memory than a launch may ask for");
  if (grid.blocks >= std::int64_t{1} << 31) die("more blocks than a grid can have");
  Block block(grid, seed);
  // A walk through all blocks in an order that looks random: steps that share no divisor with their
  // number.
  std::int64_t step = static_cast<std::int64_t>(seed % static_cast<std::uint64_t>(grid.blocks)) | 1;
  while (std::gcd(step, grid.blocks) != 1) step += 2;
  std::int64_t number = step % grid.blocks;
  for (std::int64_t i = 0; i < grid.blocks; ++i, number = (number + step) % grid.blocks)
    block.run(number, kernel, body);
}

}  // namespace lockstep::test::gpu

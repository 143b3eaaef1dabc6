// A warp of a block, instruction by instruction.
//
// Lanes that part are groups; the group that is furthest behind goes first, and groups that meet
// are one again. That is one of the orders that CUDA allows, so code that counts on another hangs
// or is named. Ends the program, and says where, if
// - not all lanes reach a barrier, a shuffle or a product of matrices that all must reach;
// - an address is outside of what was allocated, or not aligned to what is loaded;
// - two threads touch a word of shared memory, or of global memory, one of them writes, and nothing
//   orders them.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "support/ptx/clock.h"
#include "support/ptx/global_memory.h"
#include "support/ptx/memory.h"
#include "support/ptx/profile.h"
#include "support/ptx/program.h"
#include "support/ptx/shared_memory.h"

namespace lockstep::test::ptx {

struct Dim {
  std::uint32_t threads, blocks;
};

// Registers and variables of a function that is being called.
class Frame {
 public:
  explicit Frame(const Function& function);
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  template <class T>
  T* lanes(Slot slot) {
    return reinterpret_cast<T*>(registers_.get() + slot);
  }
  char* variable(int number, int lane) {
    const Place& place = variables_[static_cast<std::size_t>(number)];
    return place.base + place.stride * static_cast<std::size_t>(lane);
  }
  // The same bytes for all lanes.
  void give(int number, const void* bytes);
  const Function& function() const { return function_; }

 private:
  struct Place {
    char* base;
    std::size_t stride;
  };
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  const Function& function_;
  std::unique_ptr<std::byte, Free> registers_;
  std::vector<Place> variables_;
  std::vector<char, Malloc<char>> memory_;  // of variables
  std::vector<char, Malloc<char>> local_;
};

class Warp {
 public:
  enum class Stop { kBarrier, kReturned };

  Warp(const Function& kernel, const void* const* arguments, int number, const Dim& dim,
       SharedMemory& shared, GlobalMemory& global);

  void begin(std::uint32_t block);
  // Until all its lanes wait for the block, or are done.
  Stop go_on();

  // For operations.
  template <class T>
  T* lanes(Slot slot) {
    return frame_->lanes<T>(slot);
  }
  char* variable(int number, int lane) { return frame_->variable(number, lane); }
  SharedMemory& shared() { return shared_; }
  // Of a lane, its number in the block.
  int thread(int lane) const { return number_ * kLanes + lane; }
  // Where the host finds them: addresses in global or local memory, which must be aligned to
  // `bytes`, a power of two.
  void find(const std::uint64_t* addresses, std::int64_t offset, std::size_t bytes,
            std::uint32_t mask, char** places);
  // Threads of the mask read so many bytes there.
  void reads(char* const* places, std::size_t bytes, std::uint32_t mask) {
    for (int l = 0; l < kLanes; ++l)
      if ((mask >> l & 1U) != 0 && !global_.read(places[l], bytes, thread(l))) race();
  }
  // A lane's thread writes the item there.
  void writes(const char* place, const char* item, std::size_t bytes, int lane) {
    if (!global_.write(place, item, bytes, thread(lane))) race();
  }
  void copy_async(int lane, std::uint32_t to, const char* from, std::size_t bytes);
  void commit(std::uint32_t mask);
  void wait(std::uint32_t mask, int newest);
  // When it is done with the block: ends the program if copies are still under way.
  void end() const;
  // Null: nobody asked.
  Counts* counts() { return profiling_ ? &counts_ : nullptr; }
  Clock* clock() { return clock_ ? &*clock_ : nullptr; }
  // Where the warp is, in words.
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void race() const { fail("a race for global memory"); }

 private:
  struct Group {
    std::uint32_t lanes;
    std::size_t at;
    bool waits;  // for the others, at an instruction that all lanes must reach
  };
  // Lanes of a frame and how far they are.
  struct Activation {
    Frame& frame;
    std::uint32_t all, active;
    std::size_t at = 0, others_at = SIZE_MAX;
    std::vector<Group> others = {};
  };
  struct Copy {
    std::uint32_t to;
    const char* from;
    std::size_t bytes;
    int group;
  };

  Stop run(Activation& activation);
  void count(const Instruction& instruction);
  bool next_group(Activation& a);
  bool all_here(Activation& a, std::uint32_t needed);
  void call(Activation& caller, const Instruction& instruction, std::uint32_t mask);
  void shuffle(const Instruction& instruction);
  void load_matrices(const Instruction& instruction);
  void multiply(const Instruction& instruction);

  const Function& kernel_;
  const int number_;
  const Dim dim_;
  SharedMemory& shared_;
  GlobalMemory& global_;
  Frame kernel_frame_;
  Frame* frame_;
  std::optional<Activation> activation_;
  std::uint32_t block_ = 0;
  std::array<Memory::Range, 4> reach_;  // that were touched last
  std::uint64_t reach_at_ = 0;
  const bool profiling_ = profiling();
  Counts counts_;
  std::optional<Clock> clock_;
  std::array<int, kLanes> group_{};
  std::array<std::vector<Copy>, kLanes> copies_;
};

}  // namespace lockstep::test::ptx

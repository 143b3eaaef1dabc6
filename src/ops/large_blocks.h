// Memory of large tensors, one heap for all threads.
//
// Threads that allocate beside each other need heaps of their own, or each waits for the others at
// every small tensor. But what one of malloc's heaps has free no other heap gets, and the heap of a
// thread gives large blocks' pages back and takes them anew. Here a block goes to whoever asks
// next, and pages are kept. Blocks lie one behind another, with a header in front (boundary tags:
// Knuth, The Art of Computer Programming 1, 2.5); the smallest that fits is taken, and free
// neighbours become one.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

namespace lockstep::ops {

class LargeBlocks {
 public:
  // Smaller blocks would wait for each other too often.
  static constexpr std::size_t kLeast = std::size_t{64} << 10;

  // A heap that may grow to so many bytes; nothing where the system has no addresses for it. It
  // takes addresses only, and pages as blocks are written.
  static std::unique_ptr<LargeBlocks> of(std::size_t bytes);
  ~LargeBlocks();
  LargeBlocks(const LargeBlocks&) = delete;
  LargeBlocks& operator=(const LargeBlocks&) = delete;

  // Of so many bytes, aligned to 64; the word in front of it is null. Null if the heap cannot grow.
  void* allocate(std::size_t bytes);
  void release(void* block) noexcept;

  // Bytes up to the end of the last block: what it has had at the most.
  std::size_t extent() const { return static_cast<std::size_t>(end_ - base_); }

 private:
  struct Header;
  class Lock;

  LargeBlocks(std::byte* base, std::size_t size) : base_(base), size_(size) {}
  Header* best_fit(std::size_t size);
  Header* grown(std::size_t size);  // a free block at the end
  void give_back_rest(Header* block, std::size_t size);
  Header* behind(Header* block) const;
  void link(Header* block);
  void unlink(Header* block);

  std::byte* const base_;
  const std::size_t size_;
  std::byte* end_ = base_;       // of the last block
  std::byte* writable_ = base_;  // up to here
  Header* last_ = nullptr;
  std::array<Header*, 64> free_{};  // by the size's highest bit, in a list
  std::atomic_flag busy_;
};

}  // namespace lockstep::ops

// Whose a GPU's memory is, in bytes: its streams' pool's, or others'. Where blocks lie is
// StreamMemory's affair (support/gpu/stream_memory.h).
//
// The pool has allocations of the system's, as large as the block that none before had room for.
// What a block has given back stays the pool's: the stream that gave it back may have it at once,
// others when that is done. It is in use until the host has synchronised behind it. An allocation
// of which nothing is in use goes back to the system when the pool is trimmed, and when the host
// synchronises while the pool has more than its threshold (CUDA Runtime API, cudaMemPoolTrimTo,
// cudaMemPoolSetAttribute). A block lies in one of them: a driver may lack memory for it that the
// pool has in several (github.com/pytorch/pytorch/issues/110194).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>

#include "support/gpu/stream.h"

namespace lockstep::test::ptx {

class Pool {
 public:
  using Stream = gpu::Streams::Stream;
  // Puts a block somewhere; null: there is no place.
  using Place = std::function<void*()>;

  explicit Pool(std::size_t all) : all_(all) {}

  // The pool's, for what comes next in the stream, or not the pool's. Null: there is not so much.
  void* take(std::size_t bytes, Stream stream, const Place& place);
  void* take_apart(std::size_t bytes, const Place& place);
  // Before the place is given back. Whether it was taken and not given back.
  bool give_back(const void* block, Stream stream);
  // It is done; of one place, in the order of give_back.
  void done(const void* block);

  // The host has synchronised with some of the work.
  void see();
  // Until there is not more than so much, and not to less.
  void trim(std::uint64_t keep);
  void threshold(std::uint64_t bytes);
  // A stream may be made to wait for another one, to have what that gives back.
  void order_streams(bool allowed);

  std::size_t all() const { return all_; }
  std::size_t free();
  std::size_t reserved();
  std::size_t used();

 private:
  struct Allocation {
    std::size_t bytes, used = 0;
    std::size_t done = 0;  // of those in use: given back, and the host has not seen it
    std::size_t room = 0;  // for the stream that asks
  };
  struct Block {
    Allocation* of = nullptr;  // null: not the pool's
    std::size_t bytes = 0;     // that no other one has got since
  };
  struct Freed {  // not done
    const void* start;
    Block block;
    Stream by;
  };

  bool may_have(const Freed& freed, Stream stream) const { return orders_ || freed.by == stream; }
  Allocation* find(std::size_t bytes, Stream stream);
  void use(Allocation& allocation, std::size_t bytes, Stream stream);
  void* placed(const Block& block, const Place& place);
  void release(std::uint64_t keep);

  const std::size_t all_;
  std::mutex mutex_;
  std::uint64_t threshold_ = 0;
  bool orders_ = true;
  std::size_t reserved_ = 0, apart_ = 0;
  std::list<Allocation> allocations_;
  std::map<const void*, Block> blocks_;
  std::list<Freed> freed_;
};

}  // namespace lockstep::test::ptx

// A group of ranks that moves bytes. There is no operation that adds: who sums decides bits, and
// that is us (lane/exchange.h). A group of one is a normal group.
//
// Collective: every operation; all ranks call the same operations in the same order with matching
// sizes, from one thread at a time. A peer that is gone or out of step is Error(kNetwork) naming
// the rank; after `abort` every pending and later operation of every rank throws the first reason
// given. Bits: never. Buffers arrive as they were sent.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <span>

#include "lockstep/core/bytes.h"
#include "lockstep/core/error.h"
#include "lockstep/core/ids.h"

namespace lockstep::comm {

// An operation that was begun. Its buffers stay where they are until `finish` is over, which throws
// what the operation throws. Operations that overlap are finished in the order they began.
// Destroying one that was not finished waits for it, too.
class Operation {
 public:
  virtual ~Operation() = default;
  virtual void finish() = 0;
};

// Where an operation's buffers lie.
enum class Memory { kHost, kDevice };

class Journal;

class Group {
 public:
  virtual ~Group() = default;
  virtual Rank rank() const = 0;
  virtual int size() const = 0;

  // Whether operations may have all their buffers in the memory of the GPU that each rank computes
  // on (Memory::kDevice): of all ranks or none. The GPU's work on them must be done when an
  // operation is called or begun, their bytes are there when it is over, and what goes to this rank
  // itself is empty or in its place.
  virtual bool takes_device_memory() const { return false; }

  // to[r] goes to rank r, which receives it in from[this rank]. Sizes are known to both sides (the
  // plan); spans may be empty (all but two: send and receive). size() spans each.
  virtual void all_to_all(std::span<const ByteView> to, std::span<const MutableByteView> from,
                          Memory memory = Memory::kHost) = 0;
  // from[r] becomes rank r's `mine`, which may be where from[this rank] is.
  virtual void all_gather(ByteView mine, std::span<const MutableByteView> from,
                          Memory memory = Memory::kHost) = 0;
  virtual void broadcast(Rank root, MutableByteView buffer) = 0;
  virtual void barrier() = 0;
  // The same while the caller goes on; where a group cannot, the whole operation is in its
  // `finish`.
  virtual std::unique_ptr<Operation> begin_all_to_all(std::span<const ByteView> to,
                                                      std::span<const MutableByteView> from,
                                                      Memory memory = Memory::kHost);
  virtual std::unique_ptr<Operation> begin_all_gather(ByteView mine,
                                                      std::span<const MutableByteView> from,
                                                      Memory memory = Memory::kHost);
  // Where this rank's operations are written down (journal.h); null: nowhere.
  virtual Journal* journal() { return nullptr; }
  // Not collective: this rank cannot go on. The first reason wins and reaches every rank: as the
  // same code if it is a verdict on the run (kDiffer, kDiverged), else as kNetwork.
  virtual void abort(const Error& reason) = 0;

  // Carries out `job`, which calls operations of the group it is given, in its turn among the
  // operations and jobs of this rank; the future has its end. Here before it returns, in a Queue
  // (queue.h) meanwhile. A job owns what it uses. `until_ready`, if given, is called before it:
  // waits for this rank's own work. What it throws is the job's end.
  using Job = std::function<void(Group&)>;
  virtual std::future<void> start(Job job, std::function<void()> until_ready = {});
};

}  // namespace lockstep::comm

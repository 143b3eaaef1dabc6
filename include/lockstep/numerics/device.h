// Where kernels run. A device has memory, what it takes to compute there (threads or a stream, an
// instruction set, scratch memory), and one function for each kernel of the specification. All
// devices give the same bits; the machine chooses the device, the recipe never does.
//
// Pointers are addresses of the device's memory, unless a function says that the host's is meant;
// lists (lanes, rows) and shapes lie in the host's. Whoever calls a kernel owns the memory it reads
// and writes: tensors belong to LibTorch's allocator of the device (ops/device.h), buffers between
// ranks and files to those who exchange and write them. Scratch memory belongs to the kernel's
// call.
//
// A device serves one thread at a time, which sees kernels in the order of its calls.
//
// What a step asks of a device is the same in every step, but for the numbers of its samples. So a
// device may capture the calls of one step and do them again (`capture`), which costs the host one
// call where there were hundreds.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lockstep/core/bytes.h"
#include "lockstep/hash/leaf.h"
#include "lockstep/numerics/conv.h"
#include "lockstep/numerics/elementwise.h"
#include "lockstep/numerics/gemm.h"
#include "lockstep/numerics/integer.h"
#include "lockstep/numerics/norm.h"
#include "lockstep/numerics/philox.h"
#include "lockstep/numerics/reduce.h"
#include "lockstep/numerics/resample.h"
#include "lockstep/numerics/sealed.h"
#include "lockstep/numerics/softmax.h"
#include "lockstep/numerics/tree.h"
#include "lockstep/numerics/update.h"

namespace lockstep::numerics {

class Cpu;

// Work that a device has captured.
class Captured {
 public:
  Captured() = default;
  virtual ~Captured() = default;
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  // Does it, after what was called before: the same calls, but that what they draw, and what
  // Device::from_host_by works out, is for samples whose numbers are `moved` higher, modulo 2^64.
  // Throws what a call throws (Device::outside_graph); what follows it is not done then.
  virtual void launch(std::uint64_t moved) = 0;
};

// What a device was given until then.
class Event {
 public:
  Event() = default;
  virtual ~Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // Returns when it is done. In any thread. Error(kEnvironment) if the device is lost.
  virtual void wait() {}
};

class Device : public Elementwise,
               public Products,
               public Convolutions,
               public IntegerProducts,
               public Reductions,
               public TreeSums,
               public SealedSums,
               public Normalisations,
               public Softmax,
               public Resampling,
               public Updates,
               public Draws {
 public:
  Device() = default;
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // What it is, for people: "cpu", "NVIDIA H100 80GB HBM3, compute
  // capability 9.0".
  virtual std::string name() = 0;
  // Which of all GPUs it is, as CUDA says; empty of no real one. `nvidia-smi -L` has it behind
  // "GPU-".
  virtual std::string uuid() { return {}; }
  // What computes beside this device in the host's memory, for the thread that it serves.
  virtual Cpu& host() = 0;
  // Another one on the same memory, whose host has so many threads: for a thread that works beside
  // this one's. Kernels of the two run in the order of their calls.
  virtual std::unique_ptr<Device> clone(int threads = 1) const = 0;

  // What this device and its clones were given so far, by calls that are not captured.
  virtual std::unique_ptr<Event> record_event() { return std::make_unique<Event>(); }

  // Copies between the host's memory and the device's, and within the device's. The host's memory
  // holds the bytes, or may be used again, when they return.
  virtual void to_host(std::size_t bytes, const void* from, void* to) = 0;
  virtual void from_host(std::size_t bytes, const void* from, void* to) = 0;
  virtual void copy(std::size_t bytes, const void* from, void* to) = 0;
  // From the host what it works out: fill(0, memory), and, if this is captured, fill(moved, memory)
  // before each launch.
  using Fill = std::function<void(std::uint64_t moved, void* memory)>;
  virtual void from_host_by(std::size_t bytes, const Fill& fill, void* to) {
    std::vector<std::byte> filled(bytes);
    fill(0, filled.data());
    from_host(bytes, filled.data(), to);
  }

  // Captures what `work` calls of this device and its clones, in whichever thread, instead of doing
  // it. Tensors made by `work` lie where they lie in every launch: what it leaves in them is there
  // from one launch to the next of any captured work. `work` may not ask for values on the host:
  // Error(kBug). Null if this device captures nothing; `work` was not called.
  virtual std::unique_ptr<Captured> capture(const std::function<void()>& /*work*/) {
    return nullptr;
  }
  // `call()`: at once, or, while work is captured, in its place in every launch, by the thread that
  // launches: what it calls of the device comes after what was captured before it, and what follows
  // is launched when it returns. It is not captured itself, so it may ask for values on the host.
  virtual void outside_graph(const std::function<void()>& call) { call(); }

  // The leaves (hash/leaf.h) of tiles of tensors' memory, to the host: tiles[i] gives leaves[i].
  // A view has an address of the device.
  virtual void leaf_hashes(std::span<const ByteView> tiles, hash::Leaf* leaves) = 0;
  // The first of the tensors that holds a value that is not finite; `tensors.size()` if none does.
  virtual std::size_t first_non_finite(std::span<const std::span<const float>> tensors) = 0;

  // body(begin, end) for pieces that cover [0, n), on the device's host threads: for kernels that
  // are not ours (ops/native.h). See Cpu::parallel_for.
  virtual void parallel_for(
      std::int64_t n, std::int64_t grain,
      const std::function<void(std::int64_t begin, std::int64_t end)>& body) = 0;
};

}  // namespace lockstep::numerics

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
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

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
  // What computes beside this device in the host's memory, for the thread that it serves.
  virtual Cpu& host() = 0;
  // Another one on the same memory, whose host has so many threads: for a thread that works beside
  // this one's. Kernels of the two run in the order of their calls.
  virtual std::unique_ptr<Device> another(int threads = 1) const = 0;

  // Copies between the host's memory and the device's, and within the device's. The host's memory
  // holds the bytes, or may be used again, when they return.
  virtual void to_host(std::size_t bytes, const void* from, void* to) = 0;
  virtual void from_host(std::size_t bytes, const void* from, void* to) = 0;
  virtual void copy(std::size_t bytes, const void* from, void* to) = 0;

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

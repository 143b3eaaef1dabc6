// The memory of a device that is not the host: for LibTorch's tensors (ops/gpu_tensors.h) and
// whoever keeps something there. Any thread may call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "lockstep/core/bytes.h"

namespace lockstep::numerics {

class Device;
struct Gpu;  // cuda.h

// Items of a tensor and of another of the same sizes. Strides are in items; 0 repeats an item.
struct ItemCopy {
  static constexpr std::size_t kMostSides = 12;

  std::size_t item;  // bytes: 1, 2, 4 or 8
  std::span<const std::int64_t> sizes;
  void* to;
  std::span<const std::int64_t> to_strides;
  const void* from;
  std::span<const std::int64_t> from_strides;
};

class DeviceMemory {
 public:
  // Bytes on their way to the device, beside its kernels.
  class Upload {
   public:
    Upload() = default;
    virtual ~Upload() = default;  // gives back what nobody took
    Upload(const Upload&) = delete;
    Upload& operator=(const Upload&) = delete;

    // The memory that they come to, the caller's from now on: kernels that are called later find
    // them there, and the host does not wait. Once. Error(kEnvironment) if the copy failed.
    virtual void* take() = 0;
  };
  // Bytes on their way to the host, beside the device's kernels; few bytes, behind those that were
  // called before.
  class Download {
   public:
    Download() = default;
    virtual ~Download() = default;
    Download(const Download&) = delete;
    Download& operator=(const Download&) = delete;

    // Waits for them: pieces[i] is at to[i]. Once. Error(kEnvironment) if the copy failed.
    virtual void finish(std::span<void* const> to) = 0;
  };

  DeviceMemory() = default;
  virtual ~DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Memory that is aligned to 256 bytes and holds anything; null for none. std::bad_alloc if there
  // is not so much, not even when all work is done. It may be given back while kernels of its order
  // still use it: who gets it next works after them.
  virtual void* take(std::size_t bytes) = 0;
  virtual void give_back(void* memory) = 0;
  // `give_back` is called where memory lacks, for tensors, kernels or copies, before std::bad_alloc
  // is thrown: whoever else keeps memory of this device gives it back. This is locked meanwhile, so
  // it may not call this, nor wait for who does. Set before others use this.
  virtual void when_lacking(std::function<void()> give_back) = 0;
  // Bytes that can be taken still, as far as the device says.
  virtual std::optional<std::int64_t> left() = 0;

  // For kernels that are not ours, LibTorch's: the name of its device for this memory ("cuda:1"),
  // and where that device finds what lies here. What was called before is done before they work.
  virtual std::string foreign_device() = 0;
  virtual void* foreign(void* memory) = 0;

  // Copies after the kernels that were called before. The host's memory may be used again when they
  // return.
  virtual void to_host(std::size_t bytes, const void* from, void* to) = 0;
  virtual void from_host(std::size_t bytes, const void* from, void* to) = 0;
  virtual void copy(std::size_t bytes, const void* from, void* to) = 0;
  // At most kMostSides sides are longer than 1.
  virtual void copy_items(const ItemCopy& items) = 0;

  // A device whose kernels are called as here, and do nothing: to walk through a step
  // (numerics/idle.h). `scratch` hears of the memory that they would take for themselves, in bytes,
  // and give back (below 0).
  virtual std::unique_ptr<Device> idle(std::function<void(std::int64_t)> scratch) = 0;

  // A device whose kernels have an order of their own, one for all that ask, and memory for their
  // tensors in that order. Neither order waits for the other: who uses what was written in the
  // other one waits for it before (Device::record_event).
  virtual Gpu own_stream() = 0;

  // Copies beside the kernels; neither kind outlives this. To new memory: the host's may be used
  // again when the call returns. To the host: the pieces may be overwritten by kernels that are
  // called later, and of many bytes, until it is finished, as much memory again is taken.
  // std::bad_alloc.
  virtual std::unique_ptr<Upload> begin_from_host(std::size_t bytes, const void* from) = 0;
  virtual std::unique_ptr<Download> begin_to_host(std::span<const ByteView> pieces) = 0;
};

}  // namespace lockstep::numerics

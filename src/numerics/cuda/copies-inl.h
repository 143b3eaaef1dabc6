// Private: copies beside the kernels (lockstep/numerics/device_memory.h), through pinned memory,
// each way in a stream of its own. What Gpu has for it:
//
//   gpu.begin_to_host(pieces)      update-inl.h
//   gpu.event()                    an event
//   gpu.copy_stream()              a stream beside the kernels'
//   gpu.record(event), after       of what was called before; what is called next waits for it
//   stream.record(event), after    the same of the stream
//   stream.take(bytes)             memory, there for what comes next in the stream
//   stream.slot(i)                 the host's memory of a slot, when the copy before is done
//   stream.from_slot(i, bytes, to), stream.to_slot(i, bytes, from)
//
// What goes to the host is copied within the GPU first: its memory is tens of times as fast as the
// way to the host, and whatever writes there next need not know of the copy. Few bytes go at once,
// in the order of the kernels: a step's results are waited for, and another stream would only delay
// them.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/numerics/device_memory.h"
#include "numerics/cuda/pieces.h"

namespace lockstep::numerics::cuda {

// `gpu` is used while `mutex` is held.
template <class Gpu>
class Copies {
 public:
  Copies(Gpu& gpu, std::mutex& mutex) : gpu_(gpu), mutex_(mutex) {}

  std::unique_ptr<DeviceMemory::Upload> begin_from_host(std::size_t bytes, const void* from) {
    return std::make_unique<Up>(*this, bytes, from);
  }
  std::unique_ptr<DeviceMemory::Download> begin_to_host(std::span<const ByteView> pieces) {
    if (joined_size(pieces) <= kFew) return std::make_unique<Few>(*this, pieces);
    return std::make_unique<Down>(*this, pieces);
  }

 private:
  using Event = typename Gpu::Event;
  using CopyStream = typename Gpu::CopyStream;

  // Some 10 us of the way to the host.
  static constexpr std::size_t kFew = std::size_t{256} << 10;

  // One copy at a time. The stream is made for the first.
  struct Way {
    std::mutex mutex;
    std::unique_ptr<CopyStream> stream;
    int slot = 0;  // whose turn it is

    int next() { return std::exchange(slot, (slot + 1) % CopyStream::kSlots); }
  };

  CopyStream& stream_of(Way& way) {
    if (way.stream == nullptr) way.stream = gpu_.copy_stream();
    return *way.stream;
  }

  class Up final : public DeviceMemory::Upload {
   public:
    Up(Copies& copies, std::size_t bytes, const void* from)
        : copies_(copies), done_(copies.gpu_.event()) {
      if (bytes == 0) return;
      Way& way = copies_.up_;
      const std::scoped_lock lock(way.mutex);
      CopyStream& stream = copies_.stream_of(way);
      memory_ = stream.take(bytes);
      try {
        send(way, bytes, static_cast<const std::byte*>(from));
        stream.record(done_);
      } catch (...) {
        stream.record(done_);
        drop();
        throw;
      }
    }
    ~Up() override {
      try {
        drop();
      } catch (const Error&) {  // the GPU is lost, and the next call says so
      }
    }

    void* take() override {
      const std::scoped_lock lock(copies_.mutex_);
      copies_.gpu_.after(done_);
      return std::exchange(memory_, nullptr);
    }

   private:
    void send(Way& way, std::size_t bytes, const std::byte* from) {
      auto* const to = static_cast<std::byte*>(memory_);
      for (std::size_t at = 0; at < bytes; at += CopyStream::kSlotBytes) {
        const int slot = way.next();
        const std::size_t some = std::min(CopyStream::kSlotBytes, bytes - at);
        std::memcpy(way.stream->slot(slot), from + at, some);
        way.stream->from_slot(slot, some, to + at);
      }
    }
    void drop() {
      if (memory_ == nullptr) return;
      void* const memory = take();
      const std::scoped_lock lock(copies_.mutex_);
      copies_.gpu_.give_back(memory);
    }

    Copies& copies_;
    Event done_;
    void* memory_ = nullptr;
  };

  class Few final : public DeviceMemory::Download {
   public:
    Few(Copies& copies, std::span<const ByteView> pieces)
        : sizes_(sizes_of(pieces)), bytes_(joined_size(pieces)) {
      const std::scoped_lock lock(copies.mutex_);
      arrival_ = copies.gpu_.begin_to_host(pieces);
    }

    void finish(std::span<void* const> to) override {
      Parted(sizes_, to).put(arrival_->wait(), bytes_);
      arrival_.reset();
    }

   private:
    const std::vector<std::size_t> sizes_;
    const std::size_t bytes_;
    std::unique_ptr<typename Gpu::Arrival> arrival_;
  };

  class Down final : public DeviceMemory::Download {
   public:
    Down(Copies& copies, std::span<const ByteView> pieces)
        : copies_(copies),
          there_(copies.gpu_.event()),
          sizes_(sizes_of(pieces)),
          bytes_(joined_size(pieces)) {
      const std::scoped_lock lock(copies_.mutex_);
      memory_ = static_cast<std::byte*>(copies_.gpu_.take(bytes_));
      try {
        std::byte* to = memory_;
        for (const ByteView piece : pieces) {
          copies_.gpu_.copy(piece.size(), piece.data(), to);
          to += piece.size();
        }
        copies_.gpu_.record(there_);
      } catch (...) {
        copies_.gpu_.give_back(memory_);
        throw;
      }
    }
    // In the order of the kernels: finish() has waited.
    ~Down() override {
      const std::scoped_lock lock(copies_.mutex_);
      copies_.gpu_.give_back(memory_);
    }

    void finish(std::span<void* const> to) override {
      Way& way = copies_.down_;
      const std::scoped_lock lock(way.mutex);
      CopyStream& stream = copies_.stream_of(way);
      stream.after(there_);
      std::size_t asked = 0;
      const auto ask = [&](int slot) {
        const std::size_t some = std::min(CopyStream::kSlotBytes, bytes_ - asked);
        if (some > 0) stream.to_slot(slot, some, memory_ + asked);
        asked += some;
      };
      for (int slot = 0; slot < CopyStream::kSlots; ++slot) {
        stream.slot(slot);
        ask(slot);
      }
      Parted parted(sizes_, to);
      int slot = 0;
      for (std::size_t at = 0; at < bytes_; at += CopyStream::kSlotBytes) {
        parted.put(stream.slot(slot), std::min(CopyStream::kSlotBytes, bytes_ - at));
        ask(slot);
        slot = (slot + 1) % CopyStream::kSlots;
      }
    }

   private:
    Copies& copies_;
    Event there_;
    const std::vector<std::size_t> sizes_;
    const std::size_t bytes_;
    std::byte* memory_ = nullptr;
  };

  static std::vector<std::size_t> sizes_of(std::span<const ByteView> pieces) {
    std::vector<std::size_t> sizes;
    for (const ByteView piece : pieces) sizes.push_back(piece.size());
    return sizes;
  }

  Gpu& gpu_;
  std::mutex& mutex_;
  Way up_, down_;
};

}  // namespace lockstep::numerics::cuda

// A group that takes the memory of an emulated GPU (support/gpu), as NCCL's does, and waits for
// none of its work. Of what arrives in it a bit can be changed.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "lockstep/comm/group.h"
#include "support/far_device/memory.h"

namespace lockstep::testing {

class OverDevice final : public comm::Group {
 public:
  explicit OverDevice(comm::Group& inner) : inner_(inner) {}

  // Of the message with this number, of those that bring anything from GPU to GPU.
  void change(int number) { changed_ = number; }
  int messages() const { return messages_; }

  Rank rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  bool takes_device_memory() const override { return true; }
  void broadcast(Rank root, MutableByteView buffer) override { inner_.broadcast(root, buffer); }
  void barrier() override { inner_.barrier(); }
  void abort(const Error& reason) override { inner_.abort(reason); }

  void all_to_all(std::span<const ByteView> to, std::span<const MutableByteView> from,
                  comm::Memory memory) override {
    if (memory == comm::Memory::kHost) return inner_.all_to_all(to, from, memory);
    std::vector<Bytes> out, in;
    for (const ByteView one : to) {
      const auto* const first = far::near(one.data());
      out.emplace_back(first, first + one.size());
    }
    for (const MutableByteView one : from) in.emplace_back(one.size());
    inner_.all_to_all(std::vector<ByteView>(out.begin(), out.end()),
                      std::vector<MutableByteView>(in.begin(), in.end()), comm::Memory::kHost);
    for (std::size_t r = 0; r < in.size(); ++r) {
      if (in[r].empty() || Rank(static_cast<std::int64_t>(r)) == rank()) continue;
      if (messages_++ == changed_) in[r][in[r].size() / 3] ^= std::byte{8};
      std::memcpy(far::near(from[r].data()), in[r].data(), in[r].size());
    }
  }
  void all_gather(ByteView mine, std::span<const MutableByteView> from,
                  comm::Memory memory) override {
    if (memory == comm::Memory::kHost) return inner_.all_gather(mine, from, memory);
    all_to_all(std::vector<ByteView>(from.size(), mine), from, memory);
  }

 private:
  comm::Group& inner_;
  int changed_ = -1, messages_ = 0;
};

}  // namespace lockstep::testing

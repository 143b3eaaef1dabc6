// Private: kernels for CUDA that go through a tensor channel by channel: what the values of a
// sample's channel have in common, such as a norm's statistics, a thread reads once.
#pragma once

#include "numerics/cuda/device.h"

namespace lockstep::numerics::cuda {

// Of [groups][rows][c]: of(group, channel) is what a thread has of a channel; one.write(row,
// one.read(row)) is called for each row. What is read may be what is written, element by element.
template <class Of>
struct EachOfChannels {
  static constexpr int kBatch = 8;  // reads of a thread, before it computes
  static constexpr int kRows = 4 * kBatch;

  std::int64_t groups, rows, c;
  Of of;

  // Threads of neighbouring channels, and how many rows a block has side by side.
  LOCKSTEP_HD int width() const { return c < kThreads ? static_cast<int>(c) : kThreads; }
  LOCKSTEP_HD int beside() const { return kThreads / width(); }
  LOCKSTEP_HD std::int64_t across() const { return (c + width() - 1) / width(); }
  LOCKSTEP_HD std::int64_t along() const {
    return (rows + kRows * beside() - 1) / (kRows * beside());
  }
  Grid grid() const { return {groups * along() * across(), kThreads}; }

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    // Numbers of blocks have 31 bits: the division is short.
    const auto block = static_cast<std::uint32_t>(t.block()),
               in_row = static_cast<std::uint32_t>(across()),
               in_group = static_cast<std::uint32_t>(along());
    const int apart = beside(), row = t.thread() / width();
    const std::int64_t channel = std::int64_t{block % in_row} * width() + t.thread() % width();
    if (row >= apart || channel >= c) return;
    const auto one = of(std::int64_t{block / in_row / in_group}, channel);
    const std::int64_t first = std::int64_t{block / in_row % in_group} * kRows * apart,
                       end = first + kRows * apart < rows ? first + kRows * apart : rows;
    for (std::int64_t i = first + row; i < end; i += kBatch * apart) {
      decltype(one.read(i)) values[kBatch];
      if (i + (kBatch - 1) * apart < end) {
        LOCKSTEP_UNROLL
        for (int n = 0; n < kBatch; ++n) values[n] = one.read(i + n * apart);
        LOCKSTEP_UNROLL
        for (int n = 0; n < kBatch; ++n) one.write(i + n * apart, values[n]);
      } else {
        for (std::int64_t last = i; last < end; last += apart) one.write(last, one.read(last));
        return;
      }
    }
  }
};

template <class Gpu, class Of>
void each_of_channels(Gpu& gpu, std::int64_t groups, std::int64_t rows, std::int64_t c,
                      const Of& of) {
  if (groups == 0 || rows == 0 || c == 0) return;
  const EachOfChannels<Of> kernel{groups, rows, c, of};
  gpu.launch(kernel.grid(), kernel);
}

}  // namespace lockstep::numerics::cuda

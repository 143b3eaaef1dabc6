// The host: its threads and one of its instruction sets. What the other devices must equal.
//
// The split over threads is never seen in a result: pieces write disjoint outputs, and no sum
// crosses a piece. Every piece runs with IEEE round-to-nearest and subnormals kept: the
// floating-point control register is checked at its start (a foreign library may have changed it);
// a wrong mode is Error(kEnvironment) naming it.
#pragma once

#include <atomic>
#include <memory>

#include "lockstep/numerics/device.h"
#include "lockstep/numerics/isa.h"

namespace lockstep::numerics {

class Workers;

class Cpu final : public Device {
 public:
  // `threads` >= 1, the caller's among them. Error(kEnvironment) if this CPU has no fused
  // multiply-add (best_isa).
  explicit Cpu(int threads = 1, Isa isa = usual_isa());
  ~Cpu() override;

  int threads() const { return threads_; }
  Isa isa() const { return isa_; }

  std::string name() override { return "cpu"; }
  Cpu& host() override { return *this; }
  std::unique_ptr<Device> clone(int threads) const override;
  void to_host(std::size_t bytes, const void* from, void* to) override;
  void from_host(std::size_t bytes, const void* from, void* to) override;
  void copy(std::size_t bytes, const void* from, void* to) override;
  void leaf_hashes(std::span<const ByteView> tiles, hash::Leaf* leaves) override;
  std::size_t first_non_finite(std::span<const std::span<const float>> tensors) override;

  // Pieces other than the last are multiples of `grain`. Runs on the calling thread alone when n <=
  // grain. Rethrows the first exception. Not from inside a piece.
  void parallel_for(std::int64_t n, std::int64_t grain,
                    const std::function<void(std::int64_t begin, std::int64_t end)>& body) override;

#include "lockstep/numerics/device_kernels-inl.h"

 private:
  const int threads_;
  const Isa isa_;
  std::unique_ptr<Workers> workers_;  // beside the caller's thread, once they are needed
  std::atomic_flag working_;
};

}  // namespace lockstep::numerics

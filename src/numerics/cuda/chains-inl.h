// Private: many blocked chains at once for CUDA (spec/chain.h). All threads of a block compute
// terms of 32 chains, 64 of each at a time; a warp folds them in order while the others compute the
// next. The blocks of a chain are folded side by side; whoever reads a chain adds them up.
#pragma once

#include "lockstep/numerics/spec/chain.h"
#include "lockstep/numerics/spec/operations.h"
#include "numerics/cuda/device.h"

namespace lockstep::numerics::cuda {

// Of a chain of products; of sums and products the sum is that of u.
struct Term {
  float u, v;
};

// Where neighbours lie in memory: of one chain, or of neighbouring ones.
enum class Neighbours { kTerms, kChains };

// What chains are of: values, products of two factors, or both, each folded by a warp of its own.
enum class Fold { kSums, kProducts, kBoth };

// Folds terms of 32 chains by all threads of a block, which has room for kSharedBytes.
template <Neighbours kNeighbours, Fold kFold>
struct ChainFold {
  static constexpr int kBlockThreads = 128;
  static constexpr int kSlice = 64, kLine = kWarp + 1;  // terms; floats a term: no bank conflicts
  static constexpr int kFactors = kFold == Fold::kSums ? 1 : 2,
                       kWarps = kFold == Fold::kBoth ? 2 : 1;
  static constexpr int kBuffer = kFactors * kSlice * kLine;
  static constexpr std::int64_t kSharedBytes = 2 * kBuffer * 4;

  // Terms [first, end) of chains [first_chain, first_chain + 32) below `chains`: term k of a chain
  // is f(k, chain), a float or a Term. Lane i of the first warp returns chain first_chain + i's, of
  // the second, where both are folded, that of products. A barrier must come before shared memory
  // is used again.
  template <class Thread, class F>
  LOCKSTEP_DEVICE static float folded(Thread& t, float* shared, std::int64_t first_chain,
                                      std::int64_t chains, std::int64_t first, std::int64_t end,
                                      const F& f) {
    const int lane = t.thread() % kWarp, warp = t.thread() / kWarp;
    float acc = 0.0F;
    int buffer = 0;
    for (std::int64_t k = first; k < end; k += kSlice, buffer = kBuffer - buffer) {
      const int count = static_cast<int>(end - k < kSlice ? end - k : kSlice);
      float* const terms = shared + buffer;
      for (int e = t.thread(); e < kSlice * kWarp; e += kBlockThreads) {
        constexpr bool kAlong = kNeighbours == Neighbours::kTerms;
        const int term = kAlong ? e % kSlice : e / kWarp, chain = kAlong ? e / kSlice : e % kWarp;
        if (term < count && first_chain + chain < chains)
          store(f(k + term, first_chain + chain), terms + term * kLine + chain);
      }
      t.barrier();
      if (warp < kWarps) {
        const bool products = kFold == Fold::kProducts || warp == 1;
        for (int term = 0; term < count; ++term) {
          const float* const of_lane = terms + term * kLine + lane;
          if constexpr (kFold == Fold::kSums) {
            acc = acc + *of_lane;
          } else {
            acc = products ? spec::fma(of_lane[0], of_lane[kSlice * kLine], acc) : acc + *of_lane;
          }
        }
      }
    }
    return acc;
  }

 private:
  LOCKSTEP_DEVICE static void store(float value, float* to) { *to = value; }
  LOCKSTEP_DEVICE static void store(const Term& term, float* to) {
    to[0] = term.u;
    to[kSlice * kLine] = term.v;
  }
};

// f(group, k, chain) gives term k of a group's chain.
template <Neighbours kNeighbours, Fold kFold, class F>
struct ChainKernel {
  using Folds = ChainFold<kNeighbours, kFold>;
  static constexpr int kBlockThreads = Folds::kBlockThreads, kResidentBlocks = 4;

  std::int64_t groups, depth, chains, parts;
  F f;
  float* out;  // [sums, products][blocks of a chain][groups][chains]

  LOCKSTEP_HD std::int64_t tiles() const { return (chains + kWarp - 1) / kWarp; }

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const std::int64_t across = tiles();
    const std::int64_t group = t.block() / across % groups, part = t.block() / across / groups,
                       first_chain = t.block() % across * kWarp, first = part * kBlock,
                       end = first + kBlock < depth ? first + kBlock : depth;
    const float acc =
        Folds::folded(t, t.template shared<float>(), first_chain, chains, first, end,
                      [&](std::int64_t k, std::int64_t chain) { return f(group, k, chain); });
    const std::int64_t chain = first_chain + t.thread() % kWarp, fold = t.thread() / kWarp;
    if (fold < Folds::kWarps && chain < chains)
      out[((fold * parts + part) * groups + group) * chains + chain] = acc;
  }
};

// A chain's blocks, added in their order: of chain i among all.
struct ChainSums {
  const float* blocks;
  std::int64_t parts, all;

  LOCKSTEP_DEVICE float operator()(std::int64_t i) const {
    float sum = blocks[i];
    for (std::int64_t part = 1; part < parts; ++part) sum = sum + blocks[part * all + i];
    return sum;
  }
};

// groups * count chains of `depth` terms f(group, k, chain), chain `group * count + chain` of all,
// to be read by kernels.
template <Neighbours kNeighbours, Fold kFold, class Gpu>
class Chains {
 public:
  template <class F>
  Chains(Gpu& gpu, std::int64_t groups, std::int64_t depth, std::int64_t count, const F& f)
      : parts_(depth > kBlock ? (depth + kBlock - 1) / kBlock : 1),
        all_(groups * count),
        memory_(gpu, ChainFold<kNeighbours, kFold>::kWarps * parts_ * all_) {
    launch(gpu, groups, depth, count, f, memory_.data());
  }

  ChainSums sums() const { return {memory_.data(), parts_, all_}; }
  // Of products, where both are folded.
  ChainSums products() const { return {memory_.data() + parts_ * all_, parts_, all_}; }

  // To `out`, where a chain is one block.
  template <class F>
  static void launch(Gpu& gpu, std::int64_t groups, std::int64_t depth, std::int64_t count,
                     const F& f, float* out) {
    using Kernel = ChainKernel<kNeighbours, kFold, F>;
    const std::int64_t parts = depth > kBlock ? (depth + kBlock - 1) / kBlock : 1;
    const Kernel kernel{groups, depth, count, parts, f, out};
    gpu.launch(
        Grid{parts * groups * kernel.tiles(), Kernel::kBlockThreads, Kernel::Folds::kSharedBytes},
        kernel);
  }

 private:
  const std::int64_t parts_, all_;
  const Scratch<Gpu, float> memory_;
};

template <class Gpu>
using ColumnSums = Chains<Neighbours::kChains, Fold::kSums, Gpu>;
template <class Gpu>
using ColumnProducts = Chains<Neighbours::kChains, Fold::kProducts, Gpu>;
template <class Gpu>
using ColumnSumsAndProducts = Chains<Neighbours::kChains, Fold::kBoth, Gpu>;

// out[groups][count].
template <Neighbours kNeighbours, Fold kFold, class Gpu, class F>
void chains(Gpu& gpu, std::int64_t groups, std::int64_t depth, std::int64_t count, const F& f,
            float* out) {
  using Folded = Chains<kNeighbours, kFold, Gpu>;
  if (depth <= kBlock) return Folded::launch(gpu, groups, depth, count, f, out);
  const Folded folded(gpu, groups, depth, count, f);
  const auto add = [sums = folded.sums(), out] LOCKSTEP_DEVICE(std::int64_t i) {
    out[i] = sums(i);
  };
  gpu.launch(grid_of(groups * count), Each<decltype(add)>{groups * count, add});
}

// out[count]: one group, neighbours within a chain.
template <class Gpu, class F>
void row_chains(Gpu& gpu, std::int64_t depth, std::int64_t count, const F& f, float* out) {
  chains<Neighbours::kTerms, Fold::kSums>(gpu, 1, depth, count, f, out);
}
template <class Gpu, class F>
void row_products(Gpu& gpu, std::int64_t depth, std::int64_t count, const F& f, float* out) {
  chains<Neighbours::kTerms, Fold::kProducts>(gpu, 1, depth, count, f, out);
}

}  // namespace lockstep::numerics::cuda

// Private: many blocked chains at once for CUDA (spec/chain.h). All threads of a block compute
// terms of 32 chains, 64 of each at a time; one warp folds them in order while the others compute
// the next. The blocks of a chain are folded side by side.
#pragma once

#include "lockstep/numerics/spec/chain.h"
#include "lockstep/numerics/spec/operations.h"
#include "numerics/cuda/device.h"

namespace lockstep::numerics::cuda {

// Of a chain of products; one of values has no second factor.
struct Term {
  float u, v;
};

// Where neighbours lie in memory: of one chain, or of neighbouring ones.
enum class Neighbours { kTerms, kChains };

// f(group, k, chain) gives term k of a group's chain: a float, or a Term.
template <Neighbours kNeighbours, bool kProducts, class F>
struct ChainKernel {
  static constexpr int kBlockThreads = 128, kResidentBlocks = 4;
  static constexpr int kSlice = 64, kLine = kWarp + 1;  // terms; floats a term: no bank conflicts
  static constexpr int kFactors = kProducts ? 2 : 1;
  static constexpr int kBuffer = kFactors * kSlice * kLine;
  static constexpr std::int64_t kSharedBytes = 2 * kBuffer * 4;

  std::int64_t groups, depth, chains;
  F f;
  float* out;  // [blocks of a chain][groups][chains]

  LOCKSTEP_HD std::int64_t tiles() const { return (chains + kWarp - 1) / kWarp; }

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const std::int64_t across = tiles();
    const std::int64_t group = t.block() / across % groups, part = t.block() / across / groups,
                       first_chain = t.block() % across * kWarp, first = part * kBlock,
                       end = first + kBlock < depth ? first + kBlock : depth;
    float* const shared = t.template shared<float>();
    const int lane = t.thread();  // of the first warp, which folds
    float acc = 0.0F;
    int buffer = 0;
    for (std::int64_t k = first; k < end; k += kSlice, buffer = kBuffer - buffer) {
      const int count = static_cast<int>(end - k < kSlice ? end - k : kSlice);
      float* const terms = shared + buffer;
      for (int e = t.thread(); e < kSlice * kWarp; e += kBlockThreads) {
        constexpr bool kAlong = kNeighbours == Neighbours::kTerms;
        const int term = kAlong ? e % kSlice : e / kWarp, chain = kAlong ? e / kSlice : e % kWarp;
        if (term < count && first_chain + chain < chains)
          store(f(group, k + term, first_chain + chain), terms + term * kLine + chain);
      }
      t.barrier();
      if (lane < kWarp) {
        for (int term = 0; term < count; ++term) acc = fold(terms + term * kLine + lane, acc);
      }
    }
    if (lane < kWarp && first_chain + lane < chains)
      out[(part * groups + group) * chains + first_chain + lane] = acc;
  }

 private:
  LOCKSTEP_DEVICE static void store(float value, float* to) { *to = value; }
  LOCKSTEP_DEVICE static void store(const Term& term, float* to) {
    to[0] = term.u;
    to[kSlice * kLine] = term.v;
  }
  LOCKSTEP_DEVICE static float fold(const float* term, float acc) {
    if constexpr (kProducts) return spec::fma(term[0], term[kSlice * kLine], acc);
    return acc + term[0];
  }
};

template <Neighbours kNeighbours, bool kProducts, class Gpu, class F>
void chains(Gpu& gpu, std::int64_t groups, std::int64_t depth, std::int64_t count, const F& f,
            float* out) {
  using Kernel = ChainKernel<kNeighbours, kProducts, F>;
  const std::int64_t parts = depth > kBlock ? (depth + kBlock - 1) / kBlock : 1,
                     all = groups * count;
  const Scratch<Gpu, float> sums(gpu, parts == 1 ? 0 : parts * all);
  const Kernel kernel{groups, depth, count, f, parts == 1 ? out : sums.data()};
  gpu.launch(Grid{parts * groups * kernel.tiles(), Kernel::kBlockThreads, Kernel::kSharedBytes},
             kernel);
  if (parts == 1) return;
  const float* const blocks = sums.data();
  const auto add = [=] LOCKSTEP_DEVICE(std::int64_t i) {
    float sum = blocks[i];
    for (std::int64_t part = 1; part < parts; ++part) sum = sum + blocks[part * all + i];
    out[i] = sum;
  };
  gpu.launch(grid_of(all), Each<decltype(add)>{all, add});
}

// out[groups][count]: chains of the values f(group, k, chain), k < depth, neighbours among chains.
template <class Gpu, class F>
void column_sums(Gpu& gpu, std::int64_t groups, std::int64_t depth, std::int64_t count, const F& f,
                 float* out) {
  chains<Neighbours::kChains, false>(gpu, groups, depth, count, f, out);
}
// Chains of products.
template <class Gpu, class F>
void column_dots(Gpu& gpu, std::int64_t groups, std::int64_t depth, std::int64_t count, const F& f,
                 float* out) {
  chains<Neighbours::kChains, true>(gpu, groups, depth, count, f, out);
}
// out[count]: one group, neighbours within a chain.
template <class Gpu, class F>
void row_chains(Gpu& gpu, std::int64_t depth, std::int64_t count, const F& f, float* out) {
  chains<Neighbours::kTerms, false>(gpu, 1, depth, count, f, out);
}
template <class Gpu, class F>
void row_products(Gpu& gpu, std::int64_t depth, std::int64_t count, const F& f, float* out) {
  chains<Neighbours::kTerms, true>(gpu, 1, depth, count, f, out);
}

}  // namespace lockstep::numerics::cuda

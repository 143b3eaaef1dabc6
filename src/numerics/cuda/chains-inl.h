// Private: many blocked chains at once for CUDA (spec/chain.h). All threads of a block compute
// terms of 32 chains, 64 of each at a time; a warp folds them in order while the others compute the
// next. A thread reads what several terms are made of before it computes the first (elements.h).
// Where chains are neighbours, a thread computes terms of one chain: what these have in common is
// read once. The blocks of a chain are folded side by side; whoever reads a chain adds them up.
#pragma once

#include <type_traits>

#include "lockstep/numerics/spec/chain.h"
#include "lockstep/numerics/spec/operations.h"
#include "numerics/cuda/columns.h"
#include "numerics/cuda/device.h"
#include "numerics/cuda/elements.h"

namespace lockstep::numerics::cuda {

// Of a chain of products; of sums and products the sum is that of u.
struct Term {
  float u, v;
};

// Where neighbours lie in memory: of one chain, or of neighbouring ones.
enum class Neighbours { kTerms, kChains };

// What chains are of: values, products of two factors, or both, each folded by a warp of its own.
enum class Fold { kSums, kProducts, kBoth };
constexpr int chains_of(Fold fold) {
  return fold == Fold::kBoth ? 2 : 1;
}

// Folds terms of 32 chains by all threads of a block, which has room for kSharedBytes.
template <Neighbours kNeighbours, Fold kFold, int kBlockThreads>
struct ChainFold {
  static constexpr int kSlice = 64, kLine = kWarp + 1;  // terms; floats a term: no bank conflicts
  static constexpr int kFactors = kFold == Fold::kSums ? 1 : 2, kWarps = chains_of(kFold);
  static constexpr int kBuffer = kFactors * kSlice * kLine;
  static constexpr int kSecond = kBuffer - kSlice * kLine;  // where second factors begin
  static constexpr std::int64_t kSharedBytes = 2 * kBuffer * 4;
  static constexpr int kReads = 8;  // of a thread, before it computes

  // Terms [first, end) of chains [first_chain, first_chain + 32) below `chains`. Term k of a chain
  // is term(x), a float or a Term; x is read(k, chain) of neighbouring terms, and of neighbouring
  // chains read(first, chain)(k - first). Lane i of the first warp returns chain first_chain + i's,
  // of the second, where both are folded, that of products. A barrier must come before shared
  // memory is used again.
  template <class Thread, class Read, class MadeOf>
  LOCKSTEP_DEVICE static float folded(Thread& t, float* shared, std::int64_t first_chain,
                                      std::int64_t chains, std::int64_t first, std::int64_t end,
                                      const Read& read, const MadeOf& term) {
    const int left = static_cast<int>(chains - first_chain < kWarp ? chains - first_chain : kWarp);
    const int lane = t.thread() % kWarp;
    float acc = 0.0F;
    if constexpr (kNeighbours == Neighbours::kChains) {
      // The last chain again, where there is no other.
      const auto column = read(first, first_chain + (lane < left ? lane : left - 1));
      go_through(t, shared, first, end, &acc, [&](std::int64_t k, int count, float* terms) {
        compute_column(t, column, static_cast<int>(k - first), count, lane < left, term, terms);
      });
    } else {
      go_through(t, shared, first, end, &acc, [&](std::int64_t k, int count, float* terms) {
        compute_rows(
            t, [&](int i, int chain) { return read(k + i, first_chain + chain); }, count, left,
            term, terms);
      });
    }
    return acc;
  }

 private:
  static constexpr int kBlockWarps = kBlockThreads / kWarp;

  // compute(k, count, terms) for each slice of [first, end), which is then folded.
  template <class Thread, class Compute>
  LOCKSTEP_DEVICE static void go_through(Thread& t, float* shared, std::int64_t first,
                                         std::int64_t end, float* acc, const Compute& compute) {
    const int lane = t.thread() % kWarp, warp = t.thread() / kWarp;
    int buffer = 0;
    for (std::int64_t k = first; k < end; k += kSlice, buffer = kBuffer - buffer) {
      const int count = static_cast<int>(end - k < kSlice ? end - k : kSlice);
      float* const terms = shared + buffer;
      compute(k, count, terms);
      t.barrier();
      if (warp >= kWarps) continue;
      if (kFold == Fold::kProducts || warp == 1)
        *acc = fold<true>(*acc, terms + lane, count);
      else
        *acc = fold<false>(*acc, terms + lane, count);
    }
  }

  // A chain's terms, sixteen on their way from shared memory.
  template <bool kOfProducts>
  LOCKSTEP_DEVICE static float fold(float acc, const float* terms, int count) {
    constexpr int kSome = 16;
    const auto with = [&](int i) {
      const float* const at = terms + i * kLine;
      if constexpr (kOfProducts)
        acc = spec::fma(at[0], at[kSecond], acc);
      else
        acc = acc + at[0];
    };
    int i = 0;
    for (; i + kSome <= count; i += kSome) {
      LOCKSTEP_UNROLL
      for (int n = 0; n < kSome; ++n) with(i + n);
    }
    for (; i < count; ++i) with(i);
    return acc;
  }

  // Of one chain a thread: terms of a slice that begins with column(at). Behind its end the last
  // one is read again: no branch. A column that has `keep` is given each term once.
  template <class Thread, class Column, class MadeOf>
  LOCKSTEP_DEVICE static void compute_column(const Thread& t, const Column& column, int at,
                                             int count, bool own, const MadeOf& term,
                                             float* terms) {
    const int warp = t.thread() / kWarp;
    float* const to = terms + t.thread() % kWarp;
    for (int i = warp; i < count; i += kReads * kBlockWarps) {
      std::remove_cvref_t<decltype(column(at))> made_of[kReads];
      const auto compute = [&](int n) {
        const int place = i + n * kBlockWarps;
        const auto made = term(made_of[n]);
        store(made, to + place * kLine);
        if constexpr (requires { column.keep(at, made); }) {
          if (own) column.keep(at + place, made);
        }
      };
      if (i + (kReads - 1) * kBlockWarps < count) {
        LOCKSTEP_UNROLL
        for (int n = 0; n < kReads; ++n) made_of[n] = column(at + i + n * kBlockWarps);
        LOCKSTEP_UNROLL
        for (int n = 0; n < kReads; ++n) compute(n);
      } else {
        LOCKSTEP_UNROLL
        for (int n = 0; n < kReads; ++n) {
          const int place = i + n * kBlockWarps;
          made_of[n] = column(at + (place < count ? place : count - 1));
        }
        LOCKSTEP_UNROLL
        for (int n = 0; n < kReads; ++n)
          if (i + n * kBlockWarps < count) compute(n);
      }
    }
  }

  // Of several chains a thread, `left` in all.
  template <class Thread, class Read, class MadeOf>
  LOCKSTEP_DEVICE static void compute_rows(const Thread& t, const Read& read, int count, int left,
                                           const MadeOf& term, float* terms) {
    for (int e = t.thread(); e < kSlice * kWarp; e += kReads * kBlockThreads) {
      const Place here(e);
      if (!here.below(count, left)) break;  // nor are those behind it
      // The first one again, where there is no other: a read without a branch.
      const auto place = [&](int n) {
        const Place other(e + n * kBlockThreads);
        return other.below(count, left) ? other : here;
      };
      decltype(read(0, 0)) made_of[kReads];
      LOCKSTEP_UNROLL
      for (int n = 0; n < kReads; ++n) made_of[n] = read(place(n).term, place(n).chain);
      LOCKSTEP_UNROLL
      for (int n = 0; n < kReads; ++n) {
        const Place one(e + n * kBlockThreads);
        if (one.below(count, left)) store(term(made_of[n]), terms + one.term * kLine + one.chain);
      }
    }
  }

  // Of element e of a slice of rows: neighbours in memory by neighbouring threads. Of a thread's
  // elements neither falls.
  struct Place {
    int term, chain;
    LOCKSTEP_DEVICE explicit Place(int e) : term(e % kSlice), chain(e / kSlice) {}
    LOCKSTEP_DEVICE bool below(int terms, int chains) const {
      return term < terms && chain < chains;
    }
  };

  LOCKSTEP_DEVICE static void store(float value, float* to) { *to = value; }
  LOCKSTEP_DEVICE static void store(const Term& term, float* to) {
    to[0] = term.u;
    to[kSecond] = term.v;
  }
};

// Of a group's chain, x is read(group, k, chain) of neighbouring terms, read(group, first, chain)(k
// - first) of neighbouring chains.
template <Neighbours kNeighbours, Fold kFold, class Read, class MadeOf>
struct ChainKernel {
  // Two chains of the same terms are of norms: group norm's derivatives are most of the work.
  static constexpr int kBlockThreads = kFold == Fold::kBoth ? 256 : 128,
                       kResidentBlocks = 512 / kBlockThreads;
  using Folds = ChainFold<kNeighbours, kFold, kBlockThreads>;

  std::int64_t groups, depth, chains, parts;
  Read read;
  MadeOf term;
  float* out;  // [sums, products][blocks of a chain][groups][chains]

  LOCKSTEP_HD std::int64_t tiles() const { return (chains + kWarp - 1) / kWarp; }

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const std::int64_t across = tiles();
    const std::int64_t group = t.block() / across % groups, part = t.block() / across / groups,
                       first_chain = t.block() % across * kWarp, first = part * kBlock,
                       end = first + kBlock < depth ? first + kBlock : depth;
    const float acc = Folds::folded(
        t, t.template shared<float>(), first_chain, chains, first, end,
        [&](std::int64_t k, std::int64_t chain) { return read(group, k, chain); }, term);
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
    return add_in_order(InRows{blocks}, i, all, parts);
  }
  // Of chains i, i + step, …: all on their way.
  template <int kCount>
  LOCKSTEP_DEVICE void some(std::int64_t i, std::int64_t step, float (&sums)[kCount]) const {
    InRows{blocks}.some(i, step, sums);
    for (std::int64_t part = 1; part < parts; ++part) {
      float more[kCount];
      InRows{blocks}.some(part * all + i, step, more);
      LOCKSTEP_UNROLL
      for (int n = 0; n < kCount; ++n) sums[n] = sums[n] + more[n];
    }
  }
};

// groups * count chains of `depth` terms, chain `group * count + chain` of all, to be read by
// kernels.
template <Neighbours kNeighbours, Fold kFold, class Gpu>
class Chains {
 public:
  template <class Read, class MadeOf = Itself>
  Chains(Gpu& gpu, std::int64_t groups, std::int64_t depth, std::int64_t count, const Read& read,
         const MadeOf& term = {})
      : parts_(depth > kBlock ? (depth + kBlock - 1) / kBlock : 1),
        all_(groups * count),
        memory_(gpu, chains_of(kFold) * parts_ * all_) {
    launch(gpu, groups, depth, count, read, term, memory_.data());
  }

  ChainSums sums() const { return {memory_.data(), parts_, all_}; }
  // Of products, where both are folded.
  ChainSums products() const { return {memory_.data() + parts_ * all_, parts_, all_}; }

  // To `out`, where a chain is one block.
  template <class Read, class MadeOf>
  static void launch(Gpu& gpu, std::int64_t groups, std::int64_t depth, std::int64_t count,
                     const Read& read, const MadeOf& term, float* out) {
    using Kernel = ChainKernel<kNeighbours, kFold, Read, MadeOf>;
    const std::int64_t parts = depth > kBlock ? (depth + kBlock - 1) / kBlock : 1;
    const Kernel kernel{groups, depth, count, parts, read, term, out};
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
template <Neighbours kNeighbours, Fold kFold, class Gpu, class Read, class MadeOf = Itself>
void chains(Gpu& gpu, std::int64_t groups, std::int64_t depth, std::int64_t count, float* out,
            const Read& read, const MadeOf& term = {}) {
  using Folded = Chains<kNeighbours, kFold, Gpu>;
  if (depth <= kBlock) return Folded::launch(gpu, groups, depth, count, read, term, out);
  const Folded folded(gpu, groups, depth, count, read, term);
  const auto add = [sums = folded.sums(), out] LOCKSTEP_DEVICE(std::int64_t i) {
    out[i] = sums(i);
  };
  gpu.launch(grid_of(groups * count), Each<decltype(add)>{groups * count, add});
}

// out[count]: one group, neighbours within a chain.
template <class Gpu, class Read>
void row_chains(Gpu& gpu, std::int64_t depth, std::int64_t count, float* out, const Read& read) {
  chains<Neighbours::kTerms, Fold::kSums>(gpu, 1, depth, count, out, read);
}
template <class Gpu, class Read, class MadeOf = Itself>
void row_products(Gpu& gpu, std::int64_t depth, std::int64_t count, float* out, const Read& read,
                  const MadeOf& term = {}) {
  chains<Neighbours::kTerms, Fold::kProducts>(gpu, 1, depth, count, out, read, term);
}

}  // namespace lockstep::numerics::cuda

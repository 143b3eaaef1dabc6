// Private: many blocked chains at once for CUDA (spec/chain.h). All threads of a block compute
// terms of 32 chains, a slice of 64 of each at a time, which a warp folds in order. Of columns,
// what the next slice is made of is on its way meanwhile. Where chains are neighbours, a thread
// computes terms of one chain: what these have in common is read once. The blocks of a chain are
// folded side by side; whoever reads a chain adds them up.
#pragma once

#include <type_traits>

#include "lockstep/numerics/spec/chain.h"
#include "lockstep/numerics/spec/operations.h"
#include "numerics/cuda/columns.h"
#include "numerics/cuda/device.h"
#include "numerics/cuda/divisor.h"
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

// One, if it has no term.
constexpr std::int64_t blocks_of_chain(std::int64_t depth) {
  return depth > kBlock ? (depth + kBlock - 1) / kBlock : 1;
}

// Folds terms of 32 chains by all threads of a block, which has room for kSharedBytes.
template <Neighbours kNeighbours, Fold kFold, int kBlockThreads>
struct ChainFold {
  static constexpr int kSlice = 64, kLine = kWarp + 1;  // terms; floats a term: no bank conflicts
  static constexpr int kFactors = kFold == Fold::kSums ? 1 : 2, kWarps = chains_of(kFold);
  static constexpr int kBuffer = kFactors * kSlice * kLine;
  static constexpr int kSecond = kBuffer - kSlice * kLine;  // where second factors begin
  static constexpr std::int64_t kSharedBytes = 2 * kBuffer * 4;
  static constexpr int kOfThread = kSlice * kWarp / kBlockThreads;  // terms of a slice
  static constexpr int kReads = 8;  // of a thread's terms together, where it has several rows'

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
      go_through(t, shared, first, end, &acc,
                 OfColumn<std::remove_cvref_t<decltype(column)>, MadeOf>{
                     column, term, first, t.thread() / kWarp, lane, lane < left});
    } else {
      go_through(t, shared, first, end, &acc,
                 OfRows<Read, MadeOf>{read, term, first_chain, t.thread(), left});
    }
    return acc;
  }

 private:
  static constexpr int kBlockWarps = kBlockThreads / kWarp;

  // `of` reads what a thread's terms of slice [k, k + count) are made of, and stores the terms.
  template <class Thread, class Of>
  LOCKSTEP_DEVICE static void go_through(Thread& t, float* shared, std::int64_t first,
                                         std::int64_t end, float* acc, const Of& of) {
    if (first >= end) return;
    const auto count_of = [&](std::int64_t k) {
      return static_cast<int>(end - k < kSlice ? end - k : kSlice);
    };
    const int lane = t.thread() % kWarp, warp = t.thread() / kWarp;
    auto values = of.read(first, count_of(first));
    int buffer = 0;
    for (std::int64_t k = first; k < end; k += kSlice, buffer = kBuffer - buffer) {
      const int count = count_of(k);
      float* const terms = shared + buffer;
      of.store(k, count, values, terms);
      t.barrier();
      if (k + kSlice < end) values = of.read(k + kSlice, count_of(k + kSlice));
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

  template <class Value>
  struct Values {
    Value of[kOfThread];
  };

  // Terms of one chain a thread, whose column begins with term `first`. Behind a slice's end its
  // last one is read again: no branch. A column that has `keep` is given each term once.
  template <class Column, class MadeOf>
  struct OfColumn {
    Column column;
    const MadeOf& term;
    std::int64_t first;
    int warp, lane;
    bool own;

    LOCKSTEP_DEVICE auto read(std::int64_t k, int count) const {
      const int at = static_cast<int>(k - first);
      Values<std::remove_cvref_t<decltype(column(at))>> values;
      if (count == kSlice) {
        LOCKSTEP_UNROLL
        for (int n = 0; n < kOfThread; ++n) values.of[n] = column(at + warp + n * kBlockWarps);
      } else {
        LOCKSTEP_UNROLL
        for (int n = 0; n < kOfThread; ++n) {
          const int place = warp + n * kBlockWarps;
          values.of[n] = column(at + (place < count ? place : count - 1));
        }
      }
      return values;
    }
    template <class Some>
    LOCKSTEP_DEVICE void store(std::int64_t k, int count, const Some& values, float* terms) const {
      LOCKSTEP_UNROLL
      for (int n = 0; n < kOfThread; ++n) {
        const int place = warp + n * kBlockWarps;
        if (place >= count) continue;
        const auto made = term(values.of[n]);
        put(made, terms + place * kLine + lane);
        if constexpr (requires { column.keep(place, made); }) {
          if (own) column.keep(static_cast<int>(k - first) + place, made);
        }
      }
    }
  };

  // Terms of several chains a thread, of `left` in all: neighbours in memory by neighbouring
  // threads. Terms of rows are made of up to five values, too many to be held while a slice is
  // folded. No thread reads what another one does: softmax may write there.
  template <class Read, class MadeOf>
  struct OfRows {
    const Read& read_one;
    const MadeOf& term;
    std::int64_t first_chain;
    int thread, left;

    struct Nothing {};
    LOCKSTEP_DEVICE Nothing read(std::int64_t, int) const { return {}; }
    LOCKSTEP_DEVICE void store(std::int64_t k, int count, Nothing, float* terms) const {
      for (int e = thread; e < kSlice * kWarp; e += kReads * kBlockThreads) {
        const Place here(e);
        if (!here.below(count, left)) break;  // nor are those behind it
        // The first one again, where there is no other: a read without a branch.
        const auto place = [&](int n) {
          const Place other(e + n * kBlockThreads);
          return other.below(count, left) ? other : here;
        };
        std::remove_cvref_t<decltype(read_one(k, first_chain))> made_of[kReads];
        LOCKSTEP_UNROLL
        for (int n = 0; n < kReads; ++n)
          made_of[n] = read_one(k + place(n).term, first_chain + place(n).chain);
        LOCKSTEP_UNROLL
        for (int n = 0; n < kReads; ++n) {
          const Place one(e + n * kBlockThreads);
          if (one.below(count, left)) put(term(made_of[n]), terms + one.term * kLine + one.chain);
        }
      }
    }
  };

  // Of element e of a slice of rows: neighbours in memory by neighbouring threads. Of a thread's
  // elements neither falls.
  struct Place {
    int term, chain;
    LOCKSTEP_DEVICE explicit Place(int e) : term(e % kSlice), chain(e / kSlice) {}
    LOCKSTEP_DEVICE bool below(int terms, int chains) const {
      return term < terms && chain < chains;
    }
  };

  LOCKSTEP_DEVICE static void put(float value, float* to) { *to = value; }
  LOCKSTEP_DEVICE static void put(const Term& term, float* to) {
    to[0] = term.u;
    to[kSecond] = term.v;
  }
};

// Of a group's chain, x is read(group, k, chain) of neighbouring terms, read(group, first, chain)(k
// - first) of neighbouring chains.
template <Neighbours kNeighbours, Fold kFold, class Read, class MadeOf>
struct ChainKernel {
  // Two chains of the same terms are of norms, whose terms are most of the work.
  static constexpr int kBlockThreads = kFold == Fold::kBoth ? 256 : 128,
                       kResidentBlocks = 512 / kBlockThreads;
  using Folds = ChainFold<kNeighbours, kFold, kBlockThreads>;

  std::int64_t groups, depth, chains, parts;
  Divisor tiles, by_groups;  // tiles are of 32 chains
  Read read;
  MadeOf term;
  float* out;  // [sums, products][blocks of a chain][groups][chains]

  static ChainKernel of(std::int64_t groups, std::int64_t depth, std::int64_t chains,
                        const Read& read, const MadeOf& term, float* out) {
    const std::int64_t parts = blocks_of_chain(depth), tiles = tiles_of(chains),
                       blocks = parts * groups * tiles;
    return {groups, depth, chains, parts, Divisor(tiles, blocks), Divisor(groups, blocks),
            read,   term,  out};
  }
  static std::int64_t tiles_of(std::int64_t chains) { return (chains + kWarp - 1) / kWarp; }
  Grid grid() const {
    return {parts * groups * tiles_of(chains), kBlockThreads, Folds::kSharedBytes};
  }

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const std::int64_t row = tiles.quotient(t.block()), part = by_groups.quotient(row),
                       group = row - part * groups,
                       first_chain = tiles.remainder(t.block()) * kWarp, first = part * kBlock,
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
      : parts_(blocks_of_chain(depth)),
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
    const Kernel kernel = Kernel::of(groups, depth, count, read, term, out);
    gpu.launch(kernel.grid(), kernel);
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

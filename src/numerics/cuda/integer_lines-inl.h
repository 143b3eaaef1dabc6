// Private: how an operand of integer products lies in shared memory: kDepth of k of some rows, as
// in memory, so that copies need no registers. Values that are neighbours in memory are a line:
// those of a row, or those of one k. Of sixteen of them the lower slices are a chunk of 16 bytes,
// the higher ones the next. Chunks of a line are exchanged such that eight lines that are read
// together have a chunk in all 32 banks.
#pragma once

#include "numerics/cuda/integer_slices-inl.h"

namespace lockstep::numerics::cuda {

inline constexpr int kChunk = 8;  // its size, in values' 16 bits

template <class Operand, int kRows_>
struct Lines {
  static constexpr bool kAlongK = Operand::kAlongK;
  static constexpr int kRows = kRows_;
  static constexpr int kLine = kAlongK ? kDepth : kRows;  // values
  static constexpr int kChunks = kLine / kChunk;          // of a line

  // Where a chunk begins. The same chunk of lines a multiple of 16 apart is as many kLine apart.
  LOCKSTEP_HD static constexpr int at(int line, int chunk) {
    return line * kLine + (chunk ^ exchange(line)) * kChunk;
  }

  // Of the four matrices that a warp loads, which line of 16 or, across k, of 32 row `row` of
  // matrix `which` is. Matrices along k have even rows, then odd ones, of 16 of k; then of the
  // next 16. Matrices across k have two of each four of k: those of each 16 come out as four
  // neighbours in k a lane, as those along k do.
  LOCKSTEP_HD static constexpr int line_of(int which, int row) {
    return kAlongK ? row * 2 + which % 2 : which / 2 * 16 + row / 2 * 4 + which % 2 * 2 + row % 2;
  }

 private:
  LOCKSTEP_HD static constexpr int exchange(int line) {
    if (kAlongK) return line / 2 % 8;
    return kChunks % 8 == 0 ? line % 2 + line / 4 % 4 * 2 : line / 4 % 4;
  }
  static constexpr bool chunks_meet_no_bank_twice() {
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      for (int which = 0; which < 4; ++which) {
        std::uint32_t fours = 0;  // of banks
        for (int row = 0; row < 8; ++row)
          fours |= 1U << at(line_of(which, row), chunk) / kChunk % 8;
        if (fours != 0xff) return false;
      }
    }
    return true;
  }
  static_assert(kLine % (4 * kChunk) == 0 && chunks_meet_no_bank_twice());
};

// What a lane asks for of kBlocks blocks of 16 rows, from one on.
template <class Lines, int kBlocks>
class Fragments {
 public:
  LOCKSTEP_DEVICE Fragments(int lane, int first_row) {
    const int line = Lines::line_of(lane / 8, lane % 8);
    LOCKSTEP_UNROLL
    for (int i = 0; i < kPlaces; ++i) {
      places_[i] = Lines::kAlongK ? Lines::at(first_row + line, lane / 16 * 2)
                                  : Lines::at(line, first_row / kChunk + i * 2);
    }
  }

  // Of 32 of k from `k` on: of rows 2 g and 2 g + 1 of the block, g the lane's group, four of k,
  // which are the lane's place in it; then those 16 of k further (PTX's fragments of mma).
  template <class Thread>
  LOCKSTEP_DEVICE void load(Thread& t, const std::int16_t* lines, int block, int k,
                            Slices (&slices)[4]) const {
    std::uint32_t low[4], high[4];
    load(t, lines, block, k, 0, low);
    load(t, lines, block, k, 1, high);
    LOCKSTEP_UNROLL
    for (int i = 0; i < 4; ++i) slices[i] = slices_of(high[i], low[i]);
  }

 private:
  static constexpr int kPlaces = Lines::kAlongK ? 1 : kBlocks;

  // `slice`: 0 the lower ones, 1 the higher ones.
  template <class Thread>
  LOCKSTEP_DEVICE void load(Thread& t, const std::int16_t* lines, int block, int k, int slice,
                            std::uint32_t (&words)[4]) const {
    if constexpr (Lines::kAlongK) {  // 16 of k are two chunks: bits of their number
      t.load_matrices(words, lines + (places_[0] ^ (k + slice * kChunk)) + block * 16 * kDepth);
    } else {
      std::uint32_t turned[4];
      t.load_turned_matrices(turned, lines + (places_[block] ^ slice * kChunk) + k * Lines::kRows);
      LOCKSTEP_UNROLL
      for (int half = 0; half < 4; half += 2) {
        words[half] = t.template bytes<0x6420>(turned[half], turned[half + 1]);
        words[half + 1] = t.template bytes<0x7531>(turned[half], turned[half + 1]);
      }
    }
  }

  int places_[kPlaces];
};

}  // namespace lockstep::numerics::cuda

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

  // A warp loads four matrices of eight lines: row `row` of the first one. The others' lie further:
  // along k by 1, so that one has the even rows of 16, another the odd ones; across k by 2, 16 and
  // 18, so that four neighbours in k come out as those along k do.
  LOCKSTEP_HD static constexpr int line_of(int row) {
    return kAlongK ? row * 2 : row / 2 * 4 + row % 2;
  }

 private:
  LOCKSTEP_HD static constexpr int exchange(int line) {
    if (kAlongK) return line / 2 % 8;
    return kChunks % 8 == 0 ? line % 2 + line / 4 % 4 * 2 : line / 4 % 4;
  }
  static constexpr bool chunks_meet_no_bank_twice() {
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      for (const int further : {0, kAlongK ? 1 : 2}) {  // by 16: as at first
        std::uint32_t fours = 0;                        // of banks
        for (int row = 0; row < 8; ++row)
          fours |= 1U << at(line_of(row) + further, chunk) / kChunk % 8;
        if (fours != 0xff) return false;
      }
    }
    return true;
  }
  static_assert(kLine % (4 * kChunk) == 0 && chunks_meet_no_bank_twice());
};

// What a lane asks for of kBlocks blocks of 16 rows, from one on. PTX's fragments of mma have four
// of k, which are the lane's place in its group, and those 16 of k further, of rows that are the
// group's: a left operand's of two at once, a right one's of one. Those two are neighbours, 2 g and
// 2 g + 1, for group g.
template <class Lines, int kBlocks, bool kRight>
class Fragments {
 public:
  LOCKSTEP_DEVICE Fragments(int lane, int first_row) {
    const int which = lane / 8, line = Lines::line_of(lane % 8);
    LOCKSTEP_UNROLL
    for (int i = 0; i < kPlaces; ++i) {
      places_[i] = Lines::kAlongK ? Lines::at(first_row + line + odd(which), later(which) * 2)
                                  : Lines::at(line + which % 2 * 2 + which / 2 * 16,
                                              first_row / kChunk + i * 2);
    }
  }

  // Of 32 of k from `k` on, in the order of mma's registers: a left operand's, or those of two
  // right ones, of the even rows and of the odd ones.
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

  // Whether a register is of the odd row; of the later 16 of k.
  LOCKSTEP_HD static constexpr int odd(int which) { return kRight ? which / 2 : which % 2; }
  LOCKSTEP_HD static constexpr int later(int which) { return kRight ? which % 2 : which / 2; }

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
      for (int which = 0; which < 4; ++which) {
        const std::uint32_t first = turned[later(which) * 2], second = turned[later(which) * 2 + 1];
        words[which] = odd(which) == 0 ? t.template bytes<0x6420>(first, second)
                                       : t.template bytes<0x7531>(first, second);
      }
    }
  }

  int places_[kPlaces];
};

}  // namespace lockstep::numerics::cuda

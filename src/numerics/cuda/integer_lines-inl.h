// Private: how an operand of integer products lies in shared memory: kDepth of k of some rows, as
// in memory, so that copies need no registers. Values that are neighbours in memory are a line:
// those of a row, or those of one k. Eight of them, 16 bytes, are a chunk; chunks of a line are
// exchanged such that eight neighbouring lines have a chunk in all 32 banks.
#pragma once

#include "numerics/cuda/integer_slices-inl.h"

namespace lockstep::numerics::cuda {

inline constexpr int kChunk = 8;

template <class Operand, int kRows_>
struct Lines {
  static constexpr bool kAlongK = Operand::kAlongK;
  static constexpr int kRows = kRows_;
  static constexpr int kLine = kAlongK ? kDepth : kRows;  // values
  static constexpr int kChunks = kLine / kChunk;          // of a line

  // Where a chunk begins. The same chunk of lines a multiple of 8 apart is as many kLine apart.
  LOCKSTEP_HD static constexpr int at(int line, int chunk) {
    return line * kLine + (chunk ^ (kChunks % 8 == 0 ? line & 7 : line >> 1 & 3)) * kChunk;
  }

 private:
  static constexpr bool chunks_meet_no_bank_twice() {
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      std::uint32_t fours = 0;  // of banks
      for (int line = 0; line < 8; ++line) fours |= 1U << at(line, chunk) / kChunk % 8;
      if (fours != 0xff) return false;
    }
    return true;
  }
  static_assert(kLine % (4 * kChunk) == 0 && chunks_meet_no_bank_twice());
};

// What a lane asks for of kBlocks blocks of 16 rows, from one on: a warp loads 16 of k of 16 rows
// at a time, four matrices: rows 0 to 7, of which k 0 to 7 and 8 to 15, then rows 8 to 15.
template <class Lines, int kBlocks>
class Fragments {
 public:
  LOCKSTEP_DEVICE Fragments(int lane, int first_row) {
    const int down = lane / 16, along = lane / 8 % 2, line = lane % 8;
    LOCKSTEP_UNROLL
    for (int i = 0; i < kPlaces; ++i) {
      places_[i] = Lines::kAlongK ? Lines::at(first_row + down * 8 + line, along)
                                  : Lines::at(along * 8 + line, first_row / kChunk + i * 2 + down);
    }
  }

  // Of 32 of k from `k` on, slices[rows][k]: of rows 0 and 8 further than the lane's group, and of
  // k 0 and 16 further than the lane's place in it (PTX's fragments of mma).
  template <class Thread>
  LOCKSTEP_DEVICE void load(Thread& t, const std::int16_t* lines, int block, int k,
                            Slices (&slices)[2][2]) const {
    LOCKSTEP_UNROLL
    for (int half = 0; half < 2; ++half, k += 16) {
      std::uint32_t pairs[4];
      if constexpr (Lines::kAlongK)  // 16 of k are two chunks: a bit of their number
        t.load_matrices(pairs, lines + (places_[0] ^ k) + block * 16 * kDepth);
      else
        t.load_turned_matrices(pairs, lines + places_[block] + k * Lines::kRows);
      slices[0][half] = slices_of(t, pairs[0], pairs[1]);
      slices[1][half] = slices_of(t, pairs[2], pairs[3]);
    }
  }

 private:
  static constexpr int kPlaces = Lines::kAlongK ? 1 : kBlocks;
  int places_[kPlaces];
};

}  // namespace lockstep::numerics::cuda

// What PTX's written layouts say of matrices in a warp's registers.
#pragma once

#include <cstdint>
#include <cstring>

namespace lockstep::test::gpu {

// What a lane gives to a load of matrices.
struct MatrixRow {
  std::uint32_t* to;
  const void* from;
  bool turned;  // all lanes of a warp say the same
};

// Of the 32 lanes of a warp. PTX, "ldmatrix": the rows of the first matrix are those of lanes 0 to
// 7, and so on; a lane gets two values of 16 bits, beginning at 2 * (lane % 4), of row lane / 4 of
// each matrix. With ".trans" it gets them of column lane / 4.
inline void load(const MatrixRow* lanes) {
  for (std::size_t lane = 0; lane < 32; ++lane) {
    for (std::size_t m = 0; m < 4; ++m) {
      std::uint16_t values[2];
      for (std::size_t e = 0; e < 2; ++e) {
        const std::size_t along = lane % 4 * 2 + e, across = lane / 4;
        const std::size_t row = lanes[lane].turned ? along : across;
        const std::size_t column = lanes[lane].turned ? across : along;
        const auto* const from = static_cast<const char*>(lanes[m * 8 + row].from);
        std::memcpy(&values[e], from + column * 2, 2);
      }
      std::memcpy(lanes[lane].to + m, values, 4);
    }
  }
}

// What a lane gives to a product of matrices.
struct Fragment {
  std::int32_t* sums;
  const std::uint32_t* a;
  const std::uint32_t* b;
};

// Of the 32 lanes of a warp. PTX, "Matrix Fragments for mma.m16n8k32" (.s8): of four lanes with one
// `group` each has four bytes of k a register. a: row group, or + 8 in every second register; k +
// 16 in the last two. b: column group; k + 16 in the second register. sums: rows as those of a,
// columns 2 * lane and + 1.
inline void multiply(const Fragment* lanes) {
  std::int8_t a[16][32], b[8][32];
  for (std::size_t lane = 0; lane < 32; ++lane) {
    const std::size_t group = lane / 4, k = lane % 4 * 4;
    for (std::size_t r = 0; r < 4; ++r)
      std::memcpy(&a[group + r % 2 * 8][k + r / 2 * 16], &lanes[lane].a[r], 4);
    for (std::size_t r = 0; r < 2; ++r) std::memcpy(&b[group][k + r * 16], &lanes[lane].b[r], 4);
  }
  for (std::size_t lane = 0; lane < 32; ++lane) {
    for (std::size_t r = 0; r < 4; ++r) {
      const std::size_t i = lane / 4 + r / 2 * 8, j = lane % 4 * 2 + r % 2;
      std::int32_t sum = 0;
      for (std::size_t k = 0; k < 32; ++k) sum += a[i][k] * b[j][k];
      // Without .satfinite a sum wraps around.
      lanes[lane].sums[r] = static_cast<std::int32_t>(
          static_cast<std::uint32_t>(lanes[lane].sums[r]) + static_cast<std::uint32_t>(sum));
    }
  }
}

}  // namespace lockstep::test::gpu


#include <algorithm>
#include <array>
#include <vector>

#include "lockstep/numerics/cpu.h"
#include "numerics/cpu/matrix_scalar.h"
#include "numerics/cpu/packed.h"
#include "numerics/cpu/register_tile.h"

namespace lockstep::numerics {
namespace {

constexpr std::int64_t kRowChunk = 192;       // rows of a kept in cache during a sweep over columns
constexpr std::int64_t kWorkGrain = 1 << 17;  // multiplications worth a thread

struct Product {
  std::int64_t m, n, depth;
  Operand a, b;
  const float* bias;
  Output c;
  Sides<const float> rows{nullptr};  // in place of a where a is cut in two

  Product matrix(const Batch& batch, std::int64_t z) const {
    const std::int64_t outer = z / batch.matrices, inner = z % batch.matrices;
    Product one = *this;
    one.a.data += outer * a.outer + inner * a.batch;
    one.b.data += outer * b.outer + inner * b.batch;
    one.c.data += outer * c.outer + inner * c.batch;
    return one;
  }
};

// Rows [begin, end) of `from`, columns [first, first+count), to rows of `kBlock` contiguous floats.
void copy_block(const TileKernels& tile, const Operand& from, std::int64_t begin, std::int64_t end,
                std::int64_t first, std::int64_t count, float* to) {
  if (from.row == 1) {
    return tile.transpose(count, end - begin, from.data + first * from.col + begin, from.col, to,
                          kBlock);
  }
  for (std::int64_t k = 0; k < count; ++k) {
    const float* column = from.data + (first + k) * from.col;
    for (std::int64_t i = begin; i < end; ++i) to[(i - begin) * kBlock + k] = column[i * from.row];
  }
}

// The same of rows that are cut in two, of `depth` values.
void copy_sides(const Sides<const float>& from, std::int64_t depth, std::int64_t begin,
                std::int64_t end, std::int64_t first, std::int64_t count, float* to) {
  from.for_each(depth, [&](const float* side, std::int64_t side_first, std::int64_t c) {
    const std::int64_t low = std::max(first, side_first),
                       high = std::min(first + count, side_first + c);
    if (low >= high) return;
    for (std::int64_t i = begin; i < end; ++i) {
      std::copy_n(side + i * c + low - side_first, high - low,
                  to + (i - begin) * kBlock + low - first);
    }
  });
}

constexpr auto kConsecutive = [] {
  std::array<std::int64_t, kBlock> offsets{};
  for (std::int64_t k = 0; k < kBlock; ++k) offsets[static_cast<std::size_t>(k)] = k;
  return offsets;
}();

PackedColumns packed_block(const TileKernels& tile, const Product& p, std::int64_t first,
                           std::int64_t count) {
  PackedColumns packed(tile, count, p.n);
  packed.fill(0, count, p.b.data + first * p.b.row, p.b.row, p.b.col);
  return packed;
}

// One block of depth, packed, for rows [begin, end).
void multiply_rows(const TileKernels& tile, const Product& p, std::int64_t begin, std::int64_t end,
                   std::int64_t first, const PackedColumns& packed) {
  const bool cut = p.rows.right != nullptr, contiguous = !cut && p.a.col == 1;
  const std::int64_t chunk = std::min(kRowChunk, end - begin);
  const Scratch copy(contiguous ? 0 : chunk * kBlock);
  std::array<const float*, kRowChunk> a;
  std::array<float*, kRowChunk> c;
  Sweep sweep{.tile = &tile,
              .a = a.data(),
              .c = c.data(),
              .a_offset = kConsecutive.data(),
              .packed = &packed,
              .bias = first + packed.depth() == p.depth ? p.bias : nullptr,
              .block = kBlock,
              .add = first > 0};
  for (std::int64_t i = begin; i < end; i += chunk) {
    sweep.rows = std::min(chunk, end - i);
    if (cut) {
      copy_sides(p.rows, p.depth, i, i + sweep.rows, first, packed.depth(), copy.data());
    } else if (!contiguous) {
      copy_block(tile, p.a, i, i + sweep.rows, first, packed.depth(), copy.data());
    }
    for (std::int64_t r = 0; r < sweep.rows; ++r) {
      const auto index = static_cast<std::size_t>(r);
      a[index] = contiguous ? p.a.data + (i + r) * p.a.row + first : copy.data() + r * kBlock;
      c[index] = p.c.data + (i + r) * p.c.row;
    }
    sweep_tiles(sweep);
  }
}

// body(first, count) over the blocks of depth; at least once.
template <class Body>
void for_each_block(std::int64_t depth, const Body& body) {
  std::int64_t first = 0;
  do {
    body(first, std::min(kBlock, depth - first));
    first += kBlock;
  } while (first < depth);
}

void multiply_in_parallel(Cpu& cpu, const TileKernels& tile, const Product& p) {
  for_each_block(p.depth, [&](std::int64_t first, std::int64_t count) {
    const PackedColumns packed = packed_block(tile, p, first, count);
    const std::int64_t work = std::max<std::int64_t>(1, p.n * count);
    cpu.parallel_for(p.m, (kWorkGrain / work / tile.rows + 1) * tile.rows,
                     [&](std::int64_t begin, std::int64_t end) {
                       multiply_rows(tile, p, begin, end, first, packed);
                     });
  });
}

void multiply_batch(Cpu& cpu, const TileKernels& tile, const Batch& batch, const Product& p) {
  const std::int64_t work = std::max<std::int64_t>(1, p.m * p.n * p.depth);
  cpu.parallel_for(batch.all(), kWorkGrain / work + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t z = begin; z < end; ++z) {
      const Product one = p.matrix(batch, z);
      for_each_block(p.depth, [&](std::int64_t first, std::int64_t count) {
        multiply_rows(tile, one, 0, p.m, first, packed_block(tile, one, first, count));
      });
    }
  });
}

}  // namespace

void Cpu::gemm(Batch batch, std::int64_t m, std::int64_t n, std::int64_t depth, Operand a,
               Operand b, const float* bias, Output c) {
  if (batch.all() == 0 || m == 0 || n == 0) return;
  const Product product{m, n, depth, a, b, bias, c};
  if (isa() == Isa::kScalar) {
    parallel_for(batch.all() * m, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const Product p = product.matrix(batch, i / m);
        gemm_scalar(i % m, i % m + 1, n, depth, p.a, p.b, bias, p.c);
      }
    });
    return;
  }
  const TileKernels& tile = tile_kernels(isa());
  if (batch.all() < 4 * threads()) {
    for (std::int64_t z = 0; z < batch.all(); ++z)
      multiply_in_parallel(*this, tile, product.matrix(batch, z));
  } else {
    multiply_batch(*this, tile, batch, product);
  }
}

void Cpu::linear(std::int64_t rows, std::int64_t in, std::int64_t out, Sides<const float> x,
                 const float* w, const float* bias, float* y) {
  const Operand weights{w, out, 1};
  if (x.right == nullptr) return gemm(1, rows, out, in, {x.left, in, 1}, weights, bias, {y, out});
  if (isa() == Isa::kScalar) {
    parallel_for(rows, 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> row(static_cast<std::size_t>(in));
      for (std::int64_t i = begin; i < end; ++i) {
        x.for_each(in, [&](const float* side, std::int64_t first, std::int64_t c) {
          std::copy_n(side + i * c, c, row.data() + first);
        });
        gemm_scalar(0, 1, out, in, {row.data(), in, 1}, weights, bias, {y + i * out, out});
      }
    });
    return;
  }
  if (rows == 0 || out == 0) return;
  multiply_in_parallel(*this, tile_kernels(isa()), {rows, out, in, {}, weights, bias, {y, out}, x});
}

// A convolution of 1x1 taps over images of one column.
void Cpu::linear_weight_grad(const LaneBlocks& lanes, std::int64_t rows, std::int64_t in,
                             std::int64_t out, const float* x, const float* dy, float* dw) {
  const ConvShape shape{.n = lanes.samples(), .h = rows, .w = 1, .in = in, .out = out};
  conv2d_weight_grad(shape, lanes, x, dy, dw);
}

}  // namespace lockstep::numerics

// Attention goes by in pieces, and computes its weights again or keeps them: its bits are those of
// one product, softmax and product of everything at once; its memory is that of a piece.
#include <gtest/gtest.h>

#include <cstring>

#include "lockstep/numerics/host_math.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/ops.h"
#include "ops/attention_memory.h"
#include "ops/finite_differences.h"

namespace lockstep::ops {
namespace {
using namespace lockstep::ops::testing;

struct Shape {
  std::int64_t n, tokens, heads, d;
  std::int64_t c() const { return heads * d; }
  std::int64_t matrix() const { return tokens * tokens; }
};

struct Both {
  Tensor out, gradient;
};

// All matrices at once.
Both whole(const Shape& s, const Tensor& qkv, const Tensor& dout) {
  using numerics::Operand;
  const std::int64_t row = 3 * s.c(), sample = s.tokens * row, rows = s.n * s.heads * s.tokens;
  const numerics::Batch all{s.heads, s.n};
  const auto factor = static_cast<float>(1.0 / numerics::host::sqrt(static_cast<double>(s.d)));
  const auto part = [&](int which) {
    return Operand{read(qkv) + which * s.c(), row, 1, s.d, sample};
  };
  const auto turned = [](const Operand& m) {
    return Operand{m.data, m.col, m.row, m.batch, m.outer};
  };
  const auto weights = [&](const Tensor& p) {
    return Operand{read(p), s.tokens, 1, s.matrix(), s.heads * s.matrix()};
  };
  const auto to_weights = [&](Tensor& p) {
    return numerics::Output{write(p), s.tokens, s.matrix(), s.heads * s.matrix()};
  };
  Both both{empty({s.n, s.tokens, s.c()}), empty(qkv.sizes())};
  Tensor p = empty({rows, s.tokens}), dp = empty({rows, s.tokens});
  numerics::Device& on = device();
  on.gemm(all, s.tokens, s.tokens, s.d, part(0), turned(part(1)), nullptr, to_weights(p));
  on.softmax(rows, s.tokens, factor, read(p), write(p));
  on.gemm(all, s.tokens, s.d, s.tokens, weights(p), part(2), nullptr,
          {write(both.out), s.c(), s.d, s.tokens * s.c()});
  const Operand d{read(dout), s.c(), 1, s.d, s.tokens * s.c()};
  const auto gradient = [&](int which) {
    return numerics::Output{write(both.gradient) + which * s.c(), row, s.d, sample};
  };
  on.gemm(all, s.tokens, s.tokens, s.d, d, turned(part(2)), nullptr, to_weights(dp));
  on.gemm(all, s.tokens, s.d, s.tokens, turned(weights(p)), d, nullptr, gradient(2));
  on.softmax_backward(rows, s.tokens, factor, read(p), read(dp), write(dp));
  on.gemm(all, s.tokens, s.d, s.tokens, weights(dp), part(1), nullptr, gradient(0));
  on.gemm(all, s.tokens, s.d, s.tokens, turned(weights(dp)), part(0), nullptr, gradient(1));
  return both;
}

bool same(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes()) return false;
  const auto bytes = static_cast<std::size_t>(a.numel()) * sizeof(float);
  return bytes == 0 || std::memcmp(read(a), read(b), bytes) == 0;
}

void expect_the_same_bits(const Shape& s) {
  Tensor qkv = values({s.n, s.tokens, 3 * s.c()}, 1);
  const Tensor dout = values({s.n, s.tokens, s.c()}, 2);
  const Both expected = whole(s, qkv, dout);
  qkv.set_requires_grad(true);
  const Tensor out = attention(qkv, s.heads);
  const Tensor gradient = gradients({out}, {dout}, {qkv}, false).front();
  const auto what = ::testing::Message() << s.n << " x " << s.heads << " of " << s.tokens;
  EXPECT_TRUE(same(bare(out), expected.out)) << what;
  EXPECT_TRUE(same(gradient, expected.gradient)) << what;
}

// A piece of a CPU is 2^20 weights: several samples, one, some heads of one, a matrix, 512 rows.
TEST(Attention, HasTheBitsOfAllMatricesAtOnce) {
  for (const Shape& s : {Shape{2, 5, 3, 4},  // kept
                         {9, 256, 3, 64},    // kept; 5 samples at a time, at last 4
                         {2, 12, 1, 3},      // kept, just so; the next is not
                         {2, 13, 1, 3},
                         {7, 300, 2, 4},     // 5 samples
                         {3, 520, 2, 3},     // 1 sample, more than a block of a chain
                         {2, 550, 5, 2},     // 3 heads of a sample, then 2
                         {2, 1100, 2, 1},    // a head goes by in blocks of 512 rows
                         {1, 1030, 1, 260},  // and is kept
                         {1, 1, 2, 1},
                         {0, 40, 2, 1}})
    expect_the_same_bits(s);
}

// What the passes of a shape take.
AttentionMemory memory_of(const Shape& s) {
  return memory_of_attention(s.n, s.tokens, s.heads, s.d);
}

TEST(Attention, KeepsNoLargeWeights) {
  const Shape few{3, 256, 2, 64}, many{3, 257, 2, 64};
  const AttentionMemory kept = memory_of(few), again = memory_of(many);
  EXPECT_EQ(kept.left, 4 * 6 * few.matrix());
  EXPECT_EQ(kept.peak, 2 * 4 * 6 * few.matrix());
  EXPECT_EQ(again.left, 0);
  EXPECT_EQ(again.peak, 2 * 4 * 6 * many.matrix()) << "all in one piece";
}

TEST(Attention, TakesAPieceOfMemory) {
  const Shape s{4, 1024, 8, 16};
  EXPECT_EQ(memory_of(s).peak, 2 * 4 * s.matrix());
  const Shape larger{2, 4096, 2, 16};  // in blocks of rows; dk, dv and what is added to them wait
  EXPECT_EQ(memory_of(larger).peak, 4 * (2 * 512 * larger.tokens + 4 * larger.tokens * larger.d));
}

}  // namespace
}  // namespace lockstep::ops

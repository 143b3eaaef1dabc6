// Scaled dot-product attention (Vaswani et al. 2017) over batched products and softmax. A query's
// row of weights depends on no other row, so rows go by in pieces, whose weights take turns in a
// little memory; the backward pass computes them again. Which are kept follows from the shape
// (`keeps`). Both ways give the same bits.
#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/numerics/host_math.h"
#include "lockstep/numerics/spec/chain.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/memory.h"
#include "lockstep/ops/ops.h"
#include "ops/native.h"

namespace lockstep::ops {
namespace {

// Weights at a time; a matrix that has more goes by in rows, a block of a chain (numerics/gemm.h)
// at a time. On a CPU they stay in its cache; a GPU has work for all its multiprocessors.
constexpr std::int64_t kOfCpu = std::int64_t{1} << 20, kOfGpu = std::int64_t{16} << 20;

// One sample's matrices lie side by side: qkv is [tokens, 3C], head h of q at columns h*d, of k at
// C + h*d…
struct Shape {
  std::int64_t n, tokens, c, heads;
  float factor;
  std::int64_t d() const { return c / heads; }
  std::int64_t matrix() const { return tokens * tokens; }
  // Weights are kept for the backward pass where they take no more memory than q, k, v and the
  // result do, which are kept anyway: heads * tokens floats a token, not more than 4 C. Then few
  // products would be computed again to save little.
  bool keeps() const { return heads * tokens <= 4 * c; }
};

// All rows of all heads of some samples, all of some heads of one, or some of one head.
struct Piece {
  Shape s;
  std::int64_t sample, samples, head, heads, row, rows;

  numerics::Batch all() const { return {heads, samples}; }
  std::int64_t all_rows() const { return samples * heads * rows; }
  bool whole() const { return rows == s.tokens; }
  std::int64_t first_weight() const {
    return (sample * s.heads + head) * s.matrix() + row * s.tokens;
  }

  // q, dq: the piece's rows.
  std::int64_t queries() const { return keys(0) + row * 3 * s.c; }
  numerics::Operand queries(const Tensor& qkv) const { return part(read(qkv) + queries()); }
  numerics::Output to_queries(Tensor& dqkv) const { return to_part(write(dqkv) + queries()); }
  // Which = 1, 2: k, v: all rows.
  std::int64_t keys(int which) const {
    return sample * s.tokens * 3 * s.c + which * s.c + head * s.d();
  }
  numerics::Operand keys(const Tensor& qkv, int which) const {
    return part(read(qkv) + keys(which));
  }
  numerics::Output to_keys(Tensor& dqkv, int which) const {
    return to_part(write(dqkv) + keys(which));
  }
  // The result and its gradient: the piece's rows.
  std::int64_t result() const { return (sample * s.tokens + row) * s.c + head * s.d(); }
  numerics::Operand result(const Tensor& out) const {
    return {read(out) + result(), s.c, 1, s.d(), s.tokens * s.c};
  }
  numerics::Output to_result(Tensor& out) const {
    return {write(out) + result(), s.c, s.d(), s.tokens * s.c};
  }
  // The piece's own weights, [samples][heads][rows][tokens].
  numerics::Operand weights(const float* p) const {
    return {p, s.tokens, 1, rows * s.tokens, heads * rows * s.tokens};
  }
  numerics::Output to_weights(float* p) const {
    return {p, s.tokens, rows * s.tokens, heads * rows * s.tokens};
  }

 private:
  numerics::Operand part(const float* first) const {
    return {first, 3 * s.c, 1, s.d(), s.tokens * 3 * s.c};
  }
  numerics::Output to_part(float* first) const {
    return {first, 3 * s.c, s.d(), s.tokens * 3 * s.c};
  }
};

// A head's pieces follow each other.
template <class Body>
void for_each_piece(const Shape& s, const Body& body) {
  const std::int64_t most = (on_gpu() ? kOfGpu : kOfCpu) / std::max<std::int64_t>(1, s.matrix());
  const std::int64_t samples = std::max<std::int64_t>(1, most / s.heads),
                     heads = std::clamp<std::int64_t>(most, 1, s.heads),
                     rows = most > 0 ? s.tokens : numerics::kBlock;
  for (std::int64_t sample = 0; sample < s.n; sample += samples) {
    for (std::int64_t head = 0; head < s.heads; head += heads) {
      for (std::int64_t row = 0; row < s.tokens; row += rows) {
        body(Piece{s, sample, std::min(samples, s.n - sample), head,
                   std::min(heads, s.heads - head), row, std::min(rows, s.tokens - row)});
      }
    }
  }
}

// Room for the weights of any piece.
Tensor room(const Shape& s) {
  std::int64_t most = 0;
  for_each_piece(s, [&](const Piece& piece) { most = std::max(most, piece.all_rows()); });
  return empty({most, s.tokens});
}

numerics::Operand transposed(numerics::Operand m) {
  return {m.data, m.col, m.row, m.batch, m.outer};
}

void weigh(const Piece& piece, const Tensor& qkv, float* p) {
  const Shape& s = piece.s;
  device().gemm(piece.all(), piece.rows, s.tokens, s.d(), piece.queries(qkv),
                transposed(piece.keys(qkv, 1)), nullptr, piece.to_weights(p));
  device().softmax(piece.all_rows(), s.tokens, s.factor, p, p);
}

using native::Attended;

// What the kernels compute, portable. The weights are undefined where they are not kept.
Attended values_of(const Shape& s, const Tensor& qkv) {
  Tensor out = empty({s.n, s.tokens, s.c});
  Tensor weights = s.keeps() ? empty({s.n, s.heads, s.tokens, s.tokens}) : room(s);
  for_each_piece(s, [&](const Piece& piece) {
    float* const p = write(weights) + (s.keeps() ? piece.first_weight() : 0);
    weigh(piece, qkv, p);
    device().gemm(piece.all(), piece.rows, s.d(), s.tokens, piece.weights(p), piece.keys(qkv, 2),
                  nullptr, piece.to_result(out));
  });
  return {out, s.keeps() ? weights : Tensor()};
}

// dk or dv (which = 1, 2): chains over a head's rows. Where these go by block after block, the sum
// of those before waits here.
class OverRows {
 public:
  OverRows(Tensor& dqkv, int which) : dqkv_(dqkv), which_(which) {}

  // weights' rows, turned, times x's.
  void add(const Piece& piece, const float* weights, const numerics::Operand& x) {
    const Shape& s = piece.s;
    const numerics::Operand turned = transposed(piece.weights(weights));
    if (piece.whole()) {
      device().gemm(piece.all(), s.tokens, s.d(), piece.rows, turned, x, nullptr,
                    piece.to_keys(dqkv_, which_));
      return;
    }
    if (!sums_.defined()) sums_ = empty({s.tokens, s.d()}), block_ = empty({s.tokens, s.d()});
    Tensor& to = piece.row == 0 ? sums_ : block_;
    device().gemm(1, s.tokens, s.d(), piece.rows, turned, x, nullptr, {write(to), s.d()});
    if (piece.row > 0) {
      device().binary(numerics::Binary::kAdd, sums_.numel(), read(sums_), read(block_),
                      write(sums_));
    }
    if (piece.row + piece.rows == s.tokens) {
      dqkv_.select(0, piece.sample)
          .narrow(1, which_ * s.c + piece.head * s.d(), s.d())
          .copy_(sums_);
    }
  }

 private:
  Tensor& dqkv_;
  const int which_;
  Tensor sums_, block_;
};

Tensor gradient_of(const Shape& s, const Tensor& qkv, const Tensor& kept, const Tensor& dout) {
  Tensor dqkv = empty(qkv.sizes()), room_of_dp = room(s), again = s.keeps() ? Tensor() : room(s);
  float* const dp = write(room_of_dp);
  OverRows dk(dqkv, 1), dv(dqkv, 2);
  for_each_piece(s, [&](const Piece& piece) {
    if (!s.keeps()) weigh(piece, qkv, write(again));
    const float* const p = s.keeps() ? read(kept) + piece.first_weight() : read(again);
    const numerics::Operand d = piece.result(dout);
    device().gemm(piece.all(), piece.rows, s.tokens, s.d(), d, transposed(piece.keys(qkv, 2)),
                  nullptr, piece.to_weights(dp));
    dv.add(piece, p, d);
    device().softmax_backward(piece.all_rows(), s.tokens, s.factor, p, dp, dp);
    device().gemm(piece.all(), piece.rows, s.d(), s.tokens, piece.weights(dp), piece.keys(qkv, 1),
                  nullptr, piece.to_queries(dqkv));
    dk.add(piece, dp, piece.queries(qkv));
  });
  return dqkv;
}

}  // namespace

Tensor attention(const Tensor& qkv_in, std::int64_t heads) {
  const Tensor qkv = bare(qkv_in).contiguous();
  const std::int64_t c = qkv.size(2) / 3;
  LOCKSTEP_ASSERT(qkv.dim() == 3 && c * 3 == qkv.size(2) && c % heads == 0);
  const auto factor =
      static_cast<float>(1.0 / numerics::host::sqrt(static_cast<double>(c / heads)));
  const Shape s{qkv.size(0), qkv.size(1), c, heads, factor};
  const auto [out, weights] =
      native::on() ? native::attention(qkv, heads, factor) : values_of(s, qkv);
  return record("attention", {qkv_in}, out, Differentiable::kOnce,
                [=, p = weights](const Tensor& dout, const std::vector<bool>&) -> Tensors {
                  return {native::on() ? native::attention_backward(qkv, p, dout, factor)
                                       : gradient_of(s, qkv, p, dout)};
                });
}

}  // namespace lockstep::ops

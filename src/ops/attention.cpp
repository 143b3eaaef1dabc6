// Scaled dot-product attention (Vaswani et al. 2017) over batched products and softmax. A matrix of
// weights belongs to one sample and head alone, so these go by in pieces, whose matrices take turns
// in a little memory; the backward pass computes them again. Which are kept follows from the shape
// (`keeps`). Both ways give the same bits.
#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/numerics/host_math.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/memory.h"
#include "lockstep/ops/ops.h"
#include "ops/native.h"

namespace lockstep::ops {
namespace {

// Weights at a time, or one matrix that has more: on a CPU they stay in its cache; a GPU has work
// for all its multiprocessors.
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

// Some samples and heads: all heads of some samples, or some heads of one.
struct Piece {
  Shape s;
  std::int64_t sample, samples, head, heads;

  std::int64_t matrices() const { return samples * heads; }
  numerics::Batch all() const { return {heads, samples}; }
  std::int64_t first_matrix() const { return sample * s.heads + head; }

  // Which = 0, 1, 2: q, k, v of qkv; rows = tokens.
  std::int64_t part(int which) const {
    return sample * s.tokens * 3 * s.c + which * s.c + head * s.d();
  }
  numerics::Operand part(const Tensor& qkv, int which) const {
    return {read(qkv) + part(which), 3 * s.c, 1, s.d(), s.tokens * 3 * s.c};
  }
  numerics::Output to_part(Tensor& dqkv, int which) const {
    return {write(dqkv) + part(which), 3 * s.c, s.d(), s.tokens * 3 * s.c};
  }
  std::int64_t result() const { return sample * s.tokens * s.c + head * s.d(); }
  numerics::Operand result(const Tensor& out) const {
    return {read(out) + result(), s.c, 1, s.d(), s.tokens * s.c};
  }
  numerics::Output to_result(Tensor& out) const {
    return {write(out) + result(), s.c, s.d(), s.tokens * s.c};
  }
  // The piece's own matrices.
  numerics::Operand weights(const float* p) const {
    return {p, s.tokens, 1, s.matrix(), heads * s.matrix()};
  }
  numerics::Output to_weights(float* p) const {
    return {p, s.tokens, s.matrix(), heads * s.matrix()};
  }
};

template <class Body>
void for_each_piece(const Shape& s, const Body& body) {
  const std::int64_t most = std::max<std::int64_t>(
      1, (on_gpu() ? kOfGpu : kOfCpu) / std::max<std::int64_t>(1, s.matrix()));
  const std::int64_t samples = std::max<std::int64_t>(1, most / s.heads),
                     heads = std::min(most, s.heads);
  for (std::int64_t sample = 0; sample < s.n; sample += samples) {
    for (std::int64_t head = 0; head < s.heads; head += heads) {
      body(
          Piece{s, sample, std::min(samples, s.n - sample), head, std::min(heads, s.heads - head)});
    }
  }
}

// Room for the matrices of any piece.
Tensor room(const Shape& s) {
  std::int64_t most = 0;
  for_each_piece(s, [&](const Piece& piece) { most = std::max(most, piece.matrices()); });
  return empty({most, s.tokens, s.tokens});
}

numerics::Operand transposed(numerics::Operand m) {
  return {m.data, m.col, m.row, m.batch, m.outer};
}

void weigh(const Piece& piece, const Tensor& qkv, float* p) {
  const Shape& s = piece.s;
  device().gemm(piece.all(), s.tokens, s.tokens, s.d(), piece.part(qkv, 0),
                transposed(piece.part(qkv, 1)), nullptr, piece.to_weights(p));
  device().softmax(piece.matrices() * s.tokens, s.tokens, s.factor, p, p);
}

using native::Attended;

// What the kernels compute, portable. The weights are undefined where they are not kept.
Attended values_of(const Shape& s, const Tensor& qkv) {
  Tensor out = empty({s.n, s.tokens, s.c});
  Tensor weights = s.keeps() ? empty({s.n, s.heads, s.tokens, s.tokens}) : room(s);
  for_each_piece(s, [&](const Piece& piece) {
    float* const p = write(weights) + (s.keeps() ? piece.first_matrix() * s.matrix() : 0);
    weigh(piece, qkv, p);
    device().gemm(piece.all(), s.tokens, s.d(), s.tokens, piece.weights(p), piece.part(qkv, 2),
                  nullptr, piece.to_result(out));
  });
  return {out, s.keeps() ? weights : Tensor()};
}

void gradient_of(const Piece& piece, const Tensor& qkv, const float* p, const Tensor& dout,
                 float* dp, Tensor& dqkv) {
  const Shape& s = piece.s;
  const numerics::Operand d = piece.result(dout);
  device().gemm(piece.all(), s.tokens, s.tokens, s.d(), d, transposed(piece.part(qkv, 2)), nullptr,
                piece.to_weights(dp));
  device().gemm(piece.all(), s.tokens, s.d(), s.tokens, transposed(piece.weights(p)), d, nullptr,
                piece.to_part(dqkv, 2));
  device().softmax_backward(piece.matrices() * s.tokens, s.tokens, s.factor, p, dp, dp);
  device().gemm(piece.all(), s.tokens, s.d(), s.tokens, piece.weights(dp), piece.part(qkv, 1),
                nullptr, piece.to_part(dqkv, 0));
  device().gemm(piece.all(), s.tokens, s.d(), s.tokens, transposed(piece.weights(dp)),
                piece.part(qkv, 0), nullptr, piece.to_part(dqkv, 1));
}

Tensor gradient_of(const Shape& s, const Tensor& qkv, const Tensor& kept, const Tensor& dout) {
  Tensor dqkv = empty(qkv.sizes()), dp = room(s), again = s.keeps() ? Tensor() : room(s);
  for_each_piece(s, [&](const Piece& piece) {
    if (!s.keeps()) weigh(piece, qkv, write(again));
    const float* const p = s.keeps() ? read(kept) + piece.first_matrix() * s.matrix() : read(again);
    gradient_of(piece, qkv, p, dout, write(dp), dqkv);
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

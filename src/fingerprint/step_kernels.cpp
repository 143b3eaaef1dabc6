#include <array>
#include <limits>
#include <span>

#include "fingerprint/kernel_inputs.h"
#include "fingerprint/kernel_list.h"
#include "lockstep/numerics/philox.h"

namespace lockstep::fingerprint {
namespace {

hash::Digest functions() {
  Tensor x = normals(6, {4096}), y = ops::empty({4096});
  ops::device().scale(4096, 20.0F, ops::read(x), ops::write(x));
  Hasher hasher;
  for (const auto op :
       {numerics::Unary::kExp, numerics::Unary::kSin, numerics::Unary::kCos, numerics::Unary::kErf,
        numerics::Unary::kSqrt, numerics::Unary::kRsqrt, numerics::Unary::kGelu}) {
    ops::device().unary(op, 4096, ops::read(x), ops::write(y));
    hasher.add(y);
  }
  ops::device().unary(numerics::Unary::kAbs, 4096, ops::read(x), ops::write(x));
  ops::device().unary(numerics::Unary::kLog, 4096, ops::read(x), ops::write(y));
  hasher.add(y);
  return hasher.finish();
}

hash::Digest random_numbers() {
  Hasher hasher;
  hasher.add(normals(7, {4099}));
  Tensor uniform = ops::empty({4099});
  ops::device().fill_uniform({.key = {8, 0x10c5}, .micro = 3}, 1, 4099, ops::write(uniform));
  hasher.add(uniform);
  ops::device().fill_mask({.key = {8, 0x10c5}, .micro = 3}, 1, 1, 4099, 0.25F, 1.5F,
                          ops::write(uniform));
  hasher.add(uniform);
  return hasher.finish();
}

hash::Digest batch_statistics() {
  const std::int64_t rows = 35, c = 17;
  const Tensor x = normals(1, {lanes().samples(), rows, c}), dy = normals(2, x.sizes()),
               gamma = normals(3, {c}), beta = normals(4, {c});
  Tensor mean = ops::empty({3, c}), m2 = ops::empty({3, c}), y = ops::empty(x.sizes()),
         sum = ops::empty({3, c}), dots = ops::empty({3, c});
  ops::device().lane_moments(lanes(), rows, c, ops::read(x), ops::write(mean), ops::write(m2));
  ops::device().batch_norm_apply(lanes().samples() * rows, c, ops::read(x), ops::read(mean),
                                 ops::read(m2), ops::read(gamma), ops::read(beta), ops::write(y));
  ops::device().batch_norm_backward_sums(lanes(), rows, c, ops::read(x), ops::read(mean),
                                         ops::read(m2), ops::read(dy), ops::write(sum),
                                         ops::write(dots));
  return hash_of({mean, m2, y, sum, dots});
}

// What a diffusion step mixes, and what its network is told of time.
hash::Digest diffusion() {
  const std::int64_t n = 37, each = 131, width = 64;
  const Tensor x = normals(1, {n, each}), e = normals(2, {n, each}), a = normals(3, {n}),
               b = normals(4, {n});
  Tensor mixed = ops::empty({n, each}), t = normals(5, {n}), embedding = ops::empty({n, width});
  ops::device().combine_rows(n, each, ops::read(a), ops::read(x), ops::read(b), ops::read(e),
                             ops::write(mixed));
  ops::device().scale(n, 300.0F, ops::read(t), ops::write(t));
  ops::device().time_embedding(n, width, ops::read(t), ops::write(embedding));
  return hash_of({mixed, embedding});
}

// Moments of lanes, merged; and spectral norm's correction of a gradient.
hash::Digest moments_and_outer() {
  const std::int64_t rows = 7, c = 67;
  Tensor moments = normals(1, {rows, 2, c}), mean = ops::empty({c}), variance = ops::empty({c});
  ops::device().merge_moments(rows, c, 30.0F, ops::read(moments), ops::write(mean),
                              ops::write(variance));
  const Tensor u = normals(2, {rows}), v = normals(3, {c}), g = normals(4, {rows, c});
  Tensor sum = ops::empty({rows, c});
  ops::device().add_outer(rows, c, ops::read(u), ops::read(v), ops::read(g), ops::write(sum));
  return hash_of({mean, variance, sum});
}

hash::Digest updates() {
  const std::int64_t n = 4099;
  const Tensor g = normals(1, {n});
  Tensor p = normals(2, {n}), m = normals(3, {n}), v = normals(4, {n}), e = normals(5, {n});
  ops::device().unary(numerics::Unary::kAbs, n, ops::read(v), ops::write(v));
  numerics::UpdatedTensor updated{.n = n,
                                  .g = ops::read(g),
                                  .p = {ops::write(p)},
                                  .slots = {{ops::write(m)}, {ops::write(v)}},
                                  .averages = {{{ops::write(e)}, 0.01F}}};
  ops::device().update(numerics::AdamW{.beta1 = 0.9F,
                                       .one_minus_beta1 = 0.1F,
                                       .beta2 = 0.999F,
                                       .one_minus_beta2 = 0.001F,
                                       .eps = 1e-8F,
                                       .step_size = 0.01F,
                                       .inv_sqrt_bias2 = 1.5F,
                                       .decay = 0.999F},
                       {&updated, 1});
  updated.slots.pop_back();
  updated.averages.clear();
  ops::device().update(numerics::Sgd{.lr = 0.1F, .momentum = 0.9F, .weight_decay = 0.01F},
                       {&updated, 1});
  return hash_of({p, m, v, e});
}

// By a rule with one slot.
hash::Digest updates_by(const numerics::UpdateRule& rule) {
  const std::int64_t n = 4099;
  const Tensor g = normals(1, {n});
  Tensor p = normals(2, {n}), slot = normals(3, {n});
  const numerics::UpdatedTensor updated{.n = n,
                                        .g = ops::read(g),
                                        .p = {ops::write(p)},
                                        .slots = {{ops::write(slot)}},
                                        .averages = {}};
  ops::device().update(rule, {&updated, 1});
  return hash_of({p, slot});
}

hash::Digest nesterov() {
  return updates_by(
      numerics::Sgd{.lr = 0.1F, .momentum = 0.9F, .weight_decay = 0.01F, .nesterov = true});
}

hash::Digest lion() {
  return updates_by(numerics::Lion{.beta1 = 0.9F,
                                   .one_minus_beta1 = 0.1F,
                                   .beta2 = 0.99F,
                                   .one_minus_beta2 = 0.01F,
                                   .lr = 0.01F,
                                   .decay = 0.001F});
}

// Every function, and its derivative.
hash::Digest derivatives() {
  const std::int64_t n = 1031;
  const Tensor dy = normals(2, {n});
  Tensor x = normals(1, {n}), y = ops::empty({n}), dx = ops::empty({n});
  ops::device().unary(numerics::Unary::kAbs, n, ops::read(x), ops::write(x));
  Hasher hasher;
  for (const numerics::Unary op : numerics::kEveryUnary) {
    ops::device().unary(op, n, ops::read(x), ops::write(y));
    ops::device().unary_backward(op, n, ops::read(x), ops::read(dy), ops::write(dx));
    for (const Tensor& tensor : {y, dx}) hasher.add(tensor);
  }
  return hasher.finish();
}

hash::Digest arithmetic() {
  const std::int64_t rows = 37, cols = 131, n = rows * cols;
  const Tensor a = normals(1, {rows, cols}), b = normals(2, {rows, cols}), v = normals(3, {rows});
  Tensor out = ops::empty({rows, cols}), sums = ops::empty({rows});
  const float *const x = ops::read(a), *const y = ops::read(b);
  Hasher hasher;
  for (const auto op : {numerics::Binary::kAdd, numerics::Binary::kSubtract,
                        numerics::Binary::kMultiply, numerics::Binary::kDivide}) {
    ops::device().binary(op, n, x, y, ops::write(out));
    hasher.add(out);
  }
  ops::device().scale_add(n, 0.3F, x, y, ops::write(out));
  hasher.add(out);
  ops::device().combine(n, 0.3F, x, 0.7F, y, ops::write(out));
  hasher.add(out);
  ops::device().scale_rows(rows, cols, x, ops::read(v), ops::write(out));
  hasher.add(out);
  ops::device().clamp(n, -0.5F, 0.6F, x, ops::write(out));
  hasher.add(out);
  ops::device().repeat(rows, cols, 1, ops::read(v), ops::write(out));
  hasher.add(out);
  ops::device().fill(n, 0.7F, ops::write(out));
  hasher.add(out);
  ops::device().row_sums(rows, cols, x, ops::write(sums));
  hasher.add(sums);
  ops::device().row_dots(rows, cols, x, y, ops::write(sums));
  hasher.add(sums);
  ops::device().row_squared_distances(rows, cols, x, y, ops::write(sums));
  hasher.add(sums);
  return hasher.finish();
}

hash::Digest batch_norm_backward() {
  const std::int64_t rows = lanes().samples() * 35, c = 17;
  const Tensor x = normals(1, {rows, c}), dy = normals(2, {rows, c}), gamma = normals(3, {c}),
               mean = normals(4, {c}), rstd = normals(5, {c}), sum = normals(6, {c}),
               dots = normals(7, {c});
  Tensor dx = ops::empty({rows, c});
  ops::device().batch_norm_backward_apply(
      rows, c, static_cast<float>(rows), ops::read(x), ops::read(mean), ops::read(rstd),
      ops::read(gamma), ops::read(dy), ops::read(sum), ops::read(dots), ops::write(dx));
  return hash_of({dx});
}

std::span<float> writable(Tensor& x) {
  return {ops::write(x), static_cast<std::size_t>(x.numel())};
}
std::span<const float> readable(const Tensor& x) {
  return {ops::read(x), static_cast<std::size_t>(x.numel())};
}

hash::Digest clipping() {
  Tensor a = normals(1, {4099}), b = normals(2, {17}), squares = ops::empty({3});
  const std::span<const float> in[] = {readable(a), readable(b)};
  ops::device().tile_squares(in, ops::write(squares));
  Hasher hasher;
  hasher.add(squares);
  const std::span<float> out[] = {writable(a), writable(b)};
  ops::device().clip_all(2.5F, 3, ops::read(squares), out);
  for (const Tensor& tensor : {a, b}) hasher.add(tensor);
  ops::device().clamp_all(-0.01F, 0.02F, out);
  for (const Tensor& tensor : {a, b}) hasher.add(tensor);
  return hasher.finish();
}

// Five lanes of one rank, then of three; and their messages, the second of which has changed on its
// way.
hash::Digest lane_sums() {
  const std::int64_t width = 1031;
  const Tensor partials = normals(1, {5, width});
  Tensor sum = ops::empty({width}), leaves = ops::empty({4, 4}), broken = ops::empty({3});
  std::vector<const float*> rows;
  for (std::int64_t lane = 0; lane < 5; ++lane) rows.push_back(ops::read(partials) + lane * width);
  const numerics::Subtree three[] = {{0, 2}, {2, 2}, {4, 1}};
  Hasher hasher;
  ops::device().tree_sum(rows.data(), 5, width, ops::write(sum));
  hasher.add(sum);
  ops::device().tree_sum_nodes(5, three, rows.data(), width, ops::write(sum));
  hasher.add(sum);

  const auto leaf = [at = ops::write(leaves)](std::int64_t i) {
    return reinterpret_cast<hash::Leaf*>(at + 4 * i);
  };
  Tensor packed = ops::empty({3, width});
  std::vector<numerics::SealedRow> sent;
  std::vector<numerics::SealedTile> messages;
  for (std::int64_t i = 0; i < 3; ++i) {
    sent.push_back({rows[static_cast<std::size_t>(i)], nullptr});
    messages.push_back({ops::write(packed) + i * width, width, leaf(i)});
  }
  const numerics::Subtree whole{0, 1};
  ops::device().sum_sealed(1, {&whole, 1}, sent, messages, nullptr);
  ops::device().fill(1, 3.0F, ops::write(packed) + width + 5);
  std::vector<numerics::SealedRow> arrived;
  for (std::int64_t i = 0; i < 3; ++i) arrived.push_back({ops::read(packed) + i * width, leaf(i)});
  const numerics::SealedTile all{ops::write(sum), width, leaf(3)};
  ops::device().sum_sealed(5, three, arrived, {&all, 1}, ops::write(broken));
  for (const Tensor& tensor : {packed, leaves, sum, broken}) hasher.add(tensor);
  return hasher.finish();
}

// The leaves of what lies there and of what an update reads and writes; and what is not finite.
hash::Digest leaf_hashes() {
  const std::int64_t n = 4099;
  const Tensor g = normals(1, {n});
  Tensor p = normals(2, {n}), u = normals(3, {n});
  std::array<hash::Leaf, 2> at_rest, kept;
  std::array<std::array<hash::Leaf, 2>, 4> updated;
  const ByteView bytes = std::as_bytes(readable(p));
  const ByteView tiles[] = {bytes.first(hash::kTileBytes), bytes.subspan(hash::kTileBytes)};
  ops::device().leaf_hashes(tiles, at_rest.data());
  Hasher hasher;
  hasher.add(std::as_bytes(std::span(at_rest)));
  const numerics::UpdatedTensor changed{
      .n = n,
      .g = ops::read(g),
      .p = {ops::write(p), updated[0].data(), updated[1].data()},
      .slots = {{ops::write(u), updated[2].data(), updated[3].data()}},
      .averages = {}};
  const bool finite =
      ops::device()
          .update(numerics::Sgd{.lr = 0.1F, .momentum = 0.9F, .weight_decay = 0.01F}, {&changed, 1})
          ->finish();
  hasher.add(std::as_bytes(std::span(updated)));
  const numerics::UpdatedTensor same{.n = n,
                                     .g = nullptr,
                                     .p = {ops::write(u), kept.data(), nullptr},
                                     .slots = {},
                                     .averages = {}};
  ops::device().update(numerics::Keep{}, {&same, 1})->finish();
  hasher.add(std::as_bytes(std::span(kept)));
  ops::device().fill(1, std::numeric_limits<float>::infinity(), ops::write(u) + 4097);
  const std::span<const float> all[] = {readable(g), readable(p), readable(u)};
  const std::uint32_t found[] = {
      finite ? 1U : 0U, static_cast<std::uint32_t>(ops::device().first_non_finite(all)),
      static_cast<std::uint32_t>(ops::device().first_non_finite(std::span(all).first(2)))};
  hasher.add(std::as_bytes(std::span(found)));
  return hasher.finish();
}

// Bytes lie in the memory of floats.
hash::Digest pixels() {
  const std::int64_t n = 1032;
  Tensor x = normals(1, {n}), bytes = ops::empty({n / 4});
  auto* const at = reinterpret_cast<std::uint8_t*>(ops::write(bytes));
  ops::device().to_bytes(n, ops::read(x), at);
  ops::device().from_bytes(n, at, ops::write(x));
  return hash_of({bytes, x});
}

hash::Digest random_bits() {
  Tensor bits = ops::empty({4099});
  ops::device().fill_bits({.key = {9, 0x10c5}, .micro = 2}, 5, 4099,
                          reinterpret_cast<std::uint32_t*>(ops::write(bits)));
  return hash_of({bits});
}

// Of two groups: exponents, and the integers that a device keeps as its products want them.
hash::Digest rounding() {
  const std::int64_t groups = 2, rows = 35, c = 48, n = groups * rows * c;
  const Tensor x = normals(1, {groups * rows, c});
  Tensor kept = ops::empty({n / 2}), plain = ops::empty({n / 2}), exponents = ops::empty({groups});
  auto* const q = reinterpret_cast<std::int16_t*>(ops::write(kept));
  ops::device().round_groups(groups, rows, c, ops::read(x), q,
                             reinterpret_cast<std::int32_t*>(ops::write(exponents)));
  ops::device().plain_integers(groups * rows, c, q,
                               reinterpret_cast<std::int16_t*>(ops::write(plain)));
  return hash_of({exponents, plain});
}

}  // namespace

std::vector<Kernel> step_kernels() {
  return {
      {"functions", functions},
      {"derivatives", derivatives},
      {"arithmetic", arithmetic},
      {"random_numbers", random_numbers},
      {"random_bits", random_bits},
      {"pixels", pixels},
      {"diffusion", diffusion},
      {"batch_statistics", batch_statistics},
      {"batch_norm_backward", batch_norm_backward},
      {"moments_and_outer", moments_and_outer},
      {"rounding", rounding},
      {"lane_sums", lane_sums},
      {"clipping", clipping},
      {"updates", updates},
      {"nesterov", nesterov},
      {"lion", lion},
      {"leaf_hashes", leaf_hashes},
  };
}

}  // namespace lockstep::fingerprint

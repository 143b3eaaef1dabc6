// Rows cut in two give what they give in one piece; what a convolution adds behind its bias is what
// separate additions give. On every instruction set, with 1, 2 or 7 threads.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "numerics/reference.h"

namespace lockstep::numerics {
namespace {

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

// x [rows][c] as two matrices.
struct Cut {
  std::int64_t c, at;
  Floats left, right;

  Cut(const Floats& x, std::int64_t c_in, std::int64_t at_in) : c(c_in), at(at_in) {
    for (std::size_t i = 0; i < x.size(); ++i)
      (static_cast<std::int64_t>(i) % c < at ? left : right).push_back(x[i]);
  }
  operator Sides<const float>() const { return {left.data(), at, right.data()}; }
  operator Sides<float>() { return {left.data(), at, right.data()}; }

  Floats whole() const {
    Floats x;
    for (std::size_t l = 0, r = 0; l + r < left.size() + right.size();)
      x.push_back(static_cast<std::int64_t>(l + r) % c < at ? left[l++] : right[r++]);
    return x;
  }
};

RC_GTEST_PROP(Sides, GroupNormIsThatOfOnePiece, ()) {
  const LaneBlocks lanes = random_lanes();
  GroupNormShape s = random_group_norm(lanes, 2);
  const bool quads = between(0, 1) == 0;
  if (quads) s.c = s.groups * 4 * between(2, 4);
  const std::int64_t at = quads ? 4 * between(1, s.c / 4 - 1) : between(1, s.c - 1);
  const Floats x = random_floats(s.n * s.spatial * s.c), dy = random_floats(s.n * s.spatial * s.c);
  const Floats gamma = random_floats(s.c), beta = random_floats(s.c);
  const auto run = [&](Sides<const float> from, Sides<float> dx) {
    Floats y(x.size()), mean(index(s.n * s.groups)), rstd(mean);
    Floats dgamma(index(lanes.partials() * s.c)), dbeta(dgamma), alone(dgamma), alone_beta(dgamma);
    device().group_norm(s, from, gamma.data(), beta.data(), y.data(), mean.data(), rstd.data());
    device().group_norm_backward(s, lanes, from, gamma.data(), beta.data(), mean.data(),
                                 rstd.data(), dy.data(), dx, dgamma.data(), dbeta.data());
    device().group_norm_backward(s, lanes, from, gamma.data(), beta.data(), mean.data(),
                                 rstd.data(), dy.data(), nullptr, alone.data(), alone_beta.data());
    return joined({y, mean, rstd, dgamma, dbeta, alone, alone_beta});
  };
  Floats dx(x.size());
  const Floats expected = run(x.data(), dx.data());
  expect_everywhere(joined({expected, dx}), [&] {
    Cut cut_dx(Floats(x.size()), s.c, at);
    const Floats given = run(Cut(x, s.c, at), cut_dx);
    return joined({given, cut_dx.whole()});
  });
}

RC_GTEST_PROP(Sides, LinearIsThatOfOnePiece, ()) {
  const std::int64_t rows = between(0, 40), out = between(1, 40);
  const std::int64_t in = *rc::gen::element<std::int64_t>(2, 7, 64, 511, 513, 1030);
  const std::int64_t at = between(1, in - 1);
  const Floats x = random_floats(rows * in), w = random_floats(in * out), bias = random_floats(out);
  Floats expected(index(rows * out));
  device().linear(rows, in, out, x.data(), w.data(), bias.data(), expected.data());
  const Cut cut(x, in, at);
  expect_everywhere(expected, [&] {
    Floats y(expected.size());
    device().linear(rows, in, out, cut, w.data(), bias.data(), y.data());
    return y;
  });
}

RC_GTEST_PROP(Sides, RoundingIsThatOfOnePiece, ()) {
  const std::int64_t groups = between(1, 4), rows = between(1, 20), c = between(2, 50);
  const std::int64_t at = between(1, c - 1);
  Floats x = random_floats(groups * rows * c);
  if (between(0, 2) == 0) x[index(between(0, groups * rows * c - 1))] = INFINITY;
  const auto run = [&](Sides<const float> from) {
    std::vector<std::int16_t> q(x.size()), plain(x.size());
    std::vector<std::int32_t> exponents(index(groups));
    device().round_groups(groups, rows, c, from, q.data(), exponents.data());
    device().plain_integers(groups * rows, c, q.data(), plain.data());
    Floats all(plain.begin(), plain.end());
    all.insert(all.end(), exponents.begin(), exponents.end());
    return all;
  };
  const Floats expected = run(x.data());
  const Cut cut(x, c, at);
  expect_everywhere(expected, [&] { return run(cut); });
}

RC_GTEST_PROP(Added, BehindTheBiasIsOneAdditionAfterAnother, ()) {
  ConvShape s{.n = between(1, 3),
              .h = between(1, 7),
              .w = between(1, 7),
              .in = between(1, 9),
              .out = between(1, 40),
              .kh = 3,
              .kw = 3,
              .stride = between(1, 2),
              .pad = 1};
  const std::int64_t pixels = s.out_h() * s.out_w(), size = s.n * pixels * s.out;
  const Floats x = random_floats(s.n * s.h * s.w * s.in), w = random_floats(9 * s.in * s.out);
  const Floats bias = random_floats(s.out), rows = random_floats(s.n * s.out);
  const Floats values = random_floats(size);
  const bool with_rows = between(0, 1) == 1, with_values = between(0, 1) == 1;
  const Added added(bias.data(), with_rows ? rows.data() : nullptr,
                    with_values ? values.data() : nullptr);
  const auto behind = [&](Floats y) {
    for (std::int64_t i = 0; i < size; ++i) {
      if (with_rows) y[index(i)] += rows[index(i / (pixels * s.out) * s.out + i % s.out)];
      if (with_values) y[index(i)] += values[index(i)];
    }
    return y;
  };
  Floats y(index(size));
  device().conv2d(s, x.data(), w.data(), bias.data(), y.data());
  expect_everywhere(behind(y), [&] {
    Floats out(index(size));
    device().conv2d(s, x.data(), w.data(), added, out.data());
    return out;
  });

  const auto of_integers = [&](const Added& behind_it) {
    std::vector<std::int16_t> qx(x.size()), qw(w.size());
    std::vector<std::int32_t> ex(index(s.n)), ew(1);
    device().round_groups(s.n, s.h * s.w, s.in, x.data(), qx.data(), ex.data());
    device().round_groups(1, 9 * s.in, s.out, w.data(), qw.data(), ew.data());
    Floats out(index(size));
    device().integer_conv2d(s, {qx.data(), ex.data()}, {qw.data(), ew.data()}, behind_it,
                            out.data());
    return out;
  };
  expect_everywhere(behind(of_integers(bias.data())), [&] { return of_integers(added); });
}

}  // namespace
}  // namespace lockstep::numerics

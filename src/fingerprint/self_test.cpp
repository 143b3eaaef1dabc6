#include <vector>

#include "lockstep/fingerprint/fingerprint.h"
#include "lockstep/numerics/conv.h"
#include "lockstep/numerics/elementwise.h"
#include "lockstep/numerics/gemm.h"
#include "lockstep/numerics/norm.h"
#include "lockstep/numerics/philox.h"
#include "lockstep/numerics/reduce.h"
#include "lockstep/numerics/softmax.h"

namespace lockstep::fingerprint {
namespace {

using Floats = std::vector<float>;

// Normals of a stream of their own a name.
Floats normals(std::uint32_t key, std::int64_t n) {
  Floats values(static_cast<std::size_t>(n));
  numerics::fill_normal({.key = {key, 0x10c5}, .micro = 0}, 0, n, values.data());
  return values;
}

class Battery {
 public:
  void add(const Floats& values) { hash_.update(std::as_bytes(std::span(values))); }
  hash::Digest finish() { return hash_.finish(); }

 private:
  hash::Sha256 hash_;
};

void products(Battery& battery) {
  const std::int64_t m = 37, n = 41, k = 1100;  // crosses blocks
  const Floats a = normals(1, m * k), b = normals(2, k * n);
  Floats c(static_cast<std::size_t>(m * n));
  numerics::gemm(1, m, n, k, {a.data(), k, 1, 0}, {b.data(), n, 1, 0}, nullptr, {c.data(), n, 0});
  battery.add(c);
}

void convolutions(Battery& battery) {
  const numerics::ConvShape s{
      .n = 4, .h = 13, .w = 11, .in = 9, .out = 17, .kh = 3, .kw = 3, .stride = 2, .pad = 1};
  const std::int64_t y_size = s.n * s.out_h() * s.out_w() * s.out;
  const Floats x = normals(3, s.n * s.h * s.w * s.in), w = normals(4, 9 * s.in * s.out),
               dy = normals(5, y_size);
  Floats y(static_cast<std::size_t>(y_size)), dx(x.size()), dw(w.size());
  numerics::conv2d(s, x.data(), w.data(), nullptr, y.data());
  numerics::conv2d_input_grad(s, dy.data(), w.data(), nullptr, dx.data());
  numerics::conv2d_weight_grad(s, {.samples_per_lane = 2, .lanes = {2}}, x.data(), dy.data(),
                               dw.data());
  battery.add(y);
  battery.add(dx);
  battery.add(dw);
}

void functions(Battery& battery) {
  Floats x = normals(6, 4096), y(x.size());
  numerics::scale(4096, 20.0F, x.data(), x.data());
  for (const auto op :
       {numerics::Unary::kExp, numerics::Unary::kSin, numerics::Unary::kCos, numerics::Unary::kTanh,
        numerics::Unary::kErf, numerics::Unary::kSilu, numerics::Unary::kSoftplus}) {
    numerics::unary(op, 4096, x.data(), y.data());
    battery.add(y);
  }
}

void reductions(Battery& battery) {
  const Floats x = normals(7, 5 * 1300), gamma = normals(8, 20), beta = normals(9, 20);
  Floats sums(5), y(x.size()), mean(5 * 4), rstd(5 * 4);
  numerics::row_sums(5, 1300, x.data(), sums.data());
  battery.add(sums);
  numerics::softmax(5, 1300, 0.5F, x.data(), y.data());
  battery.add(y);
  const numerics::GroupNormShape s{
      .n = 5, .spatial = 65, .c = 20, .groups = 4, .activation = numerics::Activation::kSilu};
  numerics::group_norm(s, x.data(), gamma.data(), beta.data(), y.data(), mean.data(), rstd.data());
  battery.add(y);
}

}  // namespace

hash::Digest self_test() {
  Battery battery;
  products(battery);
  convolutions(battery);
  functions(battery);
  reductions(battery);
  return battery.finish();
}

}  // namespace lockstep::fingerprint

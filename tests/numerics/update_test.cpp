#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "numerics/with_isa.h"
#include "support/cpu.h"

namespace lockstep::numerics {
namespace {

std::vector<float> draw(std::size_t n, bool positive) {
  return *rc::gen::container<std::vector<float>>(
      n, rc::gen::map(rc::gen::pair(rc::gen::arbitrary<std::int32_t>(), rc::gen::inRange(-60, 0)),
                      [positive](std::pair<std::int32_t, int> v) {
                        const float x = std::ldexp(static_cast<float>(v.first), v.second);
                        return positive ? std::fabs(x) : x;
                      }));
}

constexpr AdamW kAdamW = {.beta1 = 0.9f,
                          .one_minus_beta1 = 0.1f,
                          .beta2 = 0.999f,
                          .one_minus_beta2 = 0.001f,
                          .eps = 1e-8f,
                          .step_size = 2e-4f,
                          .inv_sqrt_bias2 = 3.2f,
                          .decay = 0.9999f};
constexpr Sgd kSgd = {.lr = 0.1f, .momentum = 0.9f, .weight_decay = 1e-4f};

template <class Body>
void with_every_isa_and_thread_count(Body&& body) {
  with_every_isa([&] {
    for (const int count : {1, 2, 7}) {
      use_threads(count);
      body();
      use_threads(1);
    }
  });
}

RC_GTEST_PROP(Update, AdamWIsTheWrittenSequence, ()) {
  const auto n = *rc::gen::inRange<std::size_t>(0, 70);
  const std::vector<float> g = draw(n, false), p = draw(n, false), m = draw(n, false),
                           v = draw(n, true);
  std::vector<float> p1 = p, m1 = m, v1 = v;
  const AdamW& s = kAdamW;
  for (std::size_t i = 0; i < n; ++i) {
    m1[i] = std::fma(s.beta1, m[i], s.one_minus_beta1 * g[i]);
    v1[i] = std::fma(s.beta2, v[i], s.one_minus_beta2 * (g[i] * g[i]));
    const float d = std::sqrt(v1[i]) * s.inv_sqrt_bias2 + s.eps;
    p1[i] = p[i] * s.decay;
    p1[i] = p1[i] - s.step_size * (m1[i] / d);
  }
  with_every_isa_and_thread_count([&] {
    std::vector<float> p2 = p, m2 = m, v2 = v;
    cpu().adamw(s, static_cast<std::int64_t>(n), g.data(), p2.data(), m2.data(), v2.data());
    RC_ASSERT(first_difference(p1, p2) == -1);
    RC_ASSERT(first_difference(m1, m2) == -1);
    RC_ASSERT(first_difference(v1, v2) == -1);
  });
}

// A slot of 0 and gradients of 0 meet often here, with either sign.
RC_GTEST_PROP(Update, LionIsTheWrittenSequence, ()) {
  const auto n = *rc::gen::inRange<std::size_t>(0, 70);
  const auto some_zeros = [n](std::vector<float> values) {
    for (std::size_t i = 0; i < n; i += 3) values[i] = i % 2 == 0 ? 0.0F : -0.0F;
    return values;
  };
  const std::vector<float> g = some_zeros(draw(n, false)), p = some_zeros(draw(n, false)),
                           m = some_zeros(draw(n, false));
  constexpr Lion s = {.beta1 = 0.9f,
                      .one_minus_beta1 = 0.1f,
                      .beta2 = 0.99f,
                      .one_minus_beta2 = 0.01f,
                      .lr = 3e-4f,
                      .decay = 3e-5f};
  std::vector<float> p1 = p, m1 = m;
  for (std::size_t i = 0; i < n; ++i) {
    const float u = std::fma(s.beta1, m[i], s.one_minus_beta1 * g[i]);
    const float sign = u > 0 ? 1.0F : u < 0 ? -1.0F : 0.0F;
    p1[i] = std::fma(-s.lr, sign, std::fma(-s.decay, p[i], p[i]));
    m1[i] = std::fma(s.beta2, m[i], s.one_minus_beta2 * g[i]);
  }
  with_every_isa_and_thread_count([&] {
    std::vector<float> p2 = p, m2 = m;
    cpu().lion(s, static_cast<std::int64_t>(n), g.data(), p2.data(), m2.data());
    RC_ASSERT(first_difference(p1, p2) == -1);
    RC_ASSERT(first_difference(m1, m2) == -1);
  });
}

RC_GTEST_PROP(Update, SgdAndEmaAreTheWrittenSequences, ()) {
  const auto n = *rc::gen::inRange<std::size_t>(0, 70);
  const std::vector<float> g = draw(n, false), p = draw(n, false), u = draw(n, false);
  std::vector<float> p1 = p, u1 = u, e1 = u;
  for (std::size_t i = 0; i < n; ++i) {
    u1[i] = std::fma(kSgd.momentum, u[i], std::fma(kSgd.weight_decay, p[i], g[i]));
    p1[i] = std::fma(-kSgd.lr, u1[i], p[i]);
    e1[i] = std::fma(0.01f, p[i] - u[i], u[i]);
  }
  with_every_isa_and_thread_count([&] {
    std::vector<float> p2 = p, u2 = u, e2 = u;
    cpu().sgd(kSgd, static_cast<std::int64_t>(n), g.data(), p2.data(), u2.data());
    cpu().ema(0.01f, static_cast<std::int64_t>(n), p.data(), e2.data());
    RC_ASSERT(first_difference(p1, p2) == -1);
    RC_ASSERT(first_difference(u1, u2) == -1);
    RC_ASSERT(first_difference(e1, e2) == -1);
  });
}

}  // namespace
}  // namespace lockstep::numerics

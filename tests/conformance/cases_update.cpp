#include "conformance/device.h"
#include "conformance/document.h"

namespace lockstep::conformance {

using namespace lockstep::numerics;

namespace {

void update(const UpdateRule& rule, const Floats& g, Floats& p, std::vector<Updated> slots) {
  const UpdatedTensor tensor{.n = std::ssize(p),
                             .g = g.data(),
                             .p = {p.data()},
                             .slots = std::move(slots),
                             .averages = {}};
  device().update(rule, {&tensor, 1});
}

}  // namespace

void add_update_cases(Json& cases) {
  constexpr std::int64_t n = 1021;
  {
    Case c(cases, "adamw", "one step");
    AdamW s{};
    s.beta1 = c.parameter("beta1", 0x1.ccccccp-1f);
    s.one_minus_beta1 = c.parameter("one_minus_beta1", 0x1.99999ap-4f);
    s.beta2 = c.parameter("beta2", 0x1.ff7ceep-1f);
    s.one_minus_beta2 = c.parameter("one_minus_beta2", 0x1.0624dep-10f);
    s.eps = c.parameter("eps", 0x1.5798eep-27f);
    s.step_size = c.parameter("step_size", 0x1.9p-7f);
    s.inv_sqrt_bias2 = c.parameter("inv_sqrt_bias2", 0x1.5p3f);
    s.decay = c.parameter("decay", 0x1.fffffp-1f);
    const Floats g = c.input("g", Make::kSparse, {n});
    Floats p = c.input("p", Make::kWide, {n}), m = c.input("m", Make::kWide, {n});
    Floats v = c.input("v", Make::kPositive, {n});
    update(s, g, p, {{m.data()}, {v.data()}});
    c.output("p", p);
    c.output("m", m);
    c.output("v", v);
  }
  for (const bool nesterov : {false, true}) {
    Case c(cases, "sgd", nesterov ? "one step, nesterov" : "one step");
    Sgd s{};
    if (nesterov) s.nesterov = c.parameter("nesterov", true);
    s.lr = c.parameter("lr", 0x1.99999ap-4f);
    s.momentum = c.parameter("momentum", 0x1.ccccccp-1f);
    s.weight_decay = c.parameter("weight_decay", 0x1.47ae14p-7f);
    const Floats g = c.input("g", Make::kSparse, {n});
    Floats p = c.input("p", Make::kWide, {n}), u = c.input("u", Make::kSparse, {n});
    update(s, g, p, {{u.data()}});
    c.output("p", p);
    c.output("u", u);
  }
  {
    Case c(cases, "lion", "one step");
    Lion s{};
    s.beta1 = c.parameter("beta1", 0x1.ccccccp-1f);
    s.one_minus_beta1 = c.parameter("one_minus_beta1", 0x1.99999ap-4f);
    s.beta2 = c.parameter("beta2", 0x1.fae148p-1f);
    s.one_minus_beta2 = c.parameter("one_minus_beta2", 0x1.47ae14p-7f);
    s.lr = c.parameter("lr", 0x1.3a92a4p-12f);
    s.decay = c.parameter("decay", 0x1.f75104p-16f);
    const Floats g = c.input("g", Make::kSparse, {n});
    Floats p = c.input("p", Make::kWide, {n}), m = c.input("m", Make::kSparse, {n});
    update(s, g, p, {{m.data()}});
    c.output("p", p);
    c.output("m", m);
  }
  Case c(cases, "ema", "one step");
  const float one_minus_decay = c.parameter("one_minus_decay", 0x1.0624dep-10f);
  Floats p = c.input("p", Make::kSparse, {n});
  Floats e = c.input("e", Make::kWide, {n});
  const UpdatedTensor tensor{.n = n,
                             .g = nullptr,
                             .p = {p.data()},
                             .slots = {},
                             .averages = {{{e.data()}, one_minus_decay}}};
  device().update(Keep{}, {&tensor, 1});
  c.output("e", e);
}

}  // namespace lockstep::conformance

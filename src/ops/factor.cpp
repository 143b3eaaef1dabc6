#include "ops/factor.h"

#include <ATen/core/grad_mode.h>

#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/numerics.h"
#include "lockstep/ops/view.h"
#include "lockstep/ops/where.h"
#include "ops/native.h"
#include "ops/sides.h"

namespace lockstep::ops {
namespace {

// x [groups, …], contiguous.
std::shared_ptr<const Integers> rounded(const SideBySide& x, std::int64_t groups) {
  const std::int64_t c = x.channels(), rows = x.left.numel() / x.left.size(-1);
  std::vector<std::int64_t> sizes = x.left.sizes().vec();
  sizes.back() = c;
  const auto result = std::make_shared<Integers>();
  result->q = empty_on(tensors_device(), sizes, at::kShort);
  result->exponents = empty_on(tensors_device(), {groups}, at::kInt);
  device().round_groups(groups, groups == 0 ? 0 : rows / groups, c, sides(x),
                        result->q.mutable_data_ptr<std::int16_t>(),
                        result->exponents.mutable_data_ptr<std::int32_t>());
  return result;
}

}  // namespace

numerics::Rounded Integers::from(std::int64_t group) const {
  return {q.const_data_ptr<std::int16_t>() + group * (q.numel() / exponents.numel()),
          exponents.const_data_ptr<std::int32_t>() + group};
}

bool integer_products_in_use(const numerics::ConvShape& s) {
  return !numerics_in_use().native && numerics_in_use().integer && numerics::integer_products(s);
}

Factor activation(Factor x, bool integer) {
  if (integer && !x.integers) x.integers = rounded(x.value.contiguous(), x.value.size(0));
  if (native::rounds() && !x.bfloat16.defined()) x.bfloat16 = native::rounded(x.value.contiguous());
  return x;
}

Factor activation(const SideBySide& x) {
  return {Tensor(), rounded(contiguous(x), x.left.size(0))};
}

Factor parameter(Factor w, bool integer) {
  if (!integer || w.integers) return w;
  const bool one = w.value.size(0) == 1 || w.value.stride(0) == 0;
  w.integers = one ? rounded(first_part(w.value).contiguous(), 1)
                   : rounded(w.value.contiguous(), w.value.size(0));
  return w;
}

numerics::Rounded slice_of(const Factor& w, std::int64_t index) {
  return w.integers->from(w.integers->exponents.numel() == 1 ? 0 : index);
}

std::vector<Factor> fork(const Factor& x, int uses) {
  std::vector<Factor> result(static_cast<std::size_t>(uses), x);
  if (!x.value.defined()) return result;
  const Tensors values = fork(x.value, uses);
  for (std::size_t i = 0; i < values.size(); ++i) result[i].value = values[i];
  return result;
}

Factor kept(Factor x) {
  const bool enough = x.integers || x.bfloat16.defined();
  if (enough && !numerics_in_use().twice) x.value = Tensor();
  return x;
}

void require_values(const Factor& x) {
  LOCKSTEP_ASSERT(x.value.defined() || !at::GradMode::is_enabled(),
                  where().module +
                      ": gradients of gradients of a product that kept its rounded "
                      "operands only: the forward pass needs a TwiceScope");
}

}  // namespace lockstep::ops

// The far device's operators: movement gives the CPU's bytes, everything else is refused.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>

#include "lockstep/ops/where.h"
#include "support/far_device/device.h"
#include "support/far_device/memory.h"

namespace lockstep::testing::far {
namespace {

using at::Tensor;

// 0, 1, 2, … in this shape.
Tensor numbered(at::IntArrayRef sizes) {
  Tensor x = at::empty(sizes, at::kFloat);
  for (std::int64_t i = 0; i < x.numel(); ++i)
    x.mutable_data_ptr<float>()[i] = static_cast<float>(i);
  return x;
}

bool same(const Tensor& far, const Tensor& cpu) {
  return far.device() == device() && far.strides() == cpu.strides() && at::equal(far.cpu(), cpu);
}

std::vector<std::int64_t> some_shape(std::size_t least_rank) {
  const auto rank = *rc::gen::inRange<std::size_t>(least_rank, 5);
  return *rc::gen::container<std::vector<std::int64_t>>(rank, rc::gen::inRange<std::int64_t>(1, 5));
}

// Tensors of one shape and different strides.
Tensor some_layout(const Tensor& x) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(x.dim()));
  for (std::size_t d = 0; d < order.size(); ++d) order[d] = static_cast<std::int64_t>(d);
  std::vector<std::int64_t> back(order.size());
  for (std::size_t d = order.size(); d > 1; --d)
    std::swap(order[d - 1], order[*rc::gen::inRange<std::size_t>(0, d)]);
  for (std::size_t d = 0; d < order.size(); ++d)
    back[static_cast<std::size_t>(order[d])] = static_cast<std::int64_t>(d);
  return x.permute(order).clone(at::MemoryFormat::Contiguous).permute(back);
}

TEST(FarTensors, AreFarAndHoldNoZeros) {
  const Tensor x = at::empty({2, 3}, at::device(device()));
  EXPECT_EQ(x.device().str(), "gpu:0");
  EXPECT_TRUE(is_far(x.const_data_ptr()));
  EXPECT_TRUE(at::isnan(x.cpu()).all().item<bool>());
  EXPECT_EQ(at::empty({0}, at::device(device())).device(), device());
}

TEST(FarTensors, GiveTheirMemoryBack) {
  const std::size_t before = bytes_in_use();
  {
    const Tensor x = at::empty({100}, at::device(device())), y = x.clone();
    EXPECT_EQ(bytes_in_use(), before + 2 * 512);
  }
  EXPECT_EQ(bytes_in_use(), before);
}

TEST(FarTensors, EndWithTheMemory) {
  EXPECT_THROW(at::empty({std::int64_t{1} << 31}, at::device(device())), std::bad_alloc);
}

TEST(FarTensors, ComeWithoutTheDispatcher) {
  const Tensor x = empty({2, 3});
  EXPECT_EQ(x.device(), device());
  EXPECT_TRUE(is_far(x.const_data_ptr()));
}

RC_GTEST_PROP(FarMovement, CopiesBetweenAnyLayouts, ()) {
  const Tensor x = some_layout(numbered(some_shape(0)));
  const Tensor far = some_layout(x.to(device()));
  RC_ASSERT(at::equal(far.cpu(), x));
  Tensor other = some_layout(at::empty(x.sizes(), at::device(device())));
  other.copy_(far);
  RC_ASSERT(at::equal(other.cpu(), x));
  Tensor host = some_layout(at::empty(x.sizes()));
  host.copy_(other);
  RC_ASSERT(at::equal(host, x));
  RC_ASSERT(
      same(far.clone(), some_layout(x).copy_(x).as_strided(x.sizes(), far.clone().strides())) ||
      at::equal(far.clone().cpu(), x));
  RC_ASSERT(far.contiguous().is_contiguous());
  RC_ASSERT(at::equal(far.contiguous().cpu(), x));
}

RC_GTEST_PROP(FarMovement, ViewsAreTheCpus, ()) {
  const Tensor cpu = numbered(some_shape(2)), far = cpu.to(device());
  const auto a = *rc::gen::inRange<std::int64_t>(0, cpu.dim());
  const auto b = *rc::gen::inRange<std::int64_t>(0, cpu.dim());
  const auto begin = *rc::gen::inRange<std::int64_t>(0, cpu.size(a));
  std::vector<std::int64_t> more = cpu.sizes().vec();
  more.insert(more.begin(), 3);
  const std::vector<std::function<Tensor(const Tensor&)>> views{
      [&](const Tensor& x) { return x.alias(); },
      [&](const Tensor& x) { return x.detach(); },
      [&](const Tensor& x) { return x.as_strided({x.numel()}, {1}, 0); },
      [&](const Tensor& x) { return x.chunk(2, a).back(); },
      [&](const Tensor& x) { return x.expand(more); },
      [&](const Tensor& x) { return x.expand_as(x); },
      [&](const Tensor& x) { return x.narrow(a, begin, 1); },
      [&](const Tensor& x) { return x.select(a, begin); },
      [&](const Tensor& x) { return x.slice(a, begin, 5, 2); },
      [&](const Tensor& x) { return x.split(1, a).back(); },
      [&](const Tensor& x) {
        return x.split_with_sizes({begin, x.size(a) - begin}, a).back();
      },
      [&](const Tensor& x) { return x.squeeze(); },
      [&](const Tensor& x) { return x.squeeze(a); },
      [&](const Tensor& x) { return x.transpose(a, b); },
      [&](const Tensor& x) {
        return x.select(0, 0).dim() > 2 ? x : x.reshape({x.size(0), -1}).t();
      },
      [&](const Tensor& x) { return x.unsqueeze(a); },
      [&](const Tensor& x) { return x.view({-1}); },
      [&](const Tensor& x) { return x.view_as(x); },
      [&](const Tensor& x) { return at::_unsafe_view(x, {-1}); },
      [&](const Tensor& x) { return x.flatten(); },
      [&](const Tensor& x) { return x.reshape({-1}); },
  };
  for (std::size_t i = 0; i < views.size(); ++i) {
    const Tensor seen = views[i](far);
    RC_LOG() << "view " << i << std::endl;
    RC_ASSERT(same(seen, views[i](cpu)));
    RC_ASSERT(seen.is_alias_of(far));
  }
  RC_ASSERT(same(far.transpose(a, b).reshape({-1}), cpu.transpose(a, b).reshape({-1})));
  RC_ASSERT(same(far.transpose(a, b).flatten(), cpu.transpose(a, b).flatten()));
  RC_ASSERT(at::empty_like(far).strides() == cpu.strides());
}

RC_GTEST_PROP(FarMovement, CopiesRepeatSmallTensors, ()) {
  const Tensor cpu = numbered(some_shape(1)), far = cpu.to(device());
  const auto dim = *rc::gen::inRange<std::int64_t>(0, cpu.dim());
  Tensor to = at::empty(cpu.sizes(), at::device(device())), expected = at::empty(cpu.sizes());
  to.copy_(far.narrow(dim, 0, 1));
  expected.copy_(cpu.narrow(dim, 0, 1));
  RC_ASSERT(same(to, expected));
  to.copy_(far.select(dim, 0).unsqueeze(dim));
  RC_ASSERT(same(to, expected));
}

RC_GTEST_PROP(FarMovement, JoinsAsTheCpu, ()) {
  const Tensor cpu = numbered(some_shape(1));
  const auto dim = *rc::gen::inRange<std::int64_t>(-cpu.dim(), cpu.dim());
  const std::vector<Tensor> parts{cpu, cpu.narrow(dim, 0, 1), cpu.narrow(dim, 0, 0), at::empty({0}),
                                  some_layout(cpu)};
  std::vector<Tensor> far;
  for (const Tensor& part : parts) far.push_back(part.to(device()));
  RC_ASSERT(same(at::cat(far, dim), at::cat(parts, dim)));
}

TEST(FarMovement, JoinsOnlyWhatFits) {
  const Tensor x = at::empty({2, 3}, at::device(device()));
  EXPECT_THROW(at::cat({x, x.t()}, 0), c10::Error);
  EXPECT_THROW(at::cat({x, x.view({6})}, 0), c10::Error);
  EXPECT_THROW(at::cat({x, x.cpu().to(at::kDouble).to(device())}, 0), c10::NotImplementedError);
}

TEST(FarMovement, CopiesEveryTypeAndConvertsNone) {
  for (const auto type :
       {at::kByte, at::kBool, at::kShort, at::kHalf, at::kInt, at::kLong, at::kDouble}) {
    const Tensor x = numbered({3, 2}).to(type).t();
    EXPECT_TRUE(same(x.to(device()), x)) << type;
  }
  const Tensor ints = at::empty({2}, at::device(device()).dtype(at::kInt));
  EXPECT_THROW(at::empty({2}, at::device(device())).copy_(ints), c10::NotImplementedError);
  EXPECT_THROW(at::empty({2}).copy_(ints), c10::NotImplementedError);
  EXPECT_THROW(ints.to(at::kLong), c10::NotImplementedError);
}

TEST(FarMovement, CopiesOnlyWhatFits) {
  Tensor x = at::empty({2, 3}, at::device(device()));
  EXPECT_THROW(x.copy_(at::empty({2})), c10::Error);
  EXPECT_THROW(x.copy_(at::empty({1, 2, 3})), c10::Error);
}

TEST(FarDevice, RefusesAllOtherOperatorsByName) {
  const ops::Scope scope("model/hidden");
  Tensor x = at::empty({2, 2}, at::device(device()));
  const std::vector<std::pair<const char*, std::function<void()>>> operators{
      {"aten::add.", [&] { at::add(x, x); }},
      {"aten::add.", [&] { x.add_(x, 2); }},
      {"aten::add.", [&] { at::add(x, 1); }},
      {"aten::sum.", [&] { x.sum(); }},
      {"aten::mm", [&] { at::matmul(x, x); }},
      {"aten::silu.", [&] { at::silu(x); }},
      {"aten::normal_", [&] { x.normal_(); }},
      {"aten::fill_.Scalar", [&] { x.fill_(1); }},
      {"aten::fill_.Scalar", [&] { at::full({2}, 1.0F, at::device(device())); }},
      {"aten::zero_", [&] { at::zeros({2}, at::device(device())); }},
      {"aten::zero_", [&] { x.zero_(); }},
      {"aten::_local_scalar_dense", [&] { x[0][0].item(); }},
      {"aten::equal", [&] { x.equal(x); }},
      {"aten::resize_", [&] { x.resize_({3}); }},
      {"aten::index.", [&] { x.index({empty({1}, at::kLong)}); }},
  };
  for (const auto& [name, call] : operators) {
    try {
      call();
      ADD_FAILURE() << name << " was not refused";
    } catch (const c10::NotImplementedError& error) {
      EXPECT_THAT(error.what_without_backtrace(), ::testing::HasSubstr(name));
      EXPECT_THAT(error.what_without_backtrace(), ::testing::HasSubstr("in model/hidden"));
    }
  }
}

}  // namespace
}  // namespace lockstep::testing::far

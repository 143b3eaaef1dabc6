// Reductions, and the repetitions that are their transposes. All twice differentiable.
#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/ops.h"
#include "ops/partials.h"

namespace lockstep::ops {
namespace {

// v [N] to [N, …]: every element of a row.
Tensor spread_rows(const Tensor& v_in, at::IntArrayRef sizes) {
  const Tensor v = v_in.contiguous();
  Tensor x = ops::empty(sizes);
  const std::int64_t cols = x.numel() / v.numel();
  device().repeat(v.numel(), cols, 1, read(v), write(x));
  return record("spread_rows", {v_in}, x, Differentiable::kTwice,
                [](const Tensor& g, const std::vector<bool>&) -> Tensors { return {row_sums(g)}; });
}

// e [N, C] to [N, H, W, C].
Tensor spread_spatial(const Tensor& e_in, at::IntArrayRef sizes) {
  const Tensor e = e_in.contiguous();
  Tensor x = ops::empty(sizes);
  const std::int64_t c = e.size(1), spatial = x.numel() / e.numel();
  device().repeat(e.size(0), spatial, c, read(e), write(x));
  return record(
      "spread_spatial", {e_in}, x, Differentiable::kTwice,
      [](const Tensor& g, const std::vector<bool>&) -> Tensors { return {spatial_sums(g)}; });
}

// v [P] to [N]: each partial's value for every sample of its subtree; the transpose of lane_sums.
Tensor spread_lanes(const LaneBlocks& lanes, const Tensor& v_in) {
  const Tensor v = v_in.contiguous();
  Tensor x = empty({lanes.samples()});
  float* to = write(x);
  for (std::int64_t p = 0; p < lanes.partials(); ++p) {
    const std::int64_t samples = lanes.lanes[static_cast<std::size_t>(p)] * lanes.samples_per_lane;
    device().repeat(1, samples, 1, read(v) + p, to);
    to += samples;
  }
  return record("spread_lanes", {v_in}, x, Differentiable::kTwice,
                [lanes](const Tensor& g, const std::vector<bool>&) -> Tensors {
                  return {lane_sums(lanes, g)};
                });
}

// Each partial's slice of [P, …].
bool inner_is_contiguous(const Tensor& parameter) {
  std::int64_t stride = 1;
  for (std::int64_t d = parameter.dim(); --d > 0; stride *= parameter.size(d)) {
    if (parameter.size(d) != 1 && parameter.stride(d) != stride) return false;
  }
  return true;
}

}  // namespace

void for_each_partial(const LaneBlocks& lanes, const Tensors& parameters,
                      const std::function<void(const Slice&)>& body) {
  bool one = true;
  for (const Tensor& parameter : parameters) {
    if (!parameter.defined()) continue;
    LOCKSTEP_ASSERT(parameter.size(0) == lanes.partials(),
                    "a parameter did not enter the lane graph with these lanes");
    LOCKSTEP_ASSERT(inner_is_contiguous(parameter));
    one = one && (parameter.size(0) == 1 || parameter.stride(0) == 0);
  }
  if (one) return body({0, 0, lanes.samples()});
  std::int64_t first = 0;
  for (std::int64_t p = 0; p < lanes.partials(); ++p) {
    const std::int64_t samples = lanes.lanes[static_cast<std::size_t>(p)] * lanes.samples_per_lane;
    body({p, first, samples});
    first += samples;
  }
}

Tensor lane_column_sums(const LaneBlocks& lanes, const Tensor& x_in) {
  const Tensor x = x_in.contiguous();
  const std::int64_t cols = x.size(-1);
  Tensor out = empty({lanes.partials(), cols});
  device().lane_column_sums(lanes, x.numel() / cols / x.size(0), cols, read(x), write(out));
  return record(
      "lane_column_sums", {x_in}, out, Differentiable::kTwice,
      [lanes, sizes = x.sizes().vec()](const Tensor& g, const std::vector<bool>&) -> Tensors {
        return {spread_columns(lanes, g, sizes)};
      });
}

Tensor spread_columns(const LaneBlocks& lanes, const Tensor& v_in, at::IntArrayRef sizes) {
  const Tensor v = v_in.contiguous();
  Tensor x = ops::empty(sizes);
  const std::int64_t cols = sizes.back(), per_sample = x.numel() / cols / sizes[0];
  float* to = write(x);
  for_each_partial(lanes, {v}, [&](const Slice& slice) {
    const std::int64_t rows = slice.samples * per_sample;
    device().repeat(1, rows, cols, slice.data(v), to);
    to += rows * cols;
  });
  return record_with_parameters("spread_columns", {v_in}, x, Differentiable::kTwice,
                                [lanes](const Tensor& g, const std::vector<bool>&) -> Tensors {
                                  return {lane_column_sums(lanes, g)};
                                });
}

Tensor row_sums(const Tensor& x_in) {
  const Tensor x = x_in.contiguous();
  Tensor out = empty({x.size(0)});
  device().row_sums(x.size(0), x.numel() / x.size(0), read(x), write(out));
  return record("row_sums", {x_in}, out, Differentiable::kTwice,
                [sizes = x.sizes().vec()](const Tensor& g, const std::vector<bool>&) -> Tensors {
                  return {spread_rows(g, sizes)};
                });
}

Tensor row_dots(const Tensor& a_in, const Tensor& b_in) {
  const Tensors as = fork(a_in, 2), bs = fork(b_in, 2);
  const Tensor a = as[0].contiguous(), b = bs[0].contiguous();
  LOCKSTEP_ASSERT(a.sizes() == b.sizes());
  Tensor out = empty({a.size(0)});
  device().row_dots(a.size(0), a.numel() / a.size(0), read(a), read(b), write(out));
  return record("row_dots", {as[0], bs[0]}, out, Differentiable::kTwice,
                [a_saved = as[1], b_saved = bs[1]](const Tensor& g,
                                                   const std::vector<bool>& needed) -> Tensors {
                  const Tensors gs = fork(g, 2);
                  return {needed[0] ? scale_rows(b_saved, gs[0]) : Tensor(),
                          needed[1] ? scale_rows(a_saved, gs[1]) : Tensor()};
                });
}

Tensor row_squares(const Tensor& x) {
  const Tensors two = fork(x, 2);
  return row_dots(two[0], two[1]);
}

Tensor spatial_sums(const Tensor& x_in) {
  const Tensor x = x_in.contiguous();
  LOCKSTEP_ASSERT(x.dim() == 4);
  Tensor out = empty({x.size(0), x.size(3)});
  device().spatial_sums(x.size(0), x.size(1) * x.size(2), x.size(3), read(x), write(out));
  return record("spatial_sums", {x_in}, out, Differentiable::kTwice,
                [sizes = x.sizes().vec()](const Tensor& g, const std::vector<bool>&) -> Tensors {
                  return {spread_spatial(g, sizes)};
                });
}

Tensor scale_rows(const Tensor& x_in, const Tensor& v_in) {
  const Tensors xs = fork(x_in, 2), vs = fork(v_in, 2);
  const Tensor x = xs[0].contiguous(), v = vs[0].contiguous();
  LOCKSTEP_ASSERT(v.dim() == 1 && v.size(0) == x.size(0));
  Tensor out = empty(x.sizes());
  device().scale_rows(x.size(0), x.numel() / x.size(0), read(x), read(v), write(out));
  return record("scale_rows", {xs[0], vs[0]}, out, Differentiable::kTwice,
                [x_saved = xs[1], v_saved = vs[1]](const Tensor& g,
                                                   const std::vector<bool>& needed) -> Tensors {
                  const Tensors gs = fork(g, 2);
                  return {needed[0] ? scale_rows(gs[0], v_saved) : Tensor(),
                          needed[1] ? row_dots(gs[1], x_saved) : Tensor()};
                });
}

Tensor lane_sums(const LaneBlocks& lanes, const Tensor& l_in) {
  const Tensor l = l_in.contiguous();
  LOCKSTEP_ASSERT(l.dim() == 1 && l.size(0) == lanes.samples());
  Tensor out = empty({lanes.partials()});
  device().lane_column_sums(lanes, 1, 1, read(l), write(out));
  return record("lane_sums", {l_in}, out, Differentiable::kTwice,
                [lanes](const Tensor& g, const std::vector<bool>&) -> Tensors {
                  return {spread_lanes(lanes, g)};
                });
}

}  // namespace lockstep::ops

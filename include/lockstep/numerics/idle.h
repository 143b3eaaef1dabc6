// A device that computes nothing: to walk through a step and see what it asks for. What its kernels
// would write stays as it is.
#pragma once

#include "lockstep/numerics/cpu.h"

namespace lockstep::numerics {

class Idle final : public Device {
 public:
  std::string name() override { return "idle"; }
  Cpu& host() override { return host_; }
  std::unique_ptr<Device> clone(int) const override { return std::make_unique<Idle>(); }
  void to_host(std::size_t, const void*, void*) override {}
  void from_host(std::size_t, const void*, void*) override {}
  void copy(std::size_t, const void*, void*) override {}
  void leaf_hashes(std::span<const ByteView>, hash::Leaf*) override {}
  std::size_t first_non_finite(std::span<const std::span<const float>> tensors) override {
    return tensors.size();
  }
  void parallel_for(std::int64_t, std::int64_t,
                    const std::function<void(std::int64_t, std::int64_t)>&) override {}

  void unary(Unary, std::int64_t, const float*, float*) override {}
  void unary_backward(Unary, std::int64_t, const float*, const float*, float*) override {}
  void leaky_relu(std::int64_t, float, const float*, float*) override {}
  void leaky_relu_backward(std::int64_t, float, const float*, const float*, float*) override {}
  void binary(Binary, std::int64_t, const float*, const float*, float*) override {}
  void scale(std::int64_t, float, const float*, float*) override {}
  void scale_add(std::int64_t, float, const float*, const float*, float*) override {}
  void combine(std::int64_t, float, const float*, float, const float*, float*) override {}
  void combine_rows(std::int64_t, std::int64_t, const float*, const float*, const float*,
                    const float*, float*) override {}
  void scale_rows(std::int64_t, std::int64_t, const float*, const float*, float*) override {}
  void add_outer(std::int64_t, std::int64_t, const float*, const float*, const float*,
                 float*) override {}
  void fill(std::int64_t, float, float*) override {}
  void repeat(std::int64_t, std::int64_t, std::int64_t, const float*, float*) override {}
  void time_embedding(std::int64_t, std::int64_t, const float*, float*) override {}
  void clamp(std::int64_t, float, float, const float*, float*) override {}
  void clip_all(float, std::int64_t, const float*, std::span<const std::span<float>>) override {}
  void clamp_all(float, float, std::span<const std::span<float>>) override {}
  void from_bytes(std::int64_t, const std::uint8_t*, float*) override {}
  void to_bytes(std::int64_t, const float*, std::uint8_t*) override {}
  void gemm(Batch, std::int64_t, std::int64_t, std::int64_t, Operand, Operand, const float*,
            Output) override {}
  void linear(std::int64_t, std::int64_t, std::int64_t, Sides<const float>, const float*,
              const float*, float*) override {}
  void linear_weight_grad(const LaneBlocks&, std::int64_t, std::int64_t, std::int64_t, const float*,
                          const float*, float*) override {}
  void conv2d(const ConvShape&, const float*, const float*, const Added&, float*) override {}
  void conv2d_input_grad(const ConvShape&, const float*, const float*, const float*,
                         float*) override {}
  void conv2d_weight_grad(const ConvShape&, const LaneBlocks&, const float*, const float*,
                          float*) override {}
  void round_groups(std::int64_t, std::int64_t, std::int64_t, Sides<const float>, std::int16_t*,
                    std::int32_t*) override {}
  void plain_integers(std::int64_t, std::int64_t, const std::int16_t*, std::int16_t*) override {}
  void integer_conv2d(const ConvShape&, const Rounded&, const Rounded&, const Added&,
                      float*) override {}
  void integer_conv2d_input_grad(const ConvShape&, const Rounded&, const Rounded&, const float*,
                                 float*) override {}
  void integer_conv2d_weight_grad(const ConvShape&, const LaneBlocks&, const Rounded&,
                                  const Rounded&, float*) override {}

  void row_sums(std::int64_t, std::int64_t, const float*, float*) override {}
  void row_dots(std::int64_t, std::int64_t, const float*, const float*, float*) override {}
  void row_squared_distances(std::int64_t, std::int64_t, const float*, const float*,
                             float*) override {}
  void spatial_sums(std::int64_t, std::int64_t, std::int64_t, const float*, float*) override {}
  void lane_column_sums(const LaneBlocks&, std::int64_t, std::int64_t, const float*,
                        float*) override {}
  void tile_squares(std::span<const std::span<const float>>, float*) override {}
  void tree_sum(const float* const*, std::int64_t, std::int64_t, float*) override {}
  void tree_sum_nodes(std::int64_t, std::span<const Subtree>, const float* const*, std::int64_t,
                      float*) override {}
  void sum_sealed(std::int64_t, std::span<const Subtree>, std::span<const SealedRow>,
                  std::span<const SealedTile>, float*) override {}
  void group_norm(const GroupNormShape&, Sides<const float>, const float*, const float*, float*,
                  float*, float*) override {}
  void group_norm_backward(const GroupNormShape&, const LaneBlocks&, Sides<const float>,
                           const float*, const float*, const float*, const float*, const float*,
                           Sides<float>, float*, float*) override {}
  void layer_norm(std::int64_t, std::int64_t, float, const float*, const Affine&, float*, float*,
                  float*) override {}
  void layer_norm_backward(std::int64_t, std::int64_t, const LaneBlocks&, std::int64_t,
                           const float*, const Affine&, const float*, const float*, const float*,
                           float*, float*, float*) override {}
  void lane_moments(const LaneBlocks&, std::int64_t, std::int64_t, const float*, float*,
                    float*) override {}
  void merge_moments(std::int64_t, std::int64_t, float, const float*, float*, float*) override {}
  void batch_norm_apply(std::int64_t, std::int64_t, const float*, const float*, const float*,
                        const float*, const float*, float*) override {}
  void batch_norm_backward_sums(const LaneBlocks&, std::int64_t, std::int64_t, const float*,
                                const float*, const float*, const float*, float*, float*) override {
  }
  void batch_norm_backward_apply(std::int64_t, std::int64_t, float, const float*, const float*,
                                 const float*, const float*, const float*, const float*,
                                 const float*, float*) override {}
  void softmax(std::int64_t, std::int64_t, float, const float*, float*) override {}
  void softmax_backward(std::int64_t, std::int64_t, float, const float*, const float*,
                        float*) override {}
  void upsample_nearest(std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                        std::int64_t, const float*, float*) override {}
  void upsample_nearest_backward(std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                                 std::int64_t, std::int64_t, const float*, float*) override {}
  std::unique_ptr<PendingUpdate> update(const UpdateRule&,
                                        std::span<const UpdatedTensor>) override {
    return std::make_unique<DoneUpdate>(true);
  }
  void fill_bits(const Stream&, std::uint64_t, std::int64_t n, std::uint32_t*) override {
    require_drawable(n);
  }
  void fill_uniform(const Stream&, std::uint64_t, std::int64_t n, float*) override {
    require_drawable(n);
  }
  void fill_normal(const Stream&, std::uint64_t, std::int64_t, std::int64_t n, float*) override {
    require_drawable(n);
  }
  void fill_mask(const Stream&, std::uint64_t, std::int64_t, std::int64_t n, float, float,
                 float*) override {
    require_drawable(n);
  }

 private:
  Cpu host_;
};

}  // namespace lockstep::numerics

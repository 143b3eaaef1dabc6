#include "support/far_device/kernels.h"

#include <vector>

#include "lockstep/numerics/cpu.h"
#include "support/far_device/memory.h"

namespace lockstep::testing::far {
namespace {

using namespace numerics;  // the kernels' types

class FarDevice final : public numerics::Device {
 public:
  FarDevice(int threads, numerics::Isa isa) : host_(threads, isa) {}

  std::string name() override { return "a CPU in far memory"; }
  numerics::Cpu& host() override { return host_; }
  std::unique_ptr<numerics::Device> clone(int threads) const override {
    return std::make_unique<FarDevice>(threads, host_.isa());
  }

  void to_host(std::size_t bytes, const void* from, void* to) override {
    host_.copy(bytes, near(from), to);
  }
  void from_host(std::size_t bytes, const void* from, void* to) override {
    host_.copy(bytes, from, near(to));
  }
  void copy(std::size_t bytes, const void* from, void* to) override {
    host_.copy(bytes, near(from), near(to));
  }
  void leaf_hashes(std::span<const ByteView> tiles, hash::Leaf* leaves) override {
    std::vector<ByteView> there;
    for (const ByteView& tile : tiles) there.emplace_back(near(tile.data()), tile.size());
    host_.leaf_hashes(there, leaves);
  }
  std::size_t first_non_finite(std::span<const std::span<const float>> tensors) override {
    return host_.first_non_finite(near(tensors));
  }
  void parallel_for(std::int64_t n, std::int64_t grain,
                    const std::function<void(std::int64_t, std::int64_t)>& body) override {
    host_.parallel_for(n, grain, body);
  }

  void unary(Unary op, std::int64_t n, const float* x, float* out) override {
    host_.unary(op, n, near(x), near(out));
  }
  void unary_backward(Unary op, std::int64_t n, const float* x, const float* dy,
                      float* out) override {
    host_.unary_backward(op, n, near(x), near(dy), near(out));
  }
  void leaky_relu(std::int64_t n, float slope, const float* x, float* out) override {
    host_.leaky_relu(n, slope, near(x), near(out));
  }
  void leaky_relu_backward(std::int64_t n, float slope, const float* x, const float* dy,
                           float* out) override {
    host_.leaky_relu_backward(n, slope, near(x), near(dy), near(out));
  }
  void binary(Binary op, std::int64_t n, const float* a, const float* b, float* out) override {
    host_.binary(op, n, near(a), near(b), near(out));
  }
  void scale(std::int64_t n, float factor, const float* x, float* out) override {
    host_.scale(n, factor, near(x), near(out));
  }
  void scale_add(std::int64_t n, float factor, const float* x, const float* y,
                 float* out) override {
    host_.scale_add(n, factor, near(x), near(y), near(out));
  }
  void combine(std::int64_t n, float a, const float* x, float b, const float* y,
               float* out) override {
    host_.combine(n, a, near(x), b, near(y), near(out));
  }
  void combine_rows(std::int64_t rows, std::int64_t cols, const float* a, const float* x,
                    const float* b, const float* y, float* out) override {
    host_.combine_rows(rows, cols, near(a), near(x), near(b), near(y), near(out));
  }
  void scale_rows(std::int64_t rows, std::int64_t cols, const float* x, const float* v,
                  float* out) override {
    host_.scale_rows(rows, cols, near(x), near(v), near(out));
  }
  void add_outer(std::int64_t rows, std::int64_t cols, const float* u, const float* v,
                 const float* x, float* out) override {
    host_.add_outer(rows, cols, near(u), near(v), near(x), near(out));
  }
  void fill(std::int64_t n, float value, float* out) override { host_.fill(n, value, near(out)); }
  void repeat(std::int64_t n, std::int64_t times, std::int64_t width, const float* x,
              float* out) override {
    host_.repeat(n, times, width, near(x), near(out));
  }
  void time_embedding(std::int64_t n, std::int64_t width, const float* t, float* out) override {
    host_.time_embedding(n, width, near(t), near(out));
  }
  void clamp(std::int64_t n, float low, float high, const float* x, float* out) override {
    host_.clamp(n, low, high, near(x), near(out));
  }
  void clip_all(float limit, std::int64_t count, const float* squares,
                std::span<const std::span<float>> tensors) override {
    host_.clip_all(limit, count, near(squares), near(tensors));
  }
  void clamp_all(float low, float high, std::span<const std::span<float>> tensors) override {
    host_.clamp_all(low, high, near(tensors));
  }
  void from_bytes(std::int64_t n, const std::uint8_t* bytes, float* out) override {
    host_.from_bytes(n, near(bytes), near(out));
  }
  void to_bytes(std::int64_t n, const float* x, std::uint8_t* out) override {
    host_.to_bytes(n, near(x), near(out));
  }
  void gemm(Batch batch, std::int64_t m, std::int64_t n, std::int64_t depth, Operand a, Operand b,
            const float* bias, Output c) override {
    host_.gemm(batch, m, n, depth, near(a), near(b), near(bias), near(c));
  }
  void linear(std::int64_t rows, std::int64_t in, std::int64_t out, Sides<const float> x,
              const float* w, const float* bias, float* y) override {
    host_.linear(rows, in, out, near(x), near(w), near(bias), near(y));
  }
  void linear_weight_grad(const LaneBlocks& lanes, std::int64_t rows, std::int64_t in,
                          std::int64_t out, const float* x, const float* dy, float* dw) override {
    host_.linear_weight_grad(lanes, rows, in, out, near(x), near(dy), near(dw));
  }
  void conv2d(const ConvShape& s, const float* x, const float* w, const Added& added,
              float* y) override {
    host_.conv2d(s, near(x), near(w), near(added), near(y));
  }
  void conv2d_input_grad(const ConvShape& s, const float* dy, const float* w, const float* bias,
                         float* dx) override {
    host_.conv2d_input_grad(s, near(dy), near(w), near(bias), near(dx));
  }
  void conv2d_weight_grad(const ConvShape& s, const LaneBlocks& lanes, const float* x,
                          const float* dy, float* dw) override {
    host_.conv2d_weight_grad(s, lanes, near(x), near(dy), near(dw));
  }
  void round_groups(std::int64_t groups, std::int64_t rows, std::int64_t c, Sides<const float> x,
                    std::int16_t* q, std::int32_t* exponents) override {
    host_.round_groups(groups, rows, c, near(x), near(q), near(exponents));
  }
  void plain_integers(std::int64_t rows, std::int64_t c, const std::int16_t* q,
                      std::int16_t* plain) override {
    host_.plain_integers(rows, c, near(q), near(plain));
  }
  void integer_conv2d(const ConvShape& s, const Rounded& x, const Rounded& w, const Added& added,
                      float* y) override {
    host_.integer_conv2d(s, near(x), near(w), near(added), near(y));
  }
  void integer_conv2d_input_grad(const ConvShape& s, const Rounded& dy, const Rounded& w,
                                 const float* bias, float* dx) override {
    host_.integer_conv2d_input_grad(s, near(dy), near(w), near(bias), near(dx));
  }
  void integer_conv2d_weight_grad(const ConvShape& s, const LaneBlocks& lanes, const Rounded& x,
                                  const Rounded& dy, float* dw) override {
    host_.integer_conv2d_weight_grad(s, lanes, near(x), near(dy), near(dw));
  }
  void row_sums(std::int64_t rows, std::int64_t cols, const float* x, float* out) override {
    host_.row_sums(rows, cols, near(x), near(out));
  }
  void row_dots(std::int64_t rows, std::int64_t cols, const float* a, const float* b,
                float* out) override {
    host_.row_dots(rows, cols, near(a), near(b), near(out));
  }
  void row_squared_distances(std::int64_t rows, std::int64_t cols, const float* a, const float* b,
                             float* out) override {
    host_.row_squared_distances(rows, cols, near(a), near(b), near(out));
  }
  void spatial_sums(std::int64_t n, std::int64_t spatial, std::int64_t c, const float* x,
                    float* out) override {
    host_.spatial_sums(n, spatial, c, near(x), near(out));
  }
  void lane_column_sums(const LaneBlocks& lanes, std::int64_t rows, std::int64_t cols,
                        const float* x, float* out) override {
    host_.lane_column_sums(lanes, rows, cols, near(x), near(out));
  }
  void tile_squares(std::span<const std::span<const float>> tensors, float* out) override {
    host_.tile_squares(near(tensors), near(out));
  }
  void tree_sum(const float* const* rows, std::int64_t count, std::int64_t width,
                float* out) override {
    host_.tree_sum(near(rows, count).data(), count, width, near(out));
  }
  void tree_sum_nodes(std::int64_t total, std::span<const Subtree> nodes, const float* const* rows,
                      std::int64_t width, float* out) override {
    host_.tree_sum_nodes(total, nodes, near(rows, static_cast<std::int64_t>(nodes.size())).data(),
                         width, near(out));
  }
  void sum_sealed(std::int64_t total, std::span<const Subtree> nodes,
                  std::span<const SealedRow> rows, std::span<const SealedTile> tiles,
                  float* broken) override {
    std::vector<SealedRow> near_rows;
    std::vector<SealedTile> near_tiles;
    for (const SealedRow& row : rows) near_rows.push_back({near(row.floats), near(row.leaf)});
    for (const SealedTile& tile : tiles)
      near_tiles.push_back({near(tile.floats), tile.count, near(tile.leaf)});
    host_.sum_sealed(total, nodes, near_rows, near_tiles, near(broken));
  }
  void group_norm(const GroupNormShape& s, Sides<const float> x, const float* gamma,
                  const float* beta, float* y, float* mean, float* rstd) override {
    host_.group_norm(s, near(x), near(gamma), near(beta), near(y), near(mean), near(rstd));
  }
  void group_norm_backward(const GroupNormShape& s, const LaneBlocks& lanes, Sides<const float> x,
                           const float* gamma, const float* beta, const float* mean,
                           const float* rstd, const float* dy, Sides<float> dx, float* dgamma,
                           float* dbeta) override {
    host_.group_norm_backward(s, lanes, near(x), near(gamma), near(beta), near(mean), near(rstd),
                              near(dy), near(dx), near(dgamma), near(dbeta));
  }
  void layer_norm(std::int64_t rows, std::int64_t c, float eps, const float* x,
                  const Affine& affine, float* y, float* mean, float* rstd) override {
    host_.layer_norm(rows, c, eps, near(x), near(affine), near(y), near(mean), near(rstd));
  }
  void layer_norm_backward(std::int64_t rows, std::int64_t c, const LaneBlocks& lanes,
                           std::int64_t rows_per_sample, const float* x, const Affine& affine,
                           const float* mean, const float* rstd, const float* dy, float* dx,
                           float* dgamma, float* dbeta) override {
    host_.layer_norm_backward(rows, c, lanes, rows_per_sample, near(x), near(affine), near(mean),
                              near(rstd), near(dy), near(dx), near(dgamma), near(dbeta));
  }
  void lane_moments(const LaneBlocks& lanes, std::int64_t rows, std::int64_t c, const float* x,
                    float* mean, float* m2) override {
    host_.lane_moments(lanes, rows, c, near(x), near(mean), near(m2));
  }
  void merge_moments(std::int64_t lanes, std::int64_t c, float count, const float* rows,
                     float* mean, float* variance) override {
    host_.merge_moments(lanes, c, count, near(rows), near(mean), near(variance));
  }
  void batch_norm_apply(std::int64_t rows, std::int64_t c, const float* x, const float* mean,
                        const float* rstd, const float* gamma, const float* beta,
                        float* y) override {
    host_.batch_norm_apply(rows, c, near(x), near(mean), near(rstd), near(gamma), near(beta),
                           near(y));
  }
  void batch_norm_backward_sums(const LaneBlocks& lanes, std::int64_t rows, std::int64_t c,
                                const float* x, const float* mean, const float* rstd,
                                const float* dy, float* sum_dy, float* sum_dy_xhat) override {
    host_.batch_norm_backward_sums(lanes, rows, c, near(x), near(mean), near(rstd), near(dy),
                                   near(sum_dy), near(sum_dy_xhat));
  }
  void batch_norm_backward_apply(std::int64_t rows, std::int64_t c, float count, const float* x,
                                 const float* mean, const float* rstd, const float* gamma,
                                 const float* dy, const float* sum_dy, const float* sum_dy_xhat,
                                 float* dx) override {
    host_.batch_norm_backward_apply(rows, c, count, near(x), near(mean), near(rstd), near(gamma),
                                    near(dy), near(sum_dy), near(sum_dy_xhat), near(dx));
  }
  void softmax(std::int64_t rows, std::int64_t cols, float scale, const float* x,
               float* y) override {
    host_.softmax(rows, cols, scale, near(x), near(y));
  }
  void softmax_backward(std::int64_t rows, std::int64_t cols, float scale, const float* y,
                        const float* dy, float* dx) override {
    host_.softmax_backward(rows, cols, scale, near(y), near(dy), near(dx));
  }
  void upsample_nearest(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c,
                        std::int64_t oh, std::int64_t ow, const float* x, float* y) override {
    host_.upsample_nearest(n, h, w, c, oh, ow, near(x), near(y));
  }
  void upsample_nearest_backward(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c,
                                 std::int64_t oh, std::int64_t ow, const float* dy,
                                 float* dx) override {
    host_.upsample_nearest_backward(n, h, w, c, oh, ow, near(dy), near(dx));
  }
  std::unique_ptr<PendingUpdate> update(const UpdateRule& rule,
                                        std::span<const UpdatedTensor> tensors) override {
    std::vector<UpdatedTensor> there(tensors.begin(), tensors.end());
    for (UpdatedTensor& one : there) {
      one.g = near(one.g);
      one.p.values = near(one.p.values);
      for (Updated& slot : one.slots) slot.values = near(slot.values);
      for (UpdatedTensor::Average& average : one.averages)
        average.e.values = near(average.e.values);
    }
    return host_.update(rule, there);
  }
  void fill_bits(const Stream& stream, std::uint64_t position, std::int64_t n,
                 std::uint32_t* out) override {
    host_.fill_bits(stream, position, n, near(out));
  }
  void fill_uniform(const Stream& stream, std::uint64_t position, std::int64_t n,
                    float* out) override {
    host_.fill_uniform(stream, position, n, near(out));
  }
  void fill_normal(const Stream& stream, std::uint64_t first, std::int64_t rows, std::int64_t n,
                   float* out) override {
    host_.fill_normal(stream, first, rows, n, near(out));
  }
  void fill_mask(const Stream& stream, std::uint64_t first, std::int64_t rows, std::int64_t n,
                 float rate, float kept, float* out) override {
    host_.fill_mask(stream, first, rows, n, rate, kept, near(out));
  }

 private:
  static numerics::Operand near(numerics::Operand x) {
    x.data = far::near(x.data);
    return x;
  }
  template <class T>
  static Sides<T> near(Sides<T> x) {
    return {far::near(x.left), x.cut, far::near(x.right)};
  }
  static Added near(const Added& x) {
    return {far::near(x.bias), far::near(x.rows), far::near(x.values)};
  }
  static numerics::Rounded near(numerics::Rounded x) {
    return {far::near(x.q), far::near(x.exponents)};
  }
  static numerics::Output near(numerics::Output x) {
    x.data = far::near(x.data);
    return x;
  }
  template <class T>
  static std::vector<std::span<T>> near(std::span<const std::span<T>> tensors) {
    std::vector<std::span<T>> there;
    for (const auto& tensor : tensors) there.emplace_back(far::near(tensor.data()), tensor.size());
    return there;
  }
  static Affine near(const Affine& x) { return {far::near(x.gamma), far::near(x.beta), x.rows}; }
  static std::vector<const float*> near(const float* const* rows, std::int64_t count) {
    std::vector<const float*> there;
    for (std::int64_t i = 0; i < count; ++i) there.push_back(far::near(rows[i]));
    return there;
  }
  template <class T>
  static T* near(T* far) {
    return far::near(far);
  }

  numerics::Cpu host_;
};

}  // namespace

std::unique_ptr<numerics::Device> make_kernels(int threads, numerics::Isa isa) {
  return std::make_unique<FarDevice>(threads, isa);
}

}  // namespace lockstep::testing::far

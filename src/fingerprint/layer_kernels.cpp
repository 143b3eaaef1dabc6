#include "fingerprint/kernel_inputs.h"
#include "fingerprint/kernel_list.h"
#include "lockstep/ops/numerics.h"

namespace lockstep::fingerprint {
namespace {

using numerics::Unary;
using ops::Tensors;

// What an op takes: tensors of samples, which come first, and parameters. Sizes of one of them.
using Sizes = std::vector<std::vector<std::int64_t>>;

std::vector<std::int64_t> behind(std::int64_t first, std::vector<std::int64_t> sizes) {
  sizes.insert(sizes.begin(), first);
  return sizes;
}

// The op's output, and its gradients to samples and parameters.
using Op = std::function<Tensor(const Tensors& in)>;
hash::Digest both_passes(const Sizes& samples, const Sizes& parameters, const Op& op) {
  constexpr std::uint32_t kSamples[] = {1, 10, 11};  // 9 is the gradient's
  Tensors in;
  for (const auto& sizes : samples) {
    in.push_back(normals(kSamples[in.size()], behind(lanes().samples(), sizes)));
    in.back().set_requires_grad(true);
  }
  for (std::uint32_t key = 2; const auto& sizes : parameters)
    in.push_back(ops::over_border(normals(key++, behind(1, sizes))));
  const Tensor out = op(in);
  Hasher hasher;
  hasher.add(out);
  for (const Tensor& gradient : ops::gradients({out}, {normals(9, out.sizes())}, in, false))
    hasher.add(gradient);
  return hasher.finish();
}

Kernel of_op(const char* name, const Sizes& samples, const Sizes& parameters, const Op& op) {
  return {name, [=] { return both_passes(samples, parameters, op); }};
}
Kernel product(const char* name, const Sizes& samples, const Sizes& parameters, const Op& op) {
  Kernel kernel = of_op(name, samples, parameters, op);
  kernel.product = true;
  return kernel;
}

Kernel activation(const char* name, Unary function) {
  return of_op(name, {{37, 41}}, {},
               [function](const Tensors& in) { return ops::unary(function, in[0]); });
}

// Layers as below, with operands of many sizes in a sample, twice the depth of a 32-bit sum, and
// an odd number of channels.
hash::Digest integer_products() {
  const ops::NumericsScope scope({.integer = true});
  const Kernel layers[] = {
      of_op("linear", {{45, 1100}}, {{1100, 35}, {35}},
            [](const Tensors& in) { return ops::linear(lanes(), in[0], in[1], in[2]); }),
      of_op("conv2d", {{13, 11, 33}}, {{3, 3, 33, 48}, {48}},
            [](const Tensors& in) {
              return ops::conv2d(lanes(), in[0], in[1], in[2], {.stride = 2, .pad = 1});
            }),
      of_op("conv2d_transpose", {{7, 6, 16}}, {{4, 4, 24, 16}, {24}}, [](const Tensors& in) {
        return ops::conv2d_transpose(lanes(), in[0], in[1], in[2], {.stride = 2, .pad = 1}, 14, 12);
      })};
  hash::Sha256 all;
  for (const Kernel& layer : layers) all.update(as_bytes(layer.run().hex()));
  return all.finish();
}

hash::Digest spectral() {
  const Tensor w = normals(1, {3, 3, 20, 17});
  Tensor u = normals(2, {180}), v = normals(3, {17});
  ops::power_iteration(w, u, v);
  return hash_of({u, v, ops::spectral_normalize(w, u, v)});
}

// A row with a one of each sample: its class.
Tensor classes(std::int64_t count) {
  const std::int64_t n = lanes().samples();
  std::vector<float> rows(static_cast<std::size_t>(n * count));
  for (std::int64_t i = 0; i < n; ++i)
    rows[static_cast<std::size_t>(i * count + 5 * i % count)] = 1;
  return ops::from_host(rows, {n, count});
}

}  // namespace

// Sizes cross blocks and vectors, and are large enough for the kernels that libraries keep for
// large sizes.
std::vector<Kernel> layer_kernels() {
  return {
      product("linear", {{5, 600}}, {{600, 70}, {70}},
              [](const Tensors& in) { return ops::linear(lanes(), in[0], in[1], in[2]); }),
      product("conv2d", {{13, 11, 32}}, {{3, 3, 32, 48}, {48}},
              [](const Tensors& in) {
                return ops::conv2d(lanes(), in[0], in[1], in[2], {.stride = 1, .pad = 1});
              }),
      product("conv2d_strided", {{13, 12, 9}}, {{3, 3, 9, 17}, {17}},
              [](const Tensors& in) {
                return ops::conv2d(lanes(), in[0], in[1], in[2], {.stride = 2, .pad = 1});
              }),
      product("conv2d_transpose", {{7, 6, 16}}, {{4, 4, 24, 16}, {24}},
              [](const Tensors& in) {
                return ops::conv2d_transpose(lanes(), in[0], in[1], in[2], {.stride = 2, .pad = 1},
                                             14, 12);
              }),
      product("attention", {{49, 3 * 32}}, {},
              [](const Tensors& in) { return ops::attention(in[0], 2); }),
      of_op("group_norm", {{9, 8, 32}}, {{32}, {32}},
            [](const Tensors& in) {
              return ops::group_norm(lanes(), in[0], in[1], in[2], 8, 1e-5F,
                                     numerics::Activation::kSilu);
            }),
      of_op("layer_norm", {{11, 67}}, {{67}, {67}},
            [](const Tensors& in) { return ops::layer_norm(lanes(), in[0], in[1], in[2], 1e-5F); }),
      activation("silu", Unary::kSilu),
      activation("tanh", Unary::kTanh),
      activation("sigmoid", Unary::kSigmoid),
      activation("softplus", Unary::kSoftplus),
      activation("gelu_tanh", Unary::kGeluTanh),
      of_op("leaky_relu", {{37, 41}}, {},
            [](const Tensors& in) { return ops::leaky_relu(in[0], 0.2F); }),
      of_op("mean_squared_error", {{1300}}, {},
            [](const Tensors& in) {
              return ops::mean_squared_error(in[0], normals(3, in[0].sizes()));
            }),
      of_op("row_squares", {{1300}}, {}, [](const Tensors& in) { return ops::row_squares(in[0]); }),
      of_op("spatial_sums", {{9, 7, 21}}, {},
            [](const Tensors& in) { return ops::spatial_sums(in[0]); }),
      of_op("upsample_nearest", {{5, 4, 19}}, {},
            [](const Tensors& in) { return ops::upsample_nearest(in[0], 10, 8); }),
      of_op("adaptive_layer_norm", {{11, 67}, {2 * 67}}, {},
            [](const Tensors& in) { return ops::adaptive_layer_norm(in[0], in[1], 1e-6F); }),
      of_op("gated_add", {{11, 67}, {11, 67}, {67}}, {},
            [](const Tensors& in) { return ops::gated_add(in[0], in[1], in[2]); }),
      of_op("concat_channels", {{9, 7, 21}, {9, 7, 14}}, {},
            [](const Tensors& in) { return ops::concat_channels(in[0], in[1]); }),
      of_op("patches", {{6, 8, 5}}, {}, [](const Tensors& in) { return ops::patches(in[0], 2); }),
      of_op("cross_entropy", {{37}}, {},
            [](const Tensors& in) { return ops::cross_entropy(in[0], classes(37)); }),
      {"integer_products", integer_products},
      {"spectral_norm", spectral},
  };
}

}  // namespace lockstep::fingerprint

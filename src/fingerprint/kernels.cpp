#include "lockstep/fingerprint/kernels.h"

#include <array>
#include <functional>

#include "lockstep/fingerprint/settings.h"
#include "lockstep/numerics/philox.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/numerics.h"
#include "lockstep/ops/ops.h"

namespace lockstep::fingerprint {
namespace {

using at::Tensor;
using ops::LaneBlocks;
using ops::Tensors;

constexpr std::int64_t kEach = 3;  // samples of a lane

// Three lanes of three samples: a tree with a lone sibling.
const LaneBlocks& lanes() {
  static const LaneBlocks blocks{kEach, {3}};
  return blocks;
}

// Normals of a stream of their own a key.
Tensor normals(std::uint32_t key, at::IntArrayRef sizes) {
  Tensor values = ops::empty(sizes);
  ops::device().fill_normal({.key = {key, 0x10c5}, .micro = 0}, 0, 1, values.numel(),
                            ops::write(values));
  return values;
}

class Hasher {
 public:
  void add(const Tensor& tensor) {
    if (!tensor.defined()) return;
    hash_.update(ops::HostView(ops::bare(tensor).contiguous()).bytes());
  }
  hash::Digest finish() { return hash_.finish(); }

 private:
  hash::Sha256 hash_;
};

// The op's output, and its gradients to data and parameters.
using Op = std::function<Tensor(const Tensors& in)>;
hash::Digest both_passes(const std::vector<std::int64_t>& sample,
                         const std::vector<std::vector<std::int64_t>>& parameters, const Op& op) {
  std::vector<std::int64_t> sizes = sample;
  sizes.insert(sizes.begin(), lanes().samples());
  Tensors in = {normals(1, sizes)};
  in[0].set_requires_grad(true);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    std::vector<std::int64_t> with_partials = parameters[i];
    with_partials.insert(with_partials.begin(), 1);
    in.push_back(ops::over_border(normals(static_cast<std::uint32_t>(2 + i), with_partials)));
  }
  const Tensor out = op(in);
  Hasher hasher;
  hasher.add(out);
  for (const Tensor& gradient : ops::gradients({out}, {normals(9, out.sizes())}, in, false))
    hasher.add(gradient);
  return hasher.finish();
}

struct Kernel {
  const char* name;
  std::function<hash::Digest()> run;
  bool product = false;  // native numerics has one by LibTorch, in the run's precision
};

Kernel of_op(const char* name, const std::vector<std::int64_t>& sample,
             const std::vector<std::vector<std::int64_t>>& parameters, const Op& op) {
  return {name, [=] { return both_passes(sample, parameters, op); }};
}
Kernel product(const char* name, const std::vector<std::int64_t>& sample,
               const std::vector<std::vector<std::int64_t>>& parameters, const Op& op) {
  Kernel kernel = of_op(name, sample, parameters, op);
  kernel.product = true;
  return kernel;
}

Kernel activation(const char* name, numerics::Unary function) {
  return of_op(name, {37, 41}, {},
               [function](const Tensors& in) { return ops::unary(function, in[0]); });
}

hash::Digest functions() {
  Tensor x = normals(6, {4096}), y = ops::empty({4096});
  ops::device().scale(4096, 20.0F, ops::read(x), ops::write(x));
  Hasher hasher;
  for (const auto op :
       {numerics::Unary::kExp, numerics::Unary::kSin, numerics::Unary::kCos, numerics::Unary::kErf,
        numerics::Unary::kSqrt, numerics::Unary::kRsqrt, numerics::Unary::kGelu}) {
    ops::device().unary(op, 4096, ops::read(x), ops::write(y));
    hasher.add(y);
  }
  ops::device().unary(numerics::Unary::kAbs, 4096, ops::read(x), ops::write(x));
  ops::device().unary(numerics::Unary::kLog, 4096, ops::read(x), ops::write(y));
  hasher.add(y);
  return hasher.finish();
}

hash::Digest random_numbers() {
  Hasher hasher;
  hasher.add(normals(7, {4099}));
  Tensor uniform = ops::empty({4099});
  ops::device().fill_uniform({.key = {8, 0x10c5}, .micro = 3}, 1, 4099, ops::write(uniform));
  hasher.add(uniform);
  ops::device().fill_mask({.key = {8, 0x10c5}, .micro = 3}, 1, 1, 4099, 0.25F, 1.5F,
                          ops::write(uniform));
  hasher.add(uniform);
  return hasher.finish();
}

hash::Digest batch_statistics() {
  const std::int64_t rows = 35, c = 17;
  const Tensor x = normals(1, {lanes().samples(), rows, c}), dy = normals(2, x.sizes()),
               gamma = normals(3, {c}), beta = normals(4, {c});
  Tensor mean = ops::empty({3, c}), m2 = ops::empty({3, c}), y = ops::empty(x.sizes()),
         sum = ops::empty({3, c}), dots = ops::empty({3, c});
  ops::device().lane_moments(lanes(), rows, c, ops::read(x), ops::write(mean), ops::write(m2));
  ops::device().batch_norm_apply(lanes().samples() * rows, c, ops::read(x), ops::read(mean),
                                 ops::read(m2), ops::read(gamma), ops::read(beta), ops::write(y));
  ops::device().batch_norm_backward_sums(lanes(), rows, c, ops::read(x), ops::read(mean),
                                         ops::read(m2), ops::read(dy), ops::write(sum),
                                         ops::write(dots));
  Hasher hasher;
  for (const Tensor& tensor : {mean, m2, y, sum, dots}) hasher.add(tensor);
  return hasher.finish();
}

// What a diffusion step mixes, and what its network is told of time.
hash::Digest diffusion() {
  const std::int64_t n = 37, each = 131, width = 64;
  const Tensor x = normals(1, {n, each}), e = normals(2, {n, each}), a = normals(3, {n}),
               b = normals(4, {n});
  Tensor mixed = ops::empty({n, each}), t = normals(5, {n}), embedding = ops::empty({n, width});
  ops::device().combine_rows(n, each, ops::read(a), ops::read(x), ops::read(b), ops::read(e),
                             ops::write(mixed));
  ops::device().scale(n, 300.0F, ops::read(t), ops::write(t));
  ops::device().time_embedding(n, width, ops::read(t), ops::write(embedding));
  Hasher hasher;
  for (const Tensor& tensor : {mixed, embedding}) hasher.add(tensor);
  return hasher.finish();
}

// Moments of lanes, merged; and spectral norm's correction of a gradient.
hash::Digest moments_and_outer() {
  const std::int64_t rows = 7, c = 67;
  Tensor moments = normals(1, {rows, 2, c}), mean = ops::empty({c}), variance = ops::empty({c});
  ops::device().merge_moments(rows, c, 30.0F, ops::read(moments), ops::write(mean),
                              ops::write(variance));
  const Tensor u = normals(2, {rows}), v = normals(3, {c}), g = normals(4, {rows, c});
  Tensor sum = ops::empty({rows, c});
  ops::device().add_outer(rows, c, ops::read(u), ops::read(v), ops::read(g), ops::write(sum));
  Hasher hasher;
  for (const Tensor& tensor : {mean, variance, sum}) hasher.add(tensor);
  return hasher.finish();
}

hash::Digest updates() {
  const std::int64_t n = 4099;
  const Tensor g = normals(1, {n});
  Tensor p = normals(2, {n}), m = normals(3, {n}), v = normals(4, {n}), e = normals(5, {n});
  ops::device().unary(numerics::Unary::kAbs, n, ops::read(v), ops::write(v));
  numerics::UpdatedTensor updated{.n = n,
                                  .g = ops::read(g),
                                  .p = {ops::write(p)},
                                  .slots = {{ops::write(m)}, {ops::write(v)}},
                                  .averages = {{{ops::write(e)}, 0.01F}}};
  ops::device().update(numerics::AdamW{.beta1 = 0.9F,
                                       .one_minus_beta1 = 0.1F,
                                       .beta2 = 0.999F,
                                       .one_minus_beta2 = 0.001F,
                                       .eps = 1e-8F,
                                       .step_size = 0.01F,
                                       .inv_sqrt_bias2 = 1.5F,
                                       .decay = 0.999F},
                       {&updated, 1});
  updated.slots.pop_back();
  updated.averages.clear();
  ops::device().update(numerics::Sgd{.lr = 0.1F, .momentum = 0.9F, .weight_decay = 0.01F},
                       {&updated, 1});
  Hasher hasher;
  for (const Tensor& tensor : {p, m, v, e}) hasher.add(tensor);
  return hasher.finish();
}

hash::Digest nesterov() {
  const std::int64_t n = 4099;
  const Tensor g = normals(1, {n});
  Tensor p = normals(2, {n}), u = normals(3, {n});
  const numerics::UpdatedTensor updated{
      .n = n, .g = ops::read(g), .p = {ops::write(p)}, .slots = {{ops::write(u)}}, .averages = {}};
  ops::device().update(
      numerics::Sgd{.lr = 0.1F, .momentum = 0.9F, .weight_decay = 0.01F, .nesterov = true},
      {&updated, 1});
  Hasher hasher;
  for (const Tensor& tensor : {p, u}) hasher.add(tensor);
  return hasher.finish();
}

hash::Digest lion() {
  const std::int64_t n = 4099;
  const Tensor g = normals(1, {n});
  Tensor p = normals(2, {n}), m = normals(3, {n});
  const numerics::UpdatedTensor updated{
      .n = n, .g = ops::read(g), .p = {ops::write(p)}, .slots = {{ops::write(m)}}, .averages = {}};
  ops::device().update(numerics::Lion{.beta1 = 0.9F,
                                      .one_minus_beta1 = 0.1F,
                                      .beta2 = 0.99F,
                                      .one_minus_beta2 = 0.01F,
                                      .lr = 0.01F,
                                      .decay = 0.001F},
                       {&updated, 1});
  Hasher hasher;
  for (const Tensor& tensor : {p, m}) hasher.add(tensor);
  return hasher.finish();
}

// Layers as above, with operands of many sizes in a sample, twice the depth of a 32-bit sum, and
// an odd number of channels.
hash::Digest integer_products() {
  const ops::NumericsScope scope({.integer = true});
  const Kernel layers[] = {
      of_op("linear", {45, 1100}, {{1100, 35}, {35}},
            [](const Tensors& in) { return ops::linear(lanes(), in[0], in[1], in[2]); }),
      of_op("conv2d", {13, 11, 33}, {{3, 3, 33, 48}, {48}},
            [](const Tensors& in) {
              return ops::conv2d(lanes(), in[0], in[1], in[2], {.stride = 2, .pad = 1});
            }),
      of_op("conv2d_transpose", {7, 6, 16}, {{4, 4, 24, 16}, {24}}, [](const Tensors& in) {
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
  Hasher hasher;
  for (const Tensor& tensor : {u, v, ops::spectral_normalize(w, u, v)}) hasher.add(tensor);
  return hasher.finish();
}

// Sizes cross blocks and vectors, and are large enough for the kernels that libraries keep for
// large sizes.
std::vector<Kernel> kernels() {
  using numerics::Unary;
  return {
      product("linear", {5, 600}, {{600, 70}, {70}},
              [](const Tensors& in) { return ops::linear(lanes(), in[0], in[1], in[2]); }),
      product("conv2d", {13, 11, 32}, {{3, 3, 32, 48}, {48}},
              [](const Tensors& in) {
                return ops::conv2d(lanes(), in[0], in[1], in[2], {.stride = 1, .pad = 1});
              }),
      product("conv2d_strided", {13, 12, 9}, {{3, 3, 9, 17}, {17}},
              [](const Tensors& in) {
                return ops::conv2d(lanes(), in[0], in[1], in[2], {.stride = 2, .pad = 1});
              }),
      product("conv2d_transpose", {7, 6, 16}, {{4, 4, 24, 16}, {24}},
              [](const Tensors& in) {
                return ops::conv2d_transpose(lanes(), in[0], in[1], in[2], {.stride = 2, .pad = 1},
                                             14, 12);
              }),
      product("attention", {49, 3 * 32}, {},
              [](const Tensors& in) { return ops::attention(in[0], 2); }),
      of_op("group_norm", {9, 8, 32}, {{32}, {32}},
            [](const Tensors& in) {
              return ops::group_norm(lanes(), in[0], in[1], in[2], 8, 1e-5F,
                                     numerics::Activation::kSilu);
            }),
      of_op("layer_norm", {11, 67}, {{67}, {67}},
            [](const Tensors& in) { return ops::layer_norm(lanes(), in[0], in[1], in[2], 1e-5F); }),
      activation("silu", Unary::kSilu),
      activation("tanh", Unary::kTanh),
      activation("sigmoid", Unary::kSigmoid),
      activation("softplus", Unary::kSoftplus),
      activation("gelu_tanh", Unary::kGeluTanh),
      of_op("leaky_relu", {37, 41}, {},
            [](const Tensors& in) { return ops::leaky_relu(in[0], 0.2F); }),
      of_op("mean_squared_error", {1300}, {},
            [](const Tensors& in) {
              return ops::mean_squared_error(in[0], normals(3, in[0].sizes()));
            }),
      of_op("row_squares", {1300}, {}, [](const Tensors& in) { return ops::row_squares(in[0]); }),
      of_op("spatial_sums", {9, 7, 21}, {},
            [](const Tensors& in) { return ops::spatial_sums(in[0]); }),
      of_op("upsample_nearest", {5, 4, 19}, {},
            [](const Tensors& in) { return ops::upsample_nearest(in[0], 10, 8); }),
      {"functions", functions},
      {"random_numbers", random_numbers},
      {"batch_statistics", batch_statistics},
      {"spectral_norm", spectral},
      {"updates", updates},
      {"diffusion", diffusion},
      {"moments_and_outer", moments_and_outer},
      {"lion", lion},
      {"integer_products", integer_products},
      {"nesterov", nesterov},
  };
}

// clang-format off
constexpr std::array kGolden = {
    GoldenKernel{"linear", "e60761cd1480bec4252eb99d7865045c67f8afbec60e99ed4cf0734c483bc3a3"},
    GoldenKernel{"conv2d", "7560016a420db60a07ceb2e52d9d44980508191b231b4f4ed7cfdf7b4e0fe972"},
    GoldenKernel{"conv2d_strided", "94ee781b3cdf2d128668fef3e3cc76a25253326deeed1e8523d90c74b3214854"},
    GoldenKernel{"conv2d_transpose", "b99c713254976b5b44382f34623038218aaa744d62ef6f1659d3490bb14d25bd"},
    GoldenKernel{"attention", "aaeeeb8eebbcc8202bd8e341f0e42773a95f9ac638983283126da15233d9f0f7"},
    GoldenKernel{"group_norm", "d3c688b57bc6304893394159f02269a756d4ac02e46278aafb84bd0ee451ae8d"},
    GoldenKernel{"layer_norm", "7bf3903c8b06a629c0cefc2776e57253247fd9d0ec7396e8150c6c096b47db14"},
    GoldenKernel{"silu", "841d3ef25f1403af54e63f173e1a518cc783a38868304f4070a29da16ab093cb"},
    GoldenKernel{"tanh", "e0f73b2b4f8a6c1c53f6383479a6f29e85f3300952819e2301d20669629ef122"},
    GoldenKernel{"sigmoid", "56db6609c2e1ac4075b360effd1f3b80db9407f94136c594c292462797703153"},
    GoldenKernel{"softplus", "7872438934bdf3774f2d41bdccf1206677d524ce8c0ebb251ad9d8d3b016a4e0"},
    GoldenKernel{"gelu_tanh", "d71d83d86100ed02d64d896f2f20746c59a1e1e4289316f78315d95f72d5cee3"},
    GoldenKernel{"leaky_relu", "ea86bb3bd9b08d84a07503456342d875f587c643413e822efaa24175cb04bbfd"},
    GoldenKernel{"mean_squared_error", "b748f009fc0a62620aacaca6583ee03b5dc6b30e9a70196857fe459f874db713"},
    GoldenKernel{"row_squares", "e97a7e991fa09ff9cba618a580250f16e4aa3e68c770941af684a9fe53a8fdfd"},
    GoldenKernel{"spatial_sums", "ec4e12fe81f1c95f2e406183f6c82a85dacca9c30cc5e895ab4830a3f5ffe9a3"},
    GoldenKernel{"upsample_nearest", "9fd08ec2ad16dfe3bc969cde5352bb9df2616a40111531832e2910ccee77d14c"},
    GoldenKernel{"functions", "720a3aead87ca601f715534e45decff38adf3831325585da5b1c7d7386957e9e"},
    GoldenKernel{"random_numbers", "9fa9f1227d2ff18d375cd5ed87ad80afc8aa1622bb3c3862ddee596196dd8964"},
    GoldenKernel{"batch_statistics", "43eb166f5abbe6d4cf1588f44be582b259629ff14f0ffe1e2e88e1cc46b740f1"},
    GoldenKernel{"spectral_norm", "28aae9aadeb00133dfed24b9be92c377b897977e5ced7ed74c2478483b6297bd"},
    GoldenKernel{"updates", "aa786555ea34422a41afe21bb88a0fa1b05bec4b2f44d9d5fdc6ad1ec5bf9615"},
    GoldenKernel{"diffusion", "9f89b7dafde7289bf56d5e217f7cf2d04064e38a3577f8a1814654cf2285f4d0"},
    GoldenKernel{"moments_and_outer", "f24318c862631c16274f1f6d4ab93b2ac1ac936886acaab035df1bd7f8771714"},
    GoldenKernel{"lion", "1f2e82439c95e1c70598f8a46e7cb8e331fe3de83db4c025ca094471971a211e"},
    GoldenKernel{"integer_products", "0515e6d1037c681fc90f55641dd63e76a4e67e4675ea659276391fe2cab5fc3e"},
    GoldenKernel{"nesterov", "ae7ff8a0bf137adc5a2e0972052b0d9daf618a06302d9258a236ca85a770eca7"},
};
// clang-format on

KernelHashes hashes(bool native, ops::Precision precision) {
  const ops::NumericsScope scope({.native = native, .samples = kEach, .precision = precision});
  KernelHashes all;
  for (const Kernel& kernel : kernels()) {
    if (native && !kernel.product) continue;
    all.emplace_back(kernel.name + suffix(precision), kernel.run());
  }
  return all;
}

}  // namespace

KernelHashes portable_kernels() {
  return hashes(false, ops::Precision::kFloat32);
}

KernelHashes native_kernels(ops::Precision precision) {
  require_native_settings(precision);
  return hashes(true, precision);
}

std::string suffix(ops::Precision precision) {
  if (precision == ops::Precision::kFloat32) return {};
  return "_" + std::string(ops::kPrecisions.at(static_cast<std::size_t>(precision)));
}

std::span<const GoldenKernel> golden_kernels() {
  return kGolden;
}

hash::Digest self_test(const KernelHashes& kernels) {
  hash::Sha256 all;
  for (const auto& [name, digest] : kernels) all.update(as_bytes(name + " " + digest.hex() + "\n"));
  return all.finish();
}

}  // namespace lockstep::fingerprint

#include "lockstep/fingerprint/kernels.h"

#include <array>

#include "fingerprint/kernel_inputs.h"
#include "fingerprint/kernel_list.h"
#include "lockstep/fingerprint/settings.h"
#include "lockstep/ops/numerics.h"

namespace lockstep::fingerprint {

namespace {

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
    GoldenKernel{"adaptive_layer_norm", "ee60b54012f884ecfd56e3e57fc50f353213b4917f7ffb50b0b82430ca525ef0"},
    GoldenKernel{"gated_add", "0b355bb99cbf2d7c705bbae5b15f4770d301f1f43de62b9cbe3010bebbea2322"},
    GoldenKernel{"concat_channels", "c01e6e72e67ef74a0618e2eaa4d327ea5eb7844a62261c26cf82c79e4e519e71"},
    GoldenKernel{"patches", "0df4a070dd2106fe88b08dd78347079aeb79ad8ab44507e38eef99308aacc45a"},
    GoldenKernel{"cross_entropy", "abfb9e5fe55c9058bc49e9fa573c2b162968a557248f11aa58b40105f79fae33"},
    GoldenKernel{"integer_products", "0515e6d1037c681fc90f55641dd63e76a4e67e4675ea659276391fe2cab5fc3e"},
    GoldenKernel{"spectral_norm", "28aae9aadeb00133dfed24b9be92c377b897977e5ced7ed74c2478483b6297bd"},
    GoldenKernel{"functions", "720a3aead87ca601f715534e45decff38adf3831325585da5b1c7d7386957e9e"},
    GoldenKernel{"derivatives", "e13a69ebfb6ea3e8f6ed9b05fe28d9a347fe5cb142c75aa1129de57e616d01bf"},
    GoldenKernel{"arithmetic", "4fc0fde47012f9cf906ea03f7b4f4d495225f32c57b4927dc89ecd93dd4b700b"},
    GoldenKernel{"random_numbers", "9fa9f1227d2ff18d375cd5ed87ad80afc8aa1622bb3c3862ddee596196dd8964"},
    GoldenKernel{"random_bits", "83c1ba8b2f065ecd51e51bd36713a8c1633f01a5070035265bd7faa50eb5e3b6"},
    GoldenKernel{"pixels", "743586082d029120a54722839815f14467489953fb770771bde6582a7083f03f"},
    GoldenKernel{"diffusion", "9f89b7dafde7289bf56d5e217f7cf2d04064e38a3577f8a1814654cf2285f4d0"},
    GoldenKernel{"batch_statistics", "43eb166f5abbe6d4cf1588f44be582b259629ff14f0ffe1e2e88e1cc46b740f1"},
    GoldenKernel{"batch_norm_backward", "76467913ed897e442427c395be76cb80bef5d9ac47b299726fdb0a86a0196472"},
    GoldenKernel{"moments_and_outer", "f24318c862631c16274f1f6d4ab93b2ac1ac936886acaab035df1bd7f8771714"},
    GoldenKernel{"rounding", "a70fc76db827a95b58d0380722cb2cec846bd55cc5ce41be00a0c9699af0b57d"},
    GoldenKernel{"lane_sums", "1939573bfeaf62d46eafec2f2bff6cfbe47d13cf4fd7adc26760d4404d5910bc"},
    GoldenKernel{"clipping", "c8f6b227cb3743ac40cd2df7b408fadbfb0f358c5ab81d2d82febf135e5d9d45"},
    GoldenKernel{"updates", "aa786555ea34422a41afe21bb88a0fa1b05bec4b2f44d9d5fdc6ad1ec5bf9615"},
    GoldenKernel{"nesterov", "ae7ff8a0bf137adc5a2e0972052b0d9daf618a06302d9258a236ca85a770eca7"},
    GoldenKernel{"lion", "1f2e82439c95e1c70598f8a46e7cb8e331fe3de83db4c025ca094471971a211e"},
    GoldenKernel{"leaf_hashes", "86bcf33d964be750d9b7eea9b6acd42a85006d918859218e07a67a2519cb5f73"},
};
// clang-format on

KernelHashes hashes(bool native, ops::Precision precision) {
  const ops::NumericsScope scope({.native = native, .samples = kEach, .precision = precision});
  KernelHashes all;
  for (const auto& kernels : {layer_kernels(), step_kernels()}) {
    for (const Kernel& kernel : kernels)
      if (!native || kernel.product)
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

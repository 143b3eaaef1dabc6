// The table of the networks: one row a kind.
#include "lockstep/model/cnn.h"
#include "lockstep/model/dcgan_discriminator.h"
#include "lockstep/model/dcgan_generator.h"
#include "lockstep/model/dit.h"
#include "lockstep/model/mlp_discriminator.h"
#include "lockstep/model/mlp_generator.h"
#include "lockstep/model/sngan_discriminator.h"
#include "lockstep/model/sngan_generator.h"
#include "lockstep/model/unet.h"
#include "model/kinds.h"

namespace lockstep::model {

std::span<const NetworkKind> networks() {
  static constexpr NetworkKind kRows[] = {
      {"unet", "residual blocks and attention on pictures, told the time",
       &OptionsOf<UNetOptions>::make, NetworkType::kDenoiser, &make_unet},
      {"dit", "transformer blocks on patches of pictures, told the time",
       &OptionsOf<DitOptions>::make, NetworkType::kDenoiser, &make_dit},
      {"mlp-generator", "linear layers, batch norm or none, relu",
       &OptionsOf<MlpGeneratorOptions>::make, NetworkType::kGenerator, &make_mlp_generator},
      {"mlp-discriminator", "linear layers with spectral norm or none, leaky relu",
       &OptionsOf<MlpDiscriminatorOptions>::make, NetworkType::kDiscriminator,
       &make_mlp_discriminator},
      {"dcgan-generator", "transposed convolutions, batch norm",
       &OptionsOf<DcganGeneratorOptions>::make, NetworkType::kGenerator, &make_dcgan_generator},
      {"dcgan-discriminator", "strided convolutions, batch norm or none",
       &OptionsOf<DcganDiscriminatorOptions>::make, NetworkType::kDiscriminator,
       &make_dcgan_discriminator},
      {"sngan-generator", "as dcgan-generator, and a convolution at the end",
       &OptionsOf<SnganGeneratorOptions>::make, NetworkType::kGenerator, &make_sngan_generator},
      {"sngan-discriminator", "convolutions with spectral norm or none",
       &OptionsOf<SnganDiscriminatorOptions>::make, NetworkType::kDiscriminator,
       &make_sngan_discriminator},
      {"cnn", "convolutions with group norm, told apart by a hidden layer",
       &OptionsOf<CnnOptions>::make, NetworkType::kClassifier, &make_cnn},
  };
  return kRows;
}

}  // namespace lockstep::model

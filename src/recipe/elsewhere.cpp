#include "elsewhere.h"

#include <algorithm>

#include "lockstep/core/text.h"

namespace lockstep::recipe {
namespace {

struct Pair {
  std::string_view elsewhere, here;
};

constexpr std::string_view kOptimizer =
    "[model.optimizer]; of a GAN in [generator.optimizer] and [discriminator.optimizer]";

// of_optimizer: the key stands in a network's table of its optimiser.
struct Key {
  std::string_view elsewhere, here;
  bool of_optimizer = false;
};

constexpr Key kKeys[] = {
    {"adam_beta1", "beta1", true},
    {"adam_beta2", "beta2", true},
    {"architecture", "kind in [model]; of a GAN in [generator] and [discriminator]"},
    {"batch_size", "the batch is lanes x samples_per_lane in [batch]"},
    {"betas", "beta1 and beta2", true},
    {"checkpoint_every", "every in [checkpoint]"},
    {"class_cond", "classes in [data]"},
    {"classes", "classes in [data]"},
    {"clip_norm", "clip_norm", true},
    {"critic_iters", "discriminator_steps in [objective]"},
    {"crop", "crop in [data]"},
    {"data_path", "path in [data]"},
    {"dataset", "path in [data]"},
    {"dataset_path", "path in [data]"},
    {"discriminator", "[generator] and [discriminator] are a GAN's; other objectives have [model]"},
    {"device", "the machine is no part of a recipe: lockstep train --device"},
    {"ema", "ema_decay", true},
    {"ema_decay", "ema_decay", true},
    {"ema_warmup", "ema_warmup", true},
    {"epoch", "a recipe counts steps: steps in [run]"},
    {"epochs", "a recipe counts steps: steps in [run]"},
    {"flip", "flip in [data]"},
    {"generator", "[generator] and [discriminator] are a GAN's; other objectives have [model]"},
    {"grad_clip", "clip_norm", true},
    {"gradient_clipping", "clip_norm", true},
    {"guidance", "guidance in [objective], of diffusion models"},
    {"holdout", "holdout in [data]"},
    {"image_size", "pictures are as their data has them: lockstep pack --size"},
    {"iterations", "steps in [run]"},
    {"learning_rate", "lr", true},
    {"loss", "kind in [objective]"},
    {"lr", "lr", true},
    {"lr_scheduler", "schedule", true},
    {"lr_warmup_steps", "warmup", true},
    {"max_epochs", "a recipe counts steps: steps in [run]"},
    {"max_grad_norm", "clip_norm", true},
    {"max_steps", "steps in [run]"},
    {"max_train_steps", "steps in [run]"},
    {"model", "a GAN has [generator] and [discriminator]"},
    {"momentum", "momentum, with kind = \"sgd\",", true},
    {"n_critic", "discriminator_steps in [objective]"},
    {"network", "[model]; of a GAN [generator] and [discriminator]"},
    {"num_classes", "classes in [data]"},
    {"num_epochs", "a recipe counts steps: steps in [run]"},
    {"num_steps", "steps in [run]"},
    {"num_workers", "the machine is no part of a recipe: lockstep train --threads"},
    {"optim", "a table of its network: ", true},
    {"optimizer", "a table of its network: ", true},
    {"output_dir", "lockstep train --run FOLDER"},
    {"resolution", "pictures are as their data has them: lockstep pack --size"},
    {"save_every", "every in [checkpoint]"},
    {"save_interval", "every in [checkpoint]"},
    {"seed", "seed in [run]"},
    {"steps", "steps in [run]; of a sampler sampler_steps in [objective]"},
    {"threads", "the machine is no part of a recipe: lockstep train --threads"},
    {"train_batch_size", "the batch is lanes x samples_per_lane in [batch]"},
    {"trainer", "[run] and [batch]"},
    {"training", "[run] and [batch]"},
    {"use_ema_warmup", "ema_warmup", true},
    {"validate_every", "validate_every in [run]"},
    {"warmup", "warmup", true},
    {"warmup_steps", "warmup", true},
    {"weight_decay", "weight_decay", true},
};

constexpr Pair kWords[] = {
    {"adam", "adamw"},
    {"diffusion", "ddpm"},
    {"eps", "epsilon"},
    {"flow-matching", "flow"},
    {"karras", "edm"},
    {"noise", "epsilon"},
    {"pred_noise", "epsilon"},
    {"pred_v", "v"},
    {"pred_x0", "x0"},
    {"rectified-flow", "flow"},
    {"sample", "x0"},
    {"start_x", "x0"},
    {"v-prediction", "v"},
    {"v_prediction", "v"},
    {"velocity", "v"},
    {"wgan", "wasserstein-gan"},
    {"wgan-gp", "wasserstein-gan"},
    {"x_start", "x0"},
    {"xstart", "x0"},
};

std::string lower(std::string_view word) {
  std::string out(word);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace

std::optional<std::string> here(std::string_view key) {
  const auto found = std::ranges::find(kKeys, key, &Key::elsewhere);
  if (found == std::end(kKeys)) return std::nullopt;
  std::string text(found->here);
  if (!found->of_optimizer) return text;
  return text + (text.ends_with(' ') ? "" : " in ") + std::string(kOptimizer);
}

std::optional<std::string> meant_word(std::string_view word,
                                      const std::vector<std::string>& words) {
  const std::string plain = lower(word);
  const auto other = std::ranges::find(kWords, plain, &Pair::elsewhere);
  if (other != std::end(kWords) && std::ranges::find(words, other->here) != words.end())
    return std::string(other->here);
  return nearest_word(plain, words);
}

}  // namespace lockstep::recipe

#include "lockstep/recipe/load.h"

#include <algorithm>
#include <functional>

#include "known_keys.h"
#include "layers.h"
#include "lockstep/core/error.h"
#include "lockstep/core/foreign.h"
#include "lockstep/hash/sha256.h"
#include "lockstep/recipe/canonical.h"
#include "reader.h"

namespace lockstep::recipe {
namespace {

// The run's name becomes a folder's.
bool is_name(const std::string& name) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= 128 && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), good);
}

// Where `key`, such as "run.name", has its value: file and line, or --set. `name` where nothing
// says it.
std::string place_of(const std::vector<Layer>& layers, const std::string& key,
                     const std::string& name) {
  for (const Layer& layer : layers)
    if (const auto found = layer.table.at_path(key)) return place(layer, found.node()->source());
  return name;
}

using Place = std::function<std::string(const std::string& key)>;

// place: of the key that it is about.
void require_validation(Recipe& recipe, const std::string& place) {
  if (recipe.run.validate_every == 0) return;
  if (recipe.data.holdout == 0)
    throw Error(Code::kUsage, place + ": validate_every in [run] has no samples: none are held out",
                "set data.holdout, such as 1000, or leave validate_every out");
  if (!objective::diffusion(recipe.objective))
    throw Error(Code::kUsage,
                place +
                    ": validate_every in [run] is of diffusion models: kind in [objective] is " +
                    recipe.objective.kind.word(),
                "leave it out: others have no such loss");
}

void require_evaluation(const Recipe& recipe, const Place& at) {
  const Evaluation& options = recipe.evaluation;
  if (options.every == 0) return;
  if (!objective::makes_samples(recipe.objective))
    throw Error(Code::kUsage,
                at("evaluation.every") +
                    ": every in [evaluation] is of what makes samples: kind in [objective] is " +
                    recipe.objective.kind.word(),
                "leave it out; `lockstep eval` says how well a classifier does");
  if (options.features.ends_with(".pt"))
    throw Error(Code::kUsage,
                at("evaluation.features") +
                    ": features in [evaluation] is a TorchScript file: its values are one "
                    "machine's, and no ledger has them",
                "give a classifier that lockstep trained");
}

void require_digests(const Recipe& recipe, const Place& at) {
  const auto require_digest =
      [&](const std::string& digest, const std::string& table, const std::string& key,
          const char* hint = "`lockstep train` with --from or --weights writes it") {
        if (!hash::Digest::parse(digest))
          throw Error(Code::kUsage,
                      at(table + "." + key) + ": '" + digest + "' in [" + table + "] is no SHA-256",
                      hint);
      };
  if (has_parent(recipe)) require_digest(recipe.run.from.recipe, "run.from", "recipe");
  if (starts_from_state(recipe)) require_digest(recipe.run.from.state, "run.from", "state");
  for (const NetworkOptions& one : recipe.networks)
    if (is_frozen(one) && (has_parent(recipe) || !one.root.empty()))
      require_digest(one.root, one.role, "root");
  for (const NetworkOptions& one : recipe.networks)
    if (is_imported(one) && (starts_from_state(recipe) || !one.file.empty()))
      require_digest(one.file, one.role, "file");
  if (!recipe.evaluation.features_hash.empty())
    require_digest(recipe.evaluation.features_hash, "evaluation", "features_hash",
                   "leave features_hash out: `lockstep train` writes it");
}

// What averages are to be like needs one.
void require_an_average(const NetworkOptions& network, const Place& at) {
  const optim::Options& options = network.optimizer;
  if (options.ema_decay != 0) return;
  const auto refuse = [&](const std::string& key) {
    throw Error(Code::kUsage,
                at(network.role + ".optimizer." + key) + ": " + key + " in [" + network.role +
                    ".optimizer] without ema_decay",
                "give the first average's decay with ema_decay: pictures are made with it");
  };
  if (!options.more_ema_decays.empty()) refuse("more_ema_decays");
  if (options.ema_warmup) refuse("ema_warmup");
}

Recipe read(const std::vector<Layer>& layers, const std::string& name) {
  Recipe recipe;
  Reader reader(layers, inherited_keys(layers));
  describe(reader, recipe);
  reader.finish();
  const auto at = [&](const std::string& key) { return place_of(layers, key, name); };
  if (!is_name(recipe.run.name))
    throw Error(
        Code::kUsage,
        at("run.name") + ": 'name' in [run] cannot name a folder: '" + recipe.run.name + "'",
        "use letters, digits, '.', '_' and '-', and begin with a letter or digit");
  require_digests(recipe, at);
  for (const NetworkOptions& one : recipe.networks) require_an_average(one, at);
  if (!is_native(recipe) && recipe.run.precision != "float32")
    throw Error(Code::kUsage,
                at("run.precision") + ": precision = \"" + recipe.run.precision +
                    "\" in [run] is for native numerics",
                "set numerics = \"native\", or leave precision out");
  if (is_native(recipe) && has_integer_products(recipe))
    throw Error(Code::kUsage,
                at("run.products") + ": products = \"integer\" in [run] is not for native numerics",
                "leave one of the two out");
  require_validation(recipe, at("run.validate_every"));
  require_evaluation(recipe, at);
  if (phases(recipe).empty())
    throw Error(Code::kUsage, name + ": nothing is trained: all networks are frozen",
                "leave weights = \"frozen\" out of one of them");
  const auto rests = [&](const objective::PhaseNames& phase) {
    return objective::steps_between(recipe.objective, phase) > 1;
  };
  const auto every = objective::phases(recipe.objective);
  if (phases(recipe).size() < every.size() && std::ranges::any_of(every, rests))
    throw Error(Code::kUsage,
                at("objective.discriminator_steps") +
                    ": discriminator_steps in [objective] is of two networks that are trained, and "
                    "one is frozen",
                "leave discriminator_steps out");
  return recipe;
}

// A GAN's networks have no default kind: nobody means a U-Net.
void require_networks(const std::vector<Layer>& layers, const Recipe& recipe,
                      const std::string& name) {
  const bool flat =
      data::points(recipe.data) || data::samples_of(recipe.data) == data::SampleKind::kSignals;
  const std::string family = flat ? "mlp" : "dcgan";
  std::string missing, example;
  for (const NetworkOptions& network : recipe.networks) {
    if (network.role == "model") continue;
    const auto says = [&](const Layer& layer) { return layer.table[network.role]["kind"]; };
    if (std::ranges::any_of(layers, [&](const Layer& layer) { return !!says(layer); })) continue;
    missing += (missing.empty() ? "[" : " and [") + network.role + "]";
    example += (example.empty() ? "[" : ", [") + network.role + "] with kind = \"" + family + "-" +
               network.role + "\"";
  }
  if (missing.empty()) return;
  throw Error(Code::kUsage,
              name + ": with kind = '" + recipe.objective.kind.word() + "' in [objective], " +
                  missing + " must say a kind",
              "such as " + example + "; recipes/" +
                  (flat ? "golden/toy-gan.toml" : "fashion-mnist-dcgan.toml") + " is a whole one");
}

}  // namespace

Recipe load(const std::filesystem::path& path, const std::vector<std::string>& overrides) {
  const std::vector<Layer> layers = file_layers(path, overrides);
  Recipe recipe = read(layers, path.string());
  require_networks(layers, recipe, path.string());
  return recipe;
}

std::string hint_for_no_run(const std::filesystem::path& folder) {
  return folder.string().find('@') == std::string::npos
             ? "give the folder that `lockstep train` made"
             : "give the run's folder alone, without @STEP";
}

Recipe of_run(FileSystem& fs, const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "recipe.toml";
  if (!fs.exists(folder))
    throw Error(Code::kUsage, "there is no " + folder.string(), hint_for_no_run(folder));
  if (!fs.exists(file)) {
    if (fs.exists(folder / "ledger.jsonl"))
      throw Error(
          Code::kCorrupt, file.string() + " is missing",
          "restore it from a copy, or write it anew by the command that made the run: train "
          "RECIPE --run " +
              folder.string());
    throw Error(Code::kUsage, folder.string() + " is not a run: it has no recipe.toml",
                "give the folder that `lockstep train` made");
  }
  return parse_run_text(read_text(fs, file, kMostRecipe), file.string());
}

Recipe load_any(const std::filesystem::path& path) {
  const std::string text = read_text(real_file_system(), path, kMostRecipe, Code::kUsage);
  return text.starts_with(kRunTextBegin) ? parse_run_text(text, path.string()) : load(path);
}

Recipe parse(const std::string& text, const std::string& name) {
  std::vector<Layer> layers;
  layers.push_back(text_layer(text, name));
  if (const toml::node* extends = layers.front().table.get("extends"))
    throw Error(Code::kUsage,
                place(layers.front(), extends->source()) + ": 'extends' is not possible here");
  return read(layers, name);
}

}  // namespace lockstep::recipe

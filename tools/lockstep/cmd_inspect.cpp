#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "command.h"
#include "lockstep/checkpoint/store.h"
#include "lockstep/core/file_system.h"
#include "lockstep/core/text.h"
#include "lockstep/data/pack.h"
#include "lockstep/ledger/ledger.h"
#include "lockstep/recipe/canonical.h"
#include "lockstep/recipe/load.h"

namespace lockstep::cli {
namespace {

namespace stdfs = std::filesystem;
using Json = nlohmann::ordered_json;

Json of_ledger(const stdfs::path& path) {
  const ledger::Ledger ledger = ledger::read(real_file_system(), path, ledger::TornTail::kDrop);
  Json out = {{"kind", "ledger"},
              {"recipe", ledger.header.recipe.hex()},
              {"data", ledger.header.data.hex()},
              {"semantics", ledger.header.semantics},
              {"steps", ledger.entries.size()},
              {"chain", ledger.chain().hex()}};
  if (!ledger.entries.empty()) {
    out["state"] = ledger.entries.back().state.hex();
    for (const auto& [phase, loss] : ledger.entries.back().losses) out["loss"][phase] = loss;
  }
  return out;
}

Json of_checkpoint(const stdfs::path& path) {
  const checkpoint::Loaded loaded = checkpoint::load(real_file_system(), path);
  Json out = {{"kind", "checkpoint"},
              {"step", loaded.state().step.value},
              {"samples", loaded.state().samples},
              {"recipe", loaded.meta().recipe.hex()},
              {"data", loaded.meta().data.hex()},
              {"chain", loaded.meta().chain.hex()},
              {"state", loaded.meta().state.hex()},
              {"bytes", loaded.state().bytes()},
              {"tensors", Json::object()}};
  for (const state::Named& named : loaded.state().tensors)
    out["tensors"][named.name] = named.tensor.sizes().vec();
  return out;
}

Json of_pack(const stdfs::path& path) {
  const auto images = data::read_pack(path);
  const data::ImageShape& shape = images->shape();
  return {{"kind", "data"},   {"images", shape.n},   {"height", shape.h},
          {"width", shape.w}, {"channels", shape.c}, {"hash", images->hash().hex()}};
}

Json of_recipe(const stdfs::path& path) {
  const recipe::Recipe recipe = recipe::load_any(path);
  return {{"kind", "recipe"},
          {"id", recipe::id(recipe).hex()},
          {"name", recipe.run.name},
          {"canonical", recipe::canonical(recipe)}};
}

Json of_run(const stdfs::path& path) {
  for (const char* file : {"recipe.toml", "ledger.jsonl"}) {
    if (!stdfs::exists(path / file))
      throw Error(Code::kUsage, path.string() + " is not a run: it has no " + file,
                  "give the folder that `lockstep train` made");
  }
  Json out = {{"kind", "run"},
              {"recipe", of_recipe(path / "recipe.toml")["id"]},
              {"ledger", of_ledger(path / "ledger.jsonl")},
              {"checkpoints", Json::array()}};
  for (const Step step : checkpoint::list(real_file_system(), path / "checkpoints"))
    out["checkpoints"].push_back(step.value);
  return out;
}

Json look_at(const stdfs::path& path) {
  if (!stdfs::exists(path)) throw Error(Code::kUsage, "there is no " + path.string());
  if (stdfs::is_directory(path)) return of_run(path);
  if (path.extension() == ".toml") return of_recipe(path);
  if (path.extension() == ".jsonl") return of_ledger(path);
  if (path.extension() == ".h5" && checkpoint::step_of(path.filename().string()))
    return of_checkpoint(path);
  if (data::is_pack(path)) return of_pack(path);
  throw Error(Code::kUsage, path.string() + " is nothing that lockstep makes",
              "give a recipe, ledger, checkpoint, data file or run folder");
}

// Two columns, nested objects indented.
void print(const Json& value, const std::string& indent) {
  for (const auto& [name, item] : value.items()) {
    if (item.is_object()) {
      std::cout << indent << name << "\n";
      print(item, indent + "  ");
    } else if (name == "canonical") {
      std::cout << "\n" << item.get<std::string>();
    } else {
      std::cout << indent << name << "  "
                << (item.is_string() ? item.get<std::string>() : item.dump()) << "\n";
    }
  }
}

}  // namespace

Run add_inspect(CLI::App& app) {
  struct Options {
    std::string path;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("path", options->path,
                 "recipe (.toml), ledger (.jsonl), checkpoint or data file (.h5), or run folder")
      ->required();
  app.add_flag("--json", options->json, "report as JSON");
  app.footer(
      "Example: lockstep inspect runs/fashion-mnist-ddpm/checkpoints/step-00000500.h5\nNever "
      "writes.");
  return [options] {
    const Json out = look_at(options->path);
    if (options->json) {
      std::cout << out.dump(2) << "\n";
    } else {
      print(out, "");
    }
    return Code::kOk;
  };
}

}  // namespace lockstep::cli

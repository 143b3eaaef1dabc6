#include "lockstep/recipe/load.h"

#include <algorithm>

#include "lockstep/core/error.h"
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

Recipe read(const std::vector<Layer>& layers, const std::string& name) {
  Recipe recipe;
  Reader reader(layers);
  describe(reader, recipe);
  reader.finish();
  if (!is_name(recipe.run.name))
    throw Error(Code::kUsage,
                name + ": 'name' in [run] cannot name a folder: '" + recipe.run.name + "'",
                "use letters, digits, '.', '_' and '-', and begin with a letter or digit");
  return recipe;
}

}  // namespace

Recipe load(const std::filesystem::path& path, const std::vector<std::string>& overrides) {
  return read(file_layers(path, overrides), path.string());
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

// Where values come from: a stack of TOML tables, the strongest first (overrides, the file, the
// file it extends, …). A lookup takes the first table that has the key, so nothing is merged or
// copied and every value still knows its file and line.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::recipe {

inline constexpr std::uint64_t kMostRecipe = std::uint64_t{1} << 20;  // bytes

struct Layer {
  toml::table table;
  std::string name;    // "recipes/a.toml" or "--set model.channels"
  bool lines = false;  // whether line numbers mean anything
};

// Relative paths in the tables are made absolute: a file's from its folder, an override's from the
// current one. A text in memory keeps them.

// "recipes/a.toml:12", "--set run.seed".
std::string place(const Layer& layer, const toml::source_region& source);

std::vector<Layer> file_layers(const std::filesystem::path& path,
                               const std::vector<std::string>& overrides);
Layer text_layer(const std::string& text, const std::string& name);

}  // namespace lockstep::recipe

#include "layers.h"

#include <algorithm>
#include <sstream>

#include "lockstep/core/foreign.h"
#include "lockstep/core/list.h"
#include "quoted.h"

namespace lockstep::recipe {
namespace {

namespace stdfs = std::filesystem;

constexpr std::ptrdiff_t kMaxDots = 256;  // in a line: dotted keys nest, and deep tables end the
                                          // process in their destructor

[[noreturn]] void fail(const std::string& message, const std::string& hint = {}) {
  throw Error(Code::kUsage, message, hint);
}

void refuse_deep_keys(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (std::count(line.begin(), line.end(), '.') > kMaxDots)
      fail(name + ":" + std::to_string(number) + ": more than " + std::to_string(kMaxDots) +
           " dots in a line");
  }
}

std::string read_recipe(const stdfs::path& path) {
  std::error_code error;
  if (stdfs::is_other(path, error))  // a pipe of the shell's, too, which has no path
    fail("the recipe " + path.string() + " is not a file", "write it to one");
  const stdfs::path real = stdfs::canonical(path, error);  // recipes may be symbolic links
  if (error) fail("cannot read the recipe " + path.string() + ": " + error.message());
  if (!stdfs::is_regular_file(real)) fail("the recipe " + path.string() + " is not a file");
  if (stdfs::file_size(real, error) > kMostRecipe || error)
    fail("the recipe " + path.string() + " is larger than 1 MiB", "is it a recipe?");
  try {
    return read_text(real_file_system(), real, kMostRecipe, Code::kUsage);
  } catch (const Error& failure) {
    fail("cannot read the recipe: " + failure.message(), failure.hint());
  }
}

// The paths in a recipe: those of data, and of a classifier, which may have @STEP behind it.
void resolve_paths(toml::table& table, const stdfs::path& folder) {
  for (const auto& [in, key] :
       {std::pair("data", "path"), {"data", "labels"}, {"evaluation", "features"}}) {
    toml::value<std::string>* path = table[in][key].as_string();
    if (!path || path->get().empty() || stdfs::path(path->get()).is_absolute()) continue;
    *path = (stdfs::canonical(folder) / path->get()).lexically_normal().string();
  }
}

stdfs::path folder_of(const stdfs::path& file) {
  return file.has_parent_path() ? file.parent_path() : stdfs::path(".");
}

constexpr std::size_t kMostFiles = 64;  // of one recipe

// Appends the file and everything it extends.
void add_files(std::vector<Layer>& layers, const stdfs::path& path,
               std::vector<std::string> chain) {
  Layer layer = text_layer(read_recipe(path), path.string());
  if (layer.table.empty())  // a copy or an editor that did not get further
    fail(path.string() + ": this recipe says nothing",
         "`lockstep train --help-recipe` lists what it can say");
  resolve_paths(layer.table, folder_of(path));
  chain.push_back(stdfs::canonical(path).string());
  const toml::node* extends = layer.table.get("extends");
  stdfs::path base;
  if (extends) {
    const std::string where = place(layer, extends->source());
    const auto* name = extends->as_string();
    if (!name) fail(where + ": 'extends' must be a string: another recipe's path");
    base = path.parent_path() / stdfs::path(name->get());
    std::error_code error;
    const std::string real = stdfs::canonical(base, error).string();
    if (error)
      fail(where + ": cannot read '" + base.string() + "', which is extended: " + error.message());
    if (std::find(chain.begin(), chain.end(), real) != chain.end())
      fail(where + ": 'extends' goes in a circle", joined(chain, " -> ") + " -> " + real);
    if (chain.size() >= kMostFiles)
      fail(where + ": more than " + std::to_string(kMostFiles) + " recipes extend each other",
           "write keys of several into one");
  }
  layers.push_back(std::move(layer));
  if (extends) add_files(layers, base, std::move(chain));
}

// What people write recipes in elsewhere, seen by the first line that says something; "" for TOML.
std::string other_language(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#') continue;
    const std::size_t word = line.find_first_of(" \t:=\"'[{", begin);
    if (line[begin] == '{') return "JSON";
    if (line.starts_with("---") || line.starts_with("- ")) return "YAML";
    return word != std::string::npos && word > begin && line[word] == ':' ? "YAML" : "";
  }
  return "";
}

bool is_key(const std::string& key) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !key.empty() && key.size() < 256 && std::all_of(key.begin(), key.end(), good) &&
         key.front() != '.' && key.back() != '.' && key.find("..") == std::string::npos;
}

// What a line of a file that is not TOML may have meant.
std::string hint_for(const std::string& text, std::size_t line) {
  const std::string language = other_language(text);
  if (!language.empty())
    return "this looks like " + language + "; a recipe is TOML: a line [run], below it steps = 100";
  std::istringstream lines(text);
  std::string whole;
  for (std::size_t i = 0; i < line; ++i) std::getline(lines, whole);
  const std::size_t value = whole.find_first_not_of(" \t", whole.find('=') + 1);
  if (whole.find('=') == std::string::npos || value == std::string::npos) return "";
  const char lower = static_cast<char>(whole[value] | 32);
  if (lower < 'a' || lower > 'z') return "";
  const std::size_t end = std::min(whole.find_first_of(" \t\r#", value), whole.size());
  return "words stand in quotes: \"" + whole.substr(value, end - value) + "\"";
}

// The value as TOML text: itself, or a string of it.
std::string value_text(const std::string& value, const std::string& name) {
  std::string problem;
  try {
    // One line, one value: "1\nrun.seed = 2" must not pass for a value.
    if (value.find('\n') == std::string::npos && toml::parse("v = " + value).size() == 1)
      return value;
    problem = "not one value";
  } catch (const toml::parse_error& error) {
    problem = error.description();
  }
  if (value.empty()) fail(name + " has no value", "a text that is empty stands as '\"\"'");
  if (std::string("\"'[{").find(value.front()) != std::string::npos)
    fail(name + ": '" + value + "' is not a TOML value: " + problem);
  return quoted(value);
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? ""
                                    : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

Layer override_layer(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string key = trimmed(text.substr(0, equals));
  if (equals == std::string::npos || !is_key(key))
    fail("--set '" + text + "': expected key=value", "for example --set run.seed=2");
  if (key == "extends")
    fail("--set extends: only a recipe file can extend another", "write a recipe that does");
  const std::string name = "--set " + key;
  try {
    const std::string value = value_text(trimmed(text.substr(equals + 1)), name);
    Layer layer{toml::parse(key + " = " + value), name, false};
    const toml::table* const table = layer.table.at_path(key).as_table();
    if (table && table->empty())
      fail(name + ": an empty table changes nothing: keys that it does not name stay",
           "set them one by one, such as --set run.seed=2");
    resolve_paths(layer.table, ".");
    return layer;
  } catch (const toml::parse_error& error) {
    fail(name + ": " + std::string(error.description()));
  }
}

}  // namespace

std::string place(const Layer& layer, const toml::source_region& source) {
  return layer.lines ? layer.name + ":" + std::to_string(source.begin.line) : layer.name;
}

Layer text_layer(const std::string& text, const std::string& name) {
  if (text.size() > kMostRecipe) fail(name + ": larger than 1 MiB", "is it a recipe?");
  refuse_deep_keys(text, name);
  try {
    return {toml::parse(text), name, true};
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    const bool twice = error.description().find("redefine") != std::string_view::npos;
    fail(name + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " +
             std::string(error.description()),
         twice ? "it stands in the file twice: write both into one" : hint_for(text, at.line));
  }
}

std::vector<Layer> file_layers(const stdfs::path& path, const std::vector<std::string>& overrides) {
  std::vector<Layer> layers;
  for (auto text = overrides.rbegin(); text != overrides.rend(); ++text)
    layers.push_back(override_layer(*text));
  add_files(layers, path, {});
  return layers;
}

}  // namespace lockstep::recipe

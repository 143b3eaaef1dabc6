#include "known_keys.h"

#include <algorithm>
#include <span>
#include <utility>

#include "lockstep/core/fields.h"
#include "lockstep/core/kinds.h"
#include "lockstep/recipe/recipe.h"

namespace lockstep::recipe {
namespace {

// Follows the choices of layers, the strongest first, and refuses nothing.
class KeyCollector final : public Fields {
 public:
  explicit KeyCollector(std::span<const Layer> layers, std::string choice = "",
                        std::string word = "")
      : layers_(layers), choice_(std::move(choice)), word_(std::move(word)) {}

  void field(std::string_view name, std::int64_t&, std::int64_t, std::int64_t, Effect,
             std::string_view) override {
    add(name);
  }
  void field(std::string_view name, double&, double, double, Effect, std::string_view) override {
    add(name);
  }
  void field(std::string_view name, bool&, Effect, std::string_view) override { add(name); }
  void field(std::string_view name, std::string&, Effect, std::string_view) override { add(name); }
  void field(std::string_view name, std::vector<std::int64_t>&, std::int64_t, std::int64_t, Effect,
             std::string_view) override {
    add(name);
  }
  void field(std::string_view name, std::vector<double>&, double, double, Effect,
             std::string_view) override {
    add(name);
  }
  void choice(std::string_view name, std::string& value, const std::vector<std::string>& words,
              Effect, std::string_view) override {
    add(name);
    const std::string key = joined_key(path_, name);
    choices.emplace_back(key, words);
    if (key == choice_) {
      value = word_;
      return;
    }
    for (const Layer& layer : layers_) {
      const toml::node* node = layer.table.at_path(key).node();
      if (!node) continue;
      const auto* word = node->as_string();
      if (word && std::find(words.begin(), words.end(), word->get()) != words.end())
        value = word->get();
      return;
    }
  }
  void begin(std::string_view name, std::string_view) override {
    add(name);
    path_ = joined_key(path_, name);
  }
  void end() override {
    const std::size_t dot = path_.rfind('.');
    path_.erase(dot == std::string::npos ? 0 : dot);
  }

  KeySet keys;
  std::vector<std::pair<std::string, std::vector<std::string>>> choices;  // with their words

 private:
  void add(std::string_view name) { keys.insert(joined_key(path_, name)); }

  std::span<const Layer> layers_;
  std::string choice_, word_;  // taken, whatever layers say
  std::string path_;
};

KeyCollector collected(std::span<const Layer> layers, const std::string& choice = "",
                       const std::string& word = "") {
  KeyCollector collector(layers, choice, word);
  Recipe recipe;
  describe(collector, recipe);
  return collector;
}

}  // namespace

std::string joined_key(std::string_view path, std::string_view name) {
  return (path.empty() ? "" : std::string(path) + ".") + std::string(name);
}

std::vector<KeySet> inherited_keys(const std::vector<Layer>& layers) {
  std::vector<KeySet> sets(layers.size());
  const std::span<const Layer> all = layers;
  for (std::size_t i = 1; i < layers.size(); ++i) {
    if (!layers[i].lines) continue;  // an override
    sets[i] = std::move(collected(all.subspan(i)).keys);
  }
  return sets;
}

std::string choices_with(const std::vector<Layer>& layers, const std::string& path,
                         std::string_view key) {
  const std::string whole = joined_key(path, key);
  for (const auto& [choice, words] : collected(layers).choices) {
    const std::string name = choice.substr(choice.rfind('.') + 1);
    // Of a kind all keys are listed; what goes with weights, `train` writes.
    if (name == "kind" || name == "weights" || choice != joined_key(path, name)) continue;
    std::vector<std::string> with;
    for (const std::string& word : words)
      if (collected(layers, choice, word).keys.contains(whole)) with.push_back('"' + word + '"');
    if (!with.empty()) return name + " = " + listed(with);
  }
  return "";
}

}  // namespace lockstep::recipe

#include "known_keys.h"

#include <algorithm>
#include <span>

#include "lockstep/core/fields.h"
#include "lockstep/recipe/recipe.h"

namespace lockstep::recipe {
namespace {

// Follows the choices of layers, the strongest first, and refuses nothing.
class KeyCollector final : public Fields {
 public:
  explicit KeyCollector(std::span<const Layer> layers) : layers_(layers) {}

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
    for (const Layer& layer : layers_) {
      const toml::node* node = layer.table.at_path(joined_key(path_, name)).node();
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

 private:
  void add(std::string_view name) { keys.insert(joined_key(path_, name)); }

  std::span<const Layer> layers_;
  std::string path_;
};

}  // namespace

std::string joined_key(std::string_view path, std::string_view name) {
  return (path.empty() ? "" : std::string(path) + ".") + std::string(name);
}

std::vector<KeySet> inherited_keys(const std::vector<Layer>& layers) {
  std::vector<KeySet> sets(layers.size());
  const std::span<const Layer> all = layers;
  for (std::size_t i = 1; i < layers.size(); ++i) {
    if (!layers[i].lines) continue;  // an override
    KeyCollector collector(all.subspan(i));
    Recipe recipe;
    describe(collector, recipe);
    sets[i] = std::move(collector.keys);
  }
  return sets;
}

}  // namespace lockstep::recipe

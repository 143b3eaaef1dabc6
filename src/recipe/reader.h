// Reads the fields that a `describe` function names from layers, and refuses all other keys.
#pragma once

#include <string>
#include <vector>

#include "known_keys.h"
#include "layers.h"
#include "lockstep/core/fields.h"

namespace lockstep::recipe {

class Reader final : public Fields {
 public:
  // inherited: keys that a layer may hold without being asked for them, one set a layer.
  Reader(const std::vector<Layer>& layers, std::vector<KeySet> inherited);

  void field(std::string_view name, std::int64_t& value, std::int64_t min, std::int64_t max, Effect,
             std::string_view) override;
  void field(std::string_view name, double& value, double min, double max, Effect,
             std::string_view) override;
  void field(std::string_view name, bool& value, Effect, std::string_view) override;
  void field(std::string_view name, std::string& value, Effect, std::string_view) override;
  void field(std::string_view name, std::vector<double>& value, double min, double max, Effect,
             std::string_view) override;
  void field(std::string_view name, std::vector<std::int64_t>& value, std::int64_t min,
             std::int64_t max, Effect, std::string_view) override;
  void choice(std::string_view name, std::string& value, const std::vector<std::string>& words,
              Effect, std::string_view) override;
  void begin(std::string_view name, std::string_view) override;
  void end() override;

  // To be called last. Refuses keys at the top level that nobody asked for.
  void finish();

 private:
  struct Scope {
    std::string path;                        // "model.optimizer"
    std::string kind;                        // the value of its field `kind`, if it has one
    std::string choice;                      // the last one, `schedule = "cosine"`
    std::vector<const toml::table*> tables;  // one a layer, null where it has none
    std::vector<std::string> known;
  };
  struct KeyValue {
    const toml::node* node = nullptr;
    std::string place;  // of the value
    std::string key;    // "'lr' in [model.optimizer]"
  };

  KeyValue find(std::string_view name);
  static double number_of(const KeyValue& given, const toml::node& node, double min, double max);
  std::string in_scope() const;
  [[noreturn]] void fail_missing(std::string_view name) const;
  void refuse_unknown() const;

  const std::vector<Layer>& layers_;
  const std::vector<KeySet> inherited_;
  std::vector<Scope> scopes_;
};

}  // namespace lockstep::recipe

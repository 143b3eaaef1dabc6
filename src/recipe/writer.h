// Writes the fields that a `describe` function names as TOML text, every value in one form.
#pragma once

#include <string>
#include <vector>

#include "lockstep/core/fields.h"

namespace lockstep::recipe {

class Writer final : public Fields {
 public:
  explicit Writer(bool bits_only) : bits_only_(bits_only) {}

  void field(std::string_view name, std::int64_t& value, std::int64_t, std::int64_t, Effect effect,
             std::string_view) override;
  void field(std::string_view name, double& value, double, double, Effect effect,
             std::string_view) override;
  void field(std::string_view name, bool& value, Effect effect, std::string_view) override;
  void field(std::string_view name, std::string& value, Effect effect, std::string_view) override;
  void field(std::string_view name, std::vector<double>& value, double, double, Effect,
             std::string_view) override;
  void field(std::string_view name, std::vector<std::int64_t>& value, std::int64_t, std::int64_t,
             Effect effect, std::string_view) override;
  void choice(std::string_view name, std::string& value, const std::vector<std::string>& words,
              Effect effect, std::string_view) override;
  void begin(std::string_view name, std::string_view) override;
  void end() override;

  std::string text() const;  // tables in the order of `begin`; those without lines left out

 private:
  struct Table {
    std::string path;
    std::string lines;
  };
  void line(std::string_view name, const std::string& value, Effect effect);

  bool bits_only_;
  std::vector<Table> tables_;
  std::vector<std::size_t> open_;
};

// A value in its one form.
std::string written(std::int64_t value);
std::string written(double value);  // always with a point or an exponent: a float in TOML
std::string written(const std::vector<std::int64_t>& value);
std::string written(const std::vector<double>& value);
std::string written(const std::string& value);

}  // namespace lockstep::recipe

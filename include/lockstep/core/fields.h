// How a folder describes its `Options` once, for reading (recipe), canonical writing, help and ids.
//
// A folder declares   void describe(Fields& f, Options& o);   and calls f.field(...) for every
// member, in the order in which the canonical recipe lists them. Folders never see TOML.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

enum class Effect {
  kBits,          // part of the recipe id
  kBitsAsBefore,  // the same, at the value that means what older recipes meant: left out of the
                  // canonical text, so that they keep their ids
  kNone,          // cannot change bits: paths, retention, cadence of pictures, device
  kNoneAsBefore   // the same, of one that came later, at its default: left out of texts, too
};

// Of a field of any type that changes bits and came later. `before`: its default, at which
// everything is as it was without it.
template <class T>
Effect bits_unless(const T& value, const T& before) {
  return value == before ? Effect::kBitsAsBefore : Effect::kBits;
}
inline Effect bits_unless(const std::string& value, const char* before) {
  return bits_unless<std::string>(value, before);
}
// The same of one that cannot change bits.
template <class T>
Effect none_unless(const T& value, const T& before) {
  return value == before ? Effect::kNoneAsBefore : Effect::kNone;
}

class Fields {
 public:
  virtual ~Fields() = default;
  // name: TOML key. doc: one phrase with unit and range. Bounds are inclusive; a value outside is
  // an error of the recipe, with file and line.
  virtual void field(std::string_view name, std::int64_t& value, std::int64_t min, std::int64_t max,
                     Effect effect, std::string_view doc) = 0;
  virtual void field(std::string_view name, double& value, double min, double max, Effect effect,
                     std::string_view doc) = 0;
  virtual void field(std::string_view name, bool& value, Effect effect, std::string_view doc) = 0;
  virtual void field(std::string_view name, std::string& value, Effect effect,
                     std::string_view doc) = 0;
  virtual void field(std::string_view name, std::vector<std::int64_t>& value, std::int64_t min,
                     std::int64_t max, Effect effect, std::string_view doc) = 0;
  virtual void field(std::string_view name, std::vector<double>& value, double min, double max,
                     Effect effect, std::string_view doc) = 0;
  // A word out of a fixed list, read into `value` (which holds the default).
  virtual void choice(std::string_view name, std::string& value,
                      const std::vector<std::string>& words, Effect effect,
                      std::string_view doc) = 0;
  // A sub-table: everything described between begin and end lives under [….name].
  virtual void begin(std::string_view name, std::string_view doc) = 0;
  virtual void end() = 0;
};

}  // namespace lockstep

#include "writer.h"

#include "lockstep/core/error.h"
#include "lockstep/core/text.h"
#include "quoted.h"

namespace lockstep::recipe {

std::string written(std::int64_t value) {
  return std::to_string(value);
}

std::string written(double value) {
  std::string text = to_text(value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

namespace {

template <class T>
std::string list_of(const std::vector<T>& value) {
  std::string text;
  for (const T& element : value) text += (text.empty() ? "" : ", ") + written(element);
  return "[" + text + "]";
}

}  // namespace

std::string written(const std::vector<std::int64_t>& value) {
  return list_of(value);
}

std::string written(const std::vector<double>& value) {
  return list_of(value);
}

std::string written(const std::string& value) {
  return quoted(value);
}

void Writer::line(std::string_view name, const std::string& value, Effect effect) {
  LOCKSTEP_ASSERT(!open_.empty(), std::string(name) + " stands in no table");
  if (effect == Effect::kBitsAsBefore || effect == Effect::kNoneAsBefore) return;
  if (bits_only_ && effect == Effect::kNone) return;
  tables_[open_.back()].lines += std::string(name) + " = " + value + "\n";
}

void Writer::field(std::string_view name, std::int64_t& value, std::int64_t, std::int64_t,
                   Effect effect, std::string_view) {
  line(name, written(value), effect);
}
void Writer::field(std::string_view name, double& value, double, double, Effect effect,
                   std::string_view) {
  line(name, written(value), effect);
}
void Writer::field(std::string_view name, bool& value, Effect effect, std::string_view) {
  line(name, value ? "true" : "false", effect);
}
void Writer::field(std::string_view name, std::string& value, Effect effect, std::string_view) {
  line(name, written(value), effect);
}
void Writer::field(std::string_view name, std::vector<std::int64_t>& value, std::int64_t,
                   std::int64_t, Effect effect, std::string_view) {
  line(name, written(value), effect);
}
void Writer::field(std::string_view name, std::vector<double>& value, double, double, Effect effect,
                   std::string_view) {
  line(name, written(value), effect);
}
void Writer::choice(std::string_view name, std::string& value, const std::vector<std::string>&,
                    Effect effect, std::string_view) {
  line(name, written(value), effect);
}

void Writer::begin(std::string_view name, std::string_view) {
  const std::string outer = open_.empty() ? "" : tables_[open_.back()].path + ".";
  tables_.push_back({outer + std::string(name), {}});
  open_.push_back(tables_.size() - 1);
}

void Writer::end() {
  open_.pop_back();
}

std::string Writer::text() const {
  std::string text;
  for (const Table& table : tables_) {
    if (table.lines.empty()) continue;
    text += (text.empty() ? "[" : "\n[") + table.path + "]\n" + table.lines;
  }
  return text;
}

}  // namespace lockstep::recipe

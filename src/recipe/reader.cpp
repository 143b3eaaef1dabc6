#include "reader.h"

#include <algorithm>

#include "elsewhere.h"
#include "lockstep/core/error.h"
#include "lockstep/core/list.h"
#include "lockstep/core/text.h"
#include "refused.h"
#include "writer.h"

namespace lockstep::recipe {
namespace {

[[noreturn]] void fail(const std::string& message, const std::string& hint = {}) {
  throw Error(Code::kUsage, message, hint);
}

std::string type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a float";
    case toml::node_type::boolean:
      return "a boolean";
    default:
      return "a date or time";
  }
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates,
                         const std::string& otherwise) {
  const auto nearest = nearest_word(word, candidates);
  return nearest ? "did you mean '" + *nearest + "'?" : otherwise + joined(candidates, ", ");
}

template <class KeyValue>
[[noreturn]] void fail_type(const KeyValue& given, const std::string& wanted,
                            const std::string& hint = {}) {
  fail(given.place + ": " + given.key + " must be " + wanted + ", not " + type_name(*given.node),
       hint);
}

// 1e4 is what people write for many steps.
std::string hint_for_integer(const toml::node& node) {
  return node.is_floating_point() ? "without point and exponent: 10000 or 10_000" : "";
}

// A text of digits that no integer holds, as --set has it for TOML's sake.
bool beyond_64_bits(const toml::node& node) {
  const auto* string = node.as_string();
  if (!string) return false;
  const std::string_view digits = std::string_view(string->get()).substr(string->get()[0] == '-');
  return !digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos &&
         !parse_int(string->get());
}

template <class KeyValue>
[[noreturn]] void fail_range(const KeyValue& given, const std::string& value,
                             const std::string& min, const std::string& max) {
  fail(given.place + ": " + given.key + " is out of range: " + value,
       "it may be " + min + " to " + max);
}

template <class KeyValue, class T>
void check_range(const KeyValue& given, T value, T min, T max) {
  if (value >= min && value <= max) return;
  fail_range(given, written(value), written(min), written(max));
}

}  // namespace

Reader::Reader(const std::vector<Layer>& layers, std::vector<KeySet> inherited)
    : layers_(layers), inherited_(std::move(inherited)) {
  Scope top;
  for (const Layer& layer : layers) top.tables.push_back(&layer.table);
  top.known.push_back("extends");
  scopes_.push_back(std::move(top));
}

std::string Reader::in_scope() const {
  const std::string& path = scopes_.back().path;
  return path.empty() ? "at the top level" : "in [" + path + "]";
}

// The value of the strongest layer that has the key.
Reader::KeyValue Reader::find(std::string_view name) {
  Scope& scope = scopes_.back();
  scope.known.emplace_back(name);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const toml::node* node = scope.tables[i] ? scope.tables[i]->get(name) : nullptr;
    if (node)
      return {node, place(layers_[i], node->source()), "'" + std::string(name) + "' " + in_scope()};
  }
  return {};
}

// A default out of range means that there is none.
void Reader::fail_missing(std::string_view name) const {
  const auto file =
      std::find_if(layers_.begin(), layers_.end(), [](const Layer& l) { return l.lines; });
  LOCKSTEP_ASSERT(file != layers_.end());
  const std::string& choice = scopes_.back().choice;
  fail(file->name + ": '" + std::string(name) + "' " + in_scope() + " must be given",
       choice.empty() ? "" : choice + " needs it");
}

void Reader::field(std::string_view name, std::int64_t& value, std::int64_t min, std::int64_t max,
                   Effect, std::string_view) {
  const KeyValue given = find(name);
  if (!given.node && (value < min || value > max)) fail_missing(name);
  if (!given.node) return;
  const auto* integer = given.node->as_integer();
  if (beyond_64_bits(*given.node))
    fail_range(given, *given.node->value<std::string>(), written(min), written(max));
  if (!integer) fail_type(given, "an integer", hint_for_integer(*given.node));
  check_range(given, integer->get(), min, max);
  value = integer->get();
}

void Reader::field(std::string_view name, double& value, double min, double max, Effect,
                   std::string_view) {
  const KeyValue given = find(name);
  if (given.node) value = number_of(given, *given.node, min, max);
}

double Reader::number_of(const KeyValue& given, const toml::node& node, double min, double max) {
  double number = 0;
  if (const auto* real = node.as_floating_point())
    number = real->get();
  else if (const auto* integer = node.as_integer())
    number = static_cast<double>(integer->get());
  else if (&node == given.node)
    fail_type(given, "a number");
  else
    fail(given.place + ": " + given.key + " must hold numbers only, not " + type_name(node));
  if (number - number != 0) fail(given.place + ": " + given.key + " is not a finite number");
  check_range(given, number, min, max);
  return number + 0.0;  // -0.0 becomes 0.0: one recipe, one id
}

void Reader::field(std::string_view name, std::vector<double>& value, double min, double max,
                   Effect, std::string_view) {
  const KeyValue given = find(name);
  if (!given.node) return;
  const auto* array = given.node->as_array();
  if (!array) fail_type(given, "an array of numbers");
  value.clear();
  for (const toml::node& element : *array) value.push_back(number_of(given, element, min, max));
}

void Reader::field(std::string_view name, bool& value, Effect, std::string_view) {
  const KeyValue given = find(name);
  if (!given.node) return;
  const auto* boolean = given.node->as_boolean();
  if (!boolean) fail_type(given, "true or false");
  value = boolean->get();
}

void Reader::field(std::string_view name, std::string& value, Effect, std::string_view) {
  const KeyValue given = find(name);
  if (!given.node) return;
  const auto* string = given.node->as_string();
  if (!string) fail_type(given, "a string");
  value = string->get();
}

void Reader::field(std::string_view name, std::vector<std::int64_t>& value, std::int64_t min,
                   std::int64_t max, Effect, std::string_view) {
  const KeyValue given = find(name);
  if (!given.node) return;
  const auto* array = given.node->as_array();
  if (!array) fail_type(given, "an array of integers");
  value.clear();
  for (const toml::node& element : *array) {
    const auto* integer = element.as_integer();
    if (!integer)
      fail(given.place + ": " + given.key + " must hold integers only, not " + type_name(element),
           hint_for_integer(element));
    check_range(given, integer->get(), min, max);
    value.push_back(integer->get());
  }
}

void Reader::choice(std::string_view name, std::string& value,
                    const std::vector<std::string>& words, Effect, std::string_view) {
  const KeyValue given = find(name);
  if (given.node) {
    const auto* string = given.node->as_string();
    if (!string) fail_type(given, "a string");
    if (std::find(words.begin(), words.end(), string->get()) == words.end()) {
      if (const auto refused = refused_word(name, string->get()))
        fail(given.place + ": " + given.key + " cannot be '" + string->get() + "': " + refused->why,
             refused->hint);
      const auto meant = meant_word(string->get(), words);
      fail(given.place + ": " + given.key + " cannot be '" + string->get() + "'",
           (meant ? "did you mean '" + *meant + "'? " : "") + "it may be " + joined(words, ", "));
    }
    value = string->get();
  }
  scopes_.back().choice = std::string(name) + " = \"" + value + "\"";
  if (name == "kind") scopes_.back().kind = value;
}

void Reader::begin(std::string_view name, std::string_view) {
  Scope& outer = scopes_.back();
  outer.known.emplace_back(name);
  Scope inner;
  inner.path = joined_key(outer.path, name);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const toml::node* node = outer.tables[i] ? outer.tables[i]->get(name) : nullptr;
    if (node && !node->is_table())
      fail(place(layers_[i], node->source()) + ": '" + inner.path + "' must be a table, not " +
           type_name(*node));
    inner.tables.push_back(node ? node->as_table() : nullptr);
  }
  scopes_.push_back(std::move(inner));
}

void Reader::end() {
  refuse_unknown();
  scopes_.pop_back();
}

void Reader::finish() {
  LOCKSTEP_ASSERT(scopes_.size() == 1);
  refuse_unknown();
}

void Reader::refuse_unknown() const {
  const Scope& scope = scopes_.back();
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (!scope.tables[i]) continue;
    const toml::key* first = nullptr;  // the one that stands first in the file
    for (const auto& [key, node] : *scope.tables[i]) {
      const bool known =
          std::find(scope.known.begin(), scope.known.end(), key.str()) != scope.known.end() ||
          inherited_[i].contains(joined_key(scope.path, key.str()));
      if (!known && (!first || key.source().begin.line < first->source().begin.line)) first = &key;
    }
    if (!first) continue;
    const std::string word(first->str());
    const std::string unknown =
        place(layers_[i], first->source()) + ": unknown key '" + word + "' " + in_scope();
    if (const auto refused = refused_key(word)) fail(unknown + ": " + refused->why, refused->hint);
    const auto elsewhere = here(word);
    if (elsewhere && !nearest_word(word, scope.known)) fail(unknown, *elsewhere);
    if (const std::string chosen = choices_with(layers_, scope.path, word); !chosen.empty())
      fail(unknown, "it is a key with " + chosen);
    const std::string keys =
        scope.kind.empty() ? "the keys are " : "with kind = '" + scope.kind + "' the keys are ";
    fail(unknown, did_you_mean(word, scope.known, keys));
  }
}

}  // namespace lockstep::recipe

#include "lockstep/core/json.h"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "lockstep/core/foreign.h"

namespace lockstep {
namespace {

using Library = nlohmann::ordered_json;

// Puts values together from the parser's events, the innermost open array or object last.
class Builder final : public nlohmann::json_sax<Library> {
 public:
  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // no text has it
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }
  bool key(string_t& name) override {
    open_.back().name = std::move(name);
    return true;
  }
  bool end_object() override { return add(Json(closed().members)); }
  bool end_array() override { return add(closed().elements); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

  Json result() { return std::move(result_); }

 private:
  struct Open {
    std::optional<std::string> name;  // of the next member; an array's elements have none
    std::vector<Json> elements;
    std::vector<Json::Member> members;
    std::map<std::string, std::size_t> places;  // of the members: many names take no square of time
  };

  bool open() {
    open_.emplace_back();
    return std::cmp_less_equal(open_.size(), kDeepestJson);
  }

  Open closed() {
    Open last = std::move(open_.back());
    open_.pop_back();
    return last;
  }

  bool add(Json value) {
    if (open_.empty()) {
      result_ = std::move(value);
      return true;
    }
    Open& open = open_.back();
    if (!open.name) {
      open.elements.push_back(std::move(value));
      return true;
    }
    const auto [place, fresh] = open.places.try_emplace(*open.name, open.members.size());
    if (fresh)
      open.members.push_back({std::move(*open.name), std::move(value)});
    else
      open.members[place->second].value = std::move(value);
    return true;
  }

  std::vector<Open> open_;
  Json result_;
};

template <class T, class Value>
const T& as(const Value& value, const char* kind) {
  if (const T* held = std::get_if<T>(&value)) return *held;
  throw JsonError(std::string("the value is not ") + kind);
}

template <class T, class Value>
T& made(Value& value, const char* kind) {
  if (std::holds_alternative<std::nullptr_t>(value)) value.template emplace<T>();
  if (T* held = std::get_if<T>(&value)) return *held;
  throw JsonError(std::string("the value is not ") + kind);
}

constexpr const char* kArray = "an array";
constexpr const char* kObject = "an object";

}  // namespace

// The value as the library's, which makes the text.
class JsonText {
 public:
  static Library library(const Json& json) {
    return std::visit([](const auto& value) { return of(value); }, json.value_);
  }

 private:
  template <class T>
  static Library of(const T& scalar) {
    return scalar;
  }
  static Library of(const std::vector<Json>& elements) {
    Library::array_t array;
    array.reserve(elements.size());
    for (const Json& element : elements) array.push_back(library(element));
    return array;
  }
  static Library of(const std::vector<Json::Member>& members) {
    Library::object_t object;
    object.reserve(members.size());
    for (const auto& [name, value] : members) object.emplace_back(name, library(value));
    return object;
  }
};

Json::Json() = default;
Json::Json(std::nullptr_t) {}
Json::Json(bool value) : value_(value) {}
Json::Json(int value) : value_(std::int64_t{value}) {}
Json::Json(long value) : value_(std::int64_t{value}) {}
Json::Json(long long value) : value_(std::int64_t{value}) {}
Json::Json(unsigned value) : value_(std::int64_t{value}) {}
Json::Json(unsigned long value) : Json(static_cast<unsigned long long>(value)) {}
Json::Json(unsigned long long value) {
  if (std::in_range<std::int64_t>(value))
    value_ = static_cast<std::int64_t>(value);
  else
    value_ = std::uint64_t{value};
}
Json::Json(double value) : value_(value) {}
Json::Json(const char* text) : value_(std::string(text)) {}
Json::Json(std::string text) : value_(std::move(text)) {}
Json::Json(std::initializer_list<Member> members) : value_(std::vector<Member>(members)) {}
Json::Json(std::vector<Member> members) : value_(std::move(members)) {}
Json::Json(std::vector<Json> elements) : value_(std::move(elements)) {}
Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

Json Json::object() {
  return Json(std::vector<Member>());
}
Json Json::array() {
  return std::vector<Json>();
}

bool Json::is_null() const {
  return std::holds_alternative<std::nullptr_t>(value_);
}
bool Json::is_number() const {
  return is_integer() || std::holds_alternative<std::uint64_t>(value_) ||
         std::holds_alternative<double>(value_);
}
bool Json::is_integer() const {
  return std::holds_alternative<std::int64_t>(value_);
}
bool Json::is_string() const {
  return std::holds_alternative<std::string>(value_);
}
bool Json::is_array() const {
  return std::holds_alternative<std::vector<Json>>(value_);
}
bool Json::is_object() const {
  return std::holds_alternative<std::vector<Member>>(value_);
}

template <>
bool Json::get() const {
  return as<bool>(value_, "a boolean");
}
template <>
std::int64_t Json::get() const {
  return as<std::int64_t>(value_, "an integer of 64 bits");
}
template <>
double Json::get() const {
  if (const auto* whole = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*whole);
  if (const auto* large = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*large);
  return as<double>(value_, "a number");
}
template <>
std::string Json::get() const {
  return as<std::string>(value_, "a string");
}
template <>
std::vector<std::string> Json::get() const {
  std::vector<std::string> texts;
  for (const Json& element : elements()) texts.push_back(element.get<std::string>());
  return texts;
}

const std::vector<Json>& Json::elements() const {
  return as<std::vector<Json>>(value_, kArray);
}
const std::vector<Json::Member>& Json::members() const {
  return as<std::vector<Member>>(value_, kObject);
}

const Json* Json::find(std::string_view name) const {
  if (const auto* all = std::get_if<std::vector<Member>>(&value_))
    for (const Member& member : *all)
      if (member.name == name) return &member.value;
  return nullptr;
}

const Json& Json::at(std::string_view name) const {
  if (const Json* found = find(name)) return *found;
  throw JsonError("there is no member " + std::string(name));
}

Json& Json::operator[](std::string_view name) {
  auto& all = made<std::vector<Member>>(value_, kObject);
  for (Member& member : all)
    if (member.name == name) return member.value;
  all.push_back({std::string(name), Json()});
  return all.back().value;
}

void Json::push_back(Json element) {
  made<std::vector<Json>>(value_, kArray).push_back(std::move(element));
}

void Json::update(const Json& object) {
  for (const auto& [name, value] : object.members()) (*this)[name] = value;
}

bool Json::operator==(const Json& other) const {
  return value_ == other.value_;
}

std::optional<Json> parse_json(std::string_view text) {
  Builder builder;
  if (text.size() > kMostJson || !Library::sax_parse(text, &builder)) return std::nullopt;
  return builder.result();
}

std::string json_text(const Json& json, int indent) {
  return JsonText::library(json).dump(indent, ' ', false, Library::error_handler_t::replace);
}

std::string json_line(const Json& json) {
  return json_text(json) + "\n";
}

}  // namespace lockstep

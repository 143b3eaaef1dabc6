// JSON values (RFC 8259): what --json prints, lines of metrics, traces and replays.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace lockstep {

// A value is asked for what it is not, or for a member that it does not have.
struct JsonError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Objects keep the order of their members. Nothing but text comes from the library behind it, which
// only json.cpp sees: its header is slow to compile.
class Json {
 public:
  struct Member;  // {name, value}

  Json();  // null, as is a number that is not finite once it is text
  Json(std::nullptr_t);
  Json(bool value);
  Json(int value);
  Json(long value);
  Json(long long value);
  Json(unsigned value);
  Json(unsigned long value);
  Json(unsigned long long value);
  Json(double value);  // a float too: with all digits of its value
  Json(const char* text);
  Json(std::string text);
  Json(std::initializer_list<Member> members);  // {{"out", path}, {"steps", 3}}; names differ
  explicit Json(std::vector<Member> members);   // likewise; explicit: three braces are no value
  Json(std::vector<Json> elements);
  template <class T>
  Json(const std::vector<T>& elements) : Json(array()) {
    for (const T& element : elements) push_back(element);
  }
  template <class T>  // of an object; names differ
  Json(const std::vector<std::pair<std::string, T>>& pairs);
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  static Json object();  // {}
  static Json array();   // []

  bool is_null() const;
  bool is_number() const;
  bool is_integer() const;  // a number without fraction or exponent that std::int64_t holds
  bool is_string() const;
  bool is_array() const;
  bool is_object() const;

  // bool, std::string, std::vector<std::string>, std::int64_t of an integer, double of any number.
  // Throws JsonError for another value.
  template <class T>
  T get() const;

  // Throw JsonError if it is not of that kind.
  const std::vector<Json>& elements() const;
  const std::vector<Member>& members() const;

  const Json* find(std::string_view name) const;  // nullptr: no member has the name
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  const Json& at(std::string_view name) const;  // throws JsonError if there is none

  // Writing makes an object or an array of null, and throws JsonError for any other value.
  Json& operator[](std::string_view name);  // null, behind the other members, if there was none
  void push_back(Json element);
  void update(const Json& object);  // sets each member of `object`

  bool operator==(const Json& other) const;

 private:
  // std::uint64_t: only beyond std::int64_t, so that equal numbers are equal values.
  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string,
               std::vector<Json>, std::vector<Member>>
      value_;

  friend class JsonText;
};

struct Json::Member {
  std::string name;
  Json value;

  bool operator==(const Member& other) const { return name == other.name && value == other.value; }
};

template <class T>
Json::Json(const std::vector<std::pair<std::string, T>>& pairs) {
  std::vector<Member> members;
  members.reserve(pairs.size());
  for (const auto& [name, value] : pairs) members.push_back({name, value});
  *this = Json(std::move(members));
}

template <>
bool Json::get() const;
template <>
std::int64_t Json::get() const;
template <>
double Json::get() const;
template <>
std::string Json::get() const;
template <>
std::vector<std::string> Json::get() const;

// The one way to parse it: anybody may have made it. Nothing for what is no JSON, has more than
// kMostJson bytes, or is deeper than kDeepestJson (core/foreign.h): whoever copies or prints a
// value goes down into it by recursion. Of members with one name, the last counts.
std::optional<Json> parse_json(std::string_view text);

// Bytes of a text that are no UTF-8 (of a path, of a setting) become U+FFFD.
inline constexpr int kOneLine = -1;
std::string json_text(const Json& json, int indent = kOneLine);  // indent: spaces a level
std::string json_line(const Json& json);                         // one line, LF behind it

}  // namespace lockstep

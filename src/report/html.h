// Markup. Text from outside enters a page by `text` or as an attribute's value; both escape it.
// Literals enter by ""_html.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lockstep/core/bytes.h"

namespace lockstep::report {

struct Html {
  std::string markup;

  Html& operator+=(const Html& more) {
    markup += more.markup;
    return *this;
  }
  friend Html operator+(Html a, const Html& b) { return a += b; }
};

inline Html operator""_html(const char* literal, std::size_t size) {
  return {std::string(literal, size)};
}

// Escaped for text and for attributes' values. Bytes that are not UTF-8, control characters except
// line ends, and characters that change the writing direction become U+FFFD.
std::string escaped(std::string_view text);
inline Html text(std::string_view value) {
  return {escaped(value)};
}

using Attributes = std::vector<std::pair<std::string_view, std::string>>;  // values not escaped

// <name attributes>content</name>
Html element(std::string_view name, const Attributes& attributes, const Html& content);
Html element(std::string_view name, const Html& content);
// An element that HTML never closes (img), or an empty one of SVG (path).
Html empty_element(std::string_view name, const Attributes& attributes);

// The first characters, and "…" where there are more.
std::string shortened(std::string_view value, std::size_t most);
// About four significant digits: "0.0012", "1.4e-07", "12340".
std::string brief(double value);
std::string base64(ByteView bytes);

struct Row {
  std::vector<Html> cells;
  bool wrong = false;  // shown in red
};
// A table, in a frame that scrolls on a narrow page. Rows beyond `most` are left out in the middle;
// a row says how many.
Html table(const std::vector<std::string>& heads, const std::vector<Row>& rows,
           std::size_t most = 100);
// Names and values, one below the other.
Html facts(const std::vector<std::pair<std::string, Html>>& pairs);
// A hash or another text for machines.
Html code(std::string_view value);

}  // namespace lockstep::report

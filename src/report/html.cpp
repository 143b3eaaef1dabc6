#include "report/html.h"

#include <array>
#include <charconv>

#include "lockstep/core/text.h"

namespace lockstep::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

unsigned byte_of(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

// Bytes of the character at `at`, and its code point; {1, 0} if it is not UTF-8.
std::pair<std::size_t, std::uint32_t> decode(std::string_view text, std::size_t at) {
  const unsigned lead = byte_of(text, at);
  if (lead < 0x80) return {1, lead};
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || at + size > text.size()) return {1, 0};
  std::uint32_t point = lead & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte_of(text, at + i) & 0xC0) != 0x80) return {1, 0};
    point = point << 6 | (byte_of(text, at + i) & 0x3F);
  }
  const bool shortest = point >= (size == 2 ? 0x80U : size == 3 ? 0x800U : 0x10000U);
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  if (!shortest || surrogate || point > 0x10FFFF) return {1, 0};
  return {size, point};
}

bool is_printable(std::uint32_t point) {
  if (point == '\n' || point == '\t') return true;
  if (point < 0x20 || (point >= 0x7F && point < 0xA0)) return false;
  if ((point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069)) return false;
  if (point == 0x200E || point == 0x200F || point == 0x061C) return false;
  return (point & 0xFFFE) != 0xFFFE && !(point >= 0xFDD0 && point <= 0xFDEF);
}

Html start_tag(std::string_view name, const Attributes& attributes) {
  Html tag{"<" + std::string(name)};
  for (const auto& [key, value] : attributes)
    tag.markup += " " + std::string(key) + "=\"" + escaped(value) + "\"";
  tag.markup += ">";
  return tag;
}

Html row_of(const Row& row) {
  Html cells;
  for (const Html& cell : row.cells) cells += element("td", cell);
  return row.wrong ? element("tr", {{"class", "wrong"}}, cells) : element("tr", cells);
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto [size, point] = decode(text, at);
    switch (point) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += is_printable(point) ? text.substr(at, size) : kReplacement;
    }
    at += size;
  }
  return out;
}

Html element(std::string_view name, const Attributes& attributes, const Html& content) {
  return start_tag(name, attributes) + content + Html{"</" + std::string(name) + ">"};
}

Html element(std::string_view name, const Html& content) {
  return element(name, {}, content);
}

Html empty_element(std::string_view name, const Attributes& attributes) {
  Html tag = start_tag(name, attributes);
  tag.markup.insert(tag.markup.size() - 1, "/");
  return tag;
}

std::string shortened(std::string_view value, std::size_t most) {
  if (value.size() <= most) return std::string(value);
  std::size_t size = most;
  while (size > 0 && (byte_of(value, size) & 0xC0) == 0x80) --size;  // no half character
  return std::string(value.substr(0, size)) + "…";
}

std::string brief(double value) {
  if (value != value) return "NaN";
  const bool whole =
      value > -1e9 && value < 1e9 && static_cast<double>(static_cast<std::int64_t>(value)) == value;
  if (whole) return std::to_string(static_cast<std::int64_t>(value));
  if ((value >= 1000 && value < 1e7) || (value <= -1000 && value > -1e7)) return fixed(value, 0);
  std::array<char, 64> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::general, 4)
                       .ptr;
  return {buffer.data(), end};
}

std::string base64(ByteView bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    const std::size_t have = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8 | (j < have ? std::to_integer<std::uint32_t>(bytes[i + j]) : 0U);
    for (std::size_t j = 0; j < 4; ++j)
      out += j <= have ? kDigits[group >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

Html table(const std::vector<std::string>& heads, const std::vector<Row>& rows, std::size_t most) {
  Html head, body;
  for (const std::string& name : heads) head += element("th", {{"scope", "col"}}, text(name));
  const std::size_t left_out = rows.size() > most ? rows.size() - most : 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (left_out > 0 && i == most / 2) {
      body += element("tr", element("td", {{"colspan", std::to_string(heads.size())}},
                                    text("… " + std::to_string(left_out) + " not shown …")));
      i += left_out;
    }
    body += row_of(rows[i]);
  }
  const Html whole =
      element("table", element("thead", element("tr", head)) + element("tbody", body));
  return element("div", {{"class", "table"}, {"tabindex", "0"}}, whole) + "\n"_html;
}

Html facts(const std::vector<std::pair<std::string, Html>>& pairs) {
  Html list;
  for (const auto& [name, value] : pairs)
    list += element("dt", text(name)) + element("dd", value) + "\n"_html;
  return element("dl", list) + "\n"_html;
}

Html code(std::string_view value) {
  return element("code", text(value));
}

}  // namespace lockstep::report

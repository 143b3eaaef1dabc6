#include "npy.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "lockstep/core/error.h"
#include "lockstep/core/text.h"

namespace lockstep::data {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kMagic = "\x93NUMPY"sv;
constexpr std::size_t kMostHeader = 65536;  // bytes
constexpr std::size_t kMostDimensions = 32;

[[noreturn]] void refuse(const std::string& what, const std::string& hint = "") {
  throw Error(Code::kData, what, hint);
}

// The header is the text of a Python dictionary of three keys.
class Header {
 public:
  explicit Header(std::string_view text) : rest_(text) {}

  NpyHead read() {
    NpyHead array;
    expect('{');
    while (!skip('}')) {
      const std::string_view key = word();
      expect(':');
      if (!known_.insert(std::string(key)).second) damaged();
      if (key == "descr")
        array.type = word();
      else if (key == "shape")
        array.shape = sizes();
      else if (key == "fortran_order")
        require_rows_first();
      else
        damaged();
      if (!skip(',')) {
        expect('}');
        break;
      }
    }
    if (known_.size() != 3 || array.type.empty()) damaged();
    return array;
  }

 private:
  [[noreturn]] static void damaged() { refuse("its header is not NumPy's"); }

  char next() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
    return rest_.empty() ? '\0' : rest_.front();
  }

  bool skip(char c) {
    if (next() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!skip(c)) damaged();
  }

  std::string_view word() {
    if (next() == '[')
      refuse("its elements are records",
             "save an array of uint8 (pictures) or float32 (fields, signals)");
    const char quote = next();
    if (quote != '\'' && quote != '"') damaged();
    rest_.remove_prefix(1);
    const std::size_t end = rest_.find(quote);
    if (end == std::string_view::npos) damaged();
    const std::string_view found = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return found;
  }

  std::vector<std::int64_t> sizes() {
    std::vector<std::int64_t> found;
    expect('(');
    while (!skip(')')) {
      next();
      const std::size_t end = std::min(rest_.find_first_of(" ,)"), rest_.size());
      const auto size = parse_int(rest_.substr(0, end));
      if (!size || *size < 0 || found.size() == kMostDimensions) damaged();
      found.push_back(*size);
      rest_.remove_prefix(end);
      if (!skip(',')) {
        expect(')');
        break;
      }
    }
    return found;
  }

  void require_rows_first() {
    next();
    if (rest_.starts_with("True"))
      refuse("it is in Fortran's order", "save numpy.ascontiguousarray(…) of it");
    if (!rest_.starts_with("False")) damaged();
    rest_.remove_prefix("False"sv.size());
  }

  std::string_view rest_;
  std::set<std::string> known_;  // keys: each stands there once
};

// Bytes of an element; "<i8": order, kind, bytes.
std::uint64_t element_bytes(const std::string& type) {
  const bool known = type.size() == 3 && "<>|"sv.find(type[0]) != std::string_view::npos &&
                     "iufb"sv.find(type[1]) != std::string_view::npos &&
                     "1248"sv.find(type[2]) != std::string_view::npos;
  if (!known)
    refuse(
        "its type is " + type,
        "save an array of uint8 (pictures) or float32 (fields, signals), labels as whole numbers");
  return static_cast<std::uint64_t>(type[2] - '0');
}

std::uint64_t bytes_of_values(const NpyHead& array, std::uint64_t most) {
  std::uint64_t bytes = element_bytes(array.type);
  if (std::ranges::find(array.shape, 0) != array.shape.end()) return 0;
  for (const std::int64_t side : array.shape) {
    const auto size = static_cast<std::uint64_t>(side);
    if (bytes > most / size) return most + 1;
    bytes *= size;
  }
  return bytes;
}

}  // namespace

NpyHead parse_npy_head(std::span<const std::uint8_t> first, std::uint64_t size) {
  const std::string_view text(reinterpret_cast<const char*>(first.data()), first.size());
  if (!text.starts_with(kMagic) || text.size() < 12) refuse("it is no array of NumPy's");
  const int version = first[6];
  if ((version != 1 && version != 2) || first[7] != 0)
    refuse("it has NumPy's format " + std::to_string(version) + "." + std::to_string(first[7]),
           "only formats 1.0 and 2.0 are read: save it again with numpy.save");
  const std::size_t begin = version == 1 ? 10 : 12;
  std::uint64_t length = 0;
  for (std::size_t i = begin; i-- > 8;) length = length << 8 | first[i];
  if (length > kMostHeader || length > first.size() - begin) refuse("its header is cut off");
  NpyHead array = Header(text.substr(begin, length)).read();
  array.begin = begin + length;
  const std::uint64_t there = size - array.begin;
  const std::uint64_t wanted = bytes_of_values(array, there);
  if (wanted != there)
    refuse("it has " + std::string(wanted > there ? "fewer" : "more") +
           " values than its header says: it is damaged");
  return array;
}

NpyArray parse_npy(std::vector<std::uint8_t> file) {
  NpyArray array{parse_npy_head(file, file.size()), {}};
  file.erase(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(array.begin));
  array.values = std::move(file);
  return array;
}

std::optional<std::int64_t> integer_at(const NpyArray& array, std::int64_t i) {
  LOCKSTEP_ASSERT(array.type[1] == 'i' || array.type[1] == 'u', array.type);
  const std::uint64_t bytes = element_bytes(array.type);
  const std::uint8_t* value = array.values.data() + static_cast<std::uint64_t>(i) * bytes;
  std::uint64_t bits = 0;
  for (std::uint64_t k = 0; k < bytes; ++k)
    bits = bits << 8 | value[array.type[0] == '>' ? k : bytes - 1 - k];
  const bool top = bits >> (8 * bytes - 1) != 0;
  if (top && (array.type[1] == 'i' || bytes == 8)) return std::nullopt;
  return static_cast<std::int64_t>(bits);
}

}  // namespace lockstep::data

// Reads metadata of an HDF5 file's bytes from left to right, never beyond their end.
#pragma once

#include <string>
#include <string_view>

#include "hdf5/parse.h"

namespace lockstep::hdf5 {

[[noreturn]] inline void reject(const std::string& what) {
  throw Refusal{what};
}

[[noreturn]] inline void reject_form(const std::string& where, const std::string& what) {
  reject(where + ": " + what + " of a form that this program does not write");
}

// Bytes from left to right; `where` is for messages.
class Scanner {
 public:
  Scanner(ByteView bytes, const std::string& where) : rest_(bytes), where_(where) {}

  std::size_t left() const { return rest_.size(); }
  ByteView take(std::uint64_t n) {
    if (n > rest_.size()) reject_form(where_, "metadata");
    const ByteView taken = rest_.first(n);
    rest_ = rest_.subspan(n);
    return taken;
  }
  std::uint64_t number(std::size_t width) {
    std::uint64_t value = 0;
    const ByteView bytes = take(width);
    for (std::size_t i = width; i-- > 0;)
      value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
    return value;
  }
  std::string text(std::uint64_t n) {
    const ByteView bytes = take(n);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  void expect(std::string_view literal) {
    if (text(literal.size()) != literal) reject_form(where_, "metadata");
  }
  void expect(std::uint64_t value, std::size_t width, const char* what) {
    if (number(width) != value) reject_form(where_, what);
  }

 private:
  ByteView rest_;
  const std::string& where_;
};

}  // namespace lockstep::hdf5

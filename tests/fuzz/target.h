// What every fuzz target uses. A target is one file with LLVMFuzzerTestOneInput: given any bytes as
// what a stranger sent, a reader must accept them or refuse them as documented, and what it accepts
// must have the properties that the target requires.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>

#include "lockstep/core/bytes.h"
#include "lockstep/core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace lockstep::fuzz {

inline void require(bool holds, const char* what, const char* file, int line) {
  if (holds) return;
  std::fprintf(stderr, "%s:%d: it does not hold that %s\n", file, line, what);
  std::abort();
}
#define FUZZ_REQUIRE(expression) \
  ::lockstep::fuzz::require(expression, #expression, __FILE__, __LINE__)

// Runs `body` and says whether it accepted. A refusal is one line with one of these codes.
template <class Body>
bool accepts(std::initializer_list<Code> refusals, Body&& body) {
  try {
    body();
    return true;
  } catch (const Error& error) {
    if (std::find(refusals.begin(), refusals.end(), error.code()) == refusals.end()) {
      std::fprintf(stderr, "refused with code %d: %s\n", static_cast<int>(error.code()),
                   error.what());
      std::abort();
    }
    FUZZ_REQUIRE(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

inline ByteView view(const std::uint8_t* data, std::size_t size) {
  return std::as_bytes(std::span(data, size));
}
inline std::string text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}
inline bool same(ByteView a, ByteView b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// For readers that take a path: one file of this process, written anew for each input.
class InputFile {
 public:
  explicit InputFile(const std::string& suffix = {})
      : path_(std::filesystem::temp_directory_path() /
              ("lockstep-fuzz-" + std::to_string(::getpid()) + suffix)) {}
  ~InputFile() { std::filesystem::remove(path_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void write(std::string_view bytes) const {
    std::ofstream out(path_, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    FUZZ_REQUIRE(out.flush().good());
  }

 private:
  std::filesystem::path path_;
};

}  // namespace lockstep::fuzz

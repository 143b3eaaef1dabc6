// Shared by the tests of data: files that go away by themselves, IDX by hand, the text of an error.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/data/images.h"

namespace lockstep::data {

class TempPath {
 public:
  explicit TempPath(const std::string& suffix = "") {
    static std::atomic<int> next{0};
    path_ = std::filesystem::path(testing::TempDir()) /
            ("lockstep-data-" + std::to_string(getpid()) + "-" + std::to_string(next++) + suffix);
  }
  ~TempPath() { std::filesystem::remove_all(path_); }
  TempPath(const TempPath&) = delete;
  TempPath& operator=(const TempPath&) = delete;
  const std::filesystem::path& operator*() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string file_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Pixels that differ from each other and from image to image.
inline std::vector<std::uint8_t> some_pixels(const ImageShape& s, std::uint32_t seed = 1) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(s.n * s.image_bytes()));
  for (auto& p : pixels) {
    seed = seed * 1664525 + 1013904223;
    p = static_cast<std::uint8_t>(seed >> 24);
  }
  return pixels;
}

inline std::string idx_header(const std::vector<std::uint32_t>& sizes, char type = 8) {
  std::string out{'\0', '\0', type, static_cast<char>(sizes.size())};
  for (const std::uint32_t size : sizes) {
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(size >> shift & 0xff);
  }
  return out;
}

inline std::string idx_text(const ImageShape& s, const std::vector<std::uint8_t>& pixels) {
  std::vector<std::uint32_t> sizes;
  for (const std::int64_t size : {s.n, s.h, s.w}) sizes.push_back(static_cast<std::uint32_t>(size));
  if (s.c != 1) sizes.push_back(static_cast<std::uint32_t>(s.c));
  return idx_header(sizes) + std::string(pixels.begin(), pixels.end());
}

inline std::string gzip(const std::string& text) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&z, text.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

// Runs `body`, which must throw Error of this code, and returns its line.
template <class Body>
std::string error_line(Code code, Body&& body) {
  try {
    body();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << "one line: " << e.what();
    return e.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

}  // namespace lockstep::data

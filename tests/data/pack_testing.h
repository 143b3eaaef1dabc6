// Shared by the tests of packs.
#pragma once

#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <string>

#include "lockstep/data/pack.h"
#include "support.h"

namespace lockstep::data {

inline constexpr ImageShape kShape{11, 8, 7, 3};

inline std::string packed_text(const Images& images, const Labels& labels = {},
                               const ClassNames& classes = {}) {
  const TempPath path(".h5");
  write_pack(*path, images, labels, classes);
  return file_text(*path);
}

inline const Images& some_images() {
  static const Images images(kShape, some_pixels(kShape));
  return images;
}

// Bytes that stand in the file once.
inline std::size_t place_of(const std::string& bytes, const std::string& text) {
  const std::size_t at = text.find(bytes);
  EXPECT_NE(at, std::string::npos);
  EXPECT_EQ(text.find(bytes, at + 1), std::string::npos);
  return at;
}

inline std::string refusal(const std::string& bytes) {
  const TempPath path(".h5");
  write_file(*path, bytes);
  const std::string line = error_line(Code::kData, [&] { read_pack(*path); });
  EXPECT_NE(line.find((*path).string()), std::string::npos) << line;
  return line;
}

inline std::string seen_by_h5py(const std::filesystem::path& pack) {
  const TempPath out;
  const std::string command = std::string(LOCKSTEP_PYTHON) + " -I " LOCKSTEP_READ_PACK " " +
                              pack.string() + " > " + (*out).string();
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return file_text(*out);
}

// In a property.
inline void refuse_any_changed_byte(std::string text) {
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  text[at] = static_cast<char>(text[at] ^ *rc::gen::inRange(1, 256));
  refusal(text);
}

}  // namespace lockstep::data

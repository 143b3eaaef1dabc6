#include "lockstep/core/foreign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/temporary_folder.h"

namespace lockstep {
namespace {

namespace stdfs = std::filesystem;
using lockstep::testing::TemporaryFolder;
using ::testing::HasSubstr;

constexpr std::uint64_t kGiant = std::uint64_t{1} << 42;  // more than there is memory for

std::string refusal(Code code, const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "nothing was thrown";
}

class Foreign : public ::testing::Test {
 protected:
  // `text`, and zeros behind it that lie on no disk.
  void put(const std::string& text, std::uint64_t size) {
    publish(fs, path, as_bytes(text));
    std::error_code error;
    stdfs::resize_file(path, size, error);
    if (error) GTEST_SKIP() << "NOT PROVED: no sparse file of this size here";
  }

  const TemporaryFolder folder;
  const stdfs::path path = folder.path() / "file";
  FileSystem& fs = real_file_system();
};

TEST_F(Foreign, AFileIsReadUpToItsLimit) {
  put("12345", 5);
  EXPECT_EQ(read_text(fs, path, 5), "12345");
  EXPECT_EQ(refusal(Code::kUsage, [&] { read_text(fs, path, 4, Code::kUsage); }),
            path.string() + " is larger than 4.0 B");
}

TEST_F(Foreign, AGiantIsRefusedUnread) {
  put("text", kGiant);
  for (const auto& read : {+[](FileSystem&f, const stdfs::path&p) { read_file(f, p); },
                           +[](FileSystem&f, const stdfs::path&p) { read_text(f, p); },
                           +[](FileSystem&f, const stdfs::path&p) { read_lines(f, p); }})
    EXPECT_THAT(refusal(Code::kCorrupt, [&] { read(fs, path); }), HasSubstr(path.string()));
#ifndef __SANITIZE_ADDRESS__  // it ends the program where memory does not suffice
  EXPECT_THAT(refusal(Code::kEnvironment, [&] { read_file(fs, path, kGiant); }),
              HasSubstr(path.string() + ": its 4.0 TiB do not fit into memory"));
#endif
}

TEST_F(Foreign, LinesMayBeManyButNotLong) {
  std::string text;
  while (text.size() < 3 * kLongestLine) text.append(1000, 'x') += '\n';
  put(text, text.size());
  EXPECT_EQ(read_lines(fs, path), text);
  EXPECT_EQ(read_lines(fs, path, 1000), text);
  EXPECT_EQ(refusal(Code::kCorrupt, [&] { read_lines(fs, path, 999); }),
            path.string() + ":1: the line is longer than 999.0 B");
  const std::size_t lines = text.size() / 1001;
  put(text, text.size() + kLongestLine);
  EXPECT_EQ(read_lines(fs, path).size(), text.size() + kLongestLine);  // what power loss may leave
  put(text, text.size() + kLongestLine + 1);
  EXPECT_EQ(refusal(Code::kCorrupt, [&] { read_lines(fs, path); }),
            path.string() + ":" + std::to_string(lines + 1) + ": the line is longer than 1.0 MiB");
}

}  // namespace
}  // namespace lockstep

// Run with tests/support/faulty_calls.cpp preloaded: every read and write of the kernel is cut
// short or interrupted.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "lockstep/core/error.h"
#include "lockstep/core/file_system.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

using lockstep::testing::TemporaryFolder;

std::string some_text(std::size_t n) {
  std::string text;
  for (std::size_t i = 0; i < n; ++i) text += static_cast<char>('a' + i * i % 23);
  return text;
}

// The control: without this the others prove nothing.
TEST(ShortIo, ReallyHappens) {
  const TemporaryFolder folder;
  const int fd = ::open((folder.path() / "file").c_str(), O_RDWR | O_CREAT, 0600);
  int halves = 0, interruptions = 0;
  for (int i = 0; i < 30; ++i) {
    const ssize_t n = ::write(fd, "0123456789", 10);
    halves += n == 5;
    interruptions += n < 0 && errno == EINTR;
  }
  ::close(fd);
  EXPECT_EQ(halves, 20);
  EXPECT_EQ(interruptions, 10);
}

TEST(ShortIo, LosesNothing) {
  FileSystem& fs = real_file_system();
  const TemporaryFolder folder;
  for (const std::size_t size : {0u, 1u, 2u, 3u, 1000u, 70'001u}) {
    const auto path = folder.path() / std::to_string(size);
    publish(fs, path, as_bytes(some_text(size)));
    EXPECT_EQ(read_text(fs, path), some_text(size));
    const auto file = fs.create_new(path.string() + ".other");
    file->append(as_bytes(some_text(size)));
    Bytes back(size + 20);
    EXPECT_EQ(file->read_at(0, back), size);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(back.data()), size), some_text(size));
    fs.open_append(path)->append(as_bytes("tail"));
    EXPECT_EQ(read_text(fs, path), some_text(size) + "tail");
  }
}

TEST(ShortIo, AListOfAFolderIsWholeOrAnError) {
  FileSystem& fs = real_file_system();
  const TemporaryFolder folder;
  const auto mark = folder.path() / "mark";
  for (const char* name : {"a", "b", "c"}) fs.create_new(folder.path() / name);
  ::setenv("FAULT_CALL", "readdir", 1);
  ::setenv("FAULT_ERRNO", std::to_string(EIO).c_str(), 1);
  ::setenv("FAULT_MARK", mark.c_str(), 1);
  static int calls = 0;  // that were counted before, where tests are repeated
  ::setenv("FAULT_AT", std::to_string(calls += 3).c_str(), 1);
  EXPECT_THROW(fs.list(folder.path()), Error);
  ::unsetenv("FAULT_CALL");
  EXPECT_TRUE(fs.exists(mark)) << "the control: no call failed";
  EXPECT_EQ(fs.list(folder.path()).size(), 4U);
}

}  // namespace
}  // namespace lockstep

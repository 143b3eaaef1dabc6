// Several writers of one file, and things planted where a file of ours is expected.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "lockstep/core/file_system.h"
#include "lockstep/core/log.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

namespace stdfs = std::filesystem;
using lockstep::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

FileSystem& real() {
  return real_file_system();
}

// What an Error says, or nothing.
std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kEnvironment);
    return error.what();
  }
  return {};
}

TEST(Writers, TheSecondAtTheSameTimeIsToldAndChangesNothing) {
  const TemporaryFolder folder;
  const stdfs::path path = folder.path() / "file";
  std::string second;
  publish(real(), path, [&](File& file) {
    file.append(as_bytes("first, "));
    second = refusal([&] { publish(real(), path, as_bytes("second")); });
    file.append(as_bytes("whole"));
  });
  EXPECT_THAT(second, HasSubstr("another process is writing " + path.string()));
  EXPECT_EQ(read_text(real(), path), "first, whole");
  EXPECT_THAT(real().list(folder.path()), ElementsAre("file"));
}

[[noreturn]] void publish_for_ever(const stdfs::path& path, char letter) {
  while (true) {
    try {
      publish(real(), path, as_bytes(std::string(300'000, letter)));
    } catch (const Error& error) {
      if (std::string(error.what()).find("another process") == std::string::npos) ::_exit(1);
    }
  }
}

// Whatever the moments, the file is always one writer's, whole.
TEST(Writers, ProcessesThatRaceLeaveOneWholeFile) {
  const TemporaryFolder folder;
  const stdfs::path path = folder.path() / "file";
  publish(real(), path, as_bytes(std::string(300'000, 'a')));
  std::vector<pid_t> children;
  for (const char letter : {'a', 'b', 'c', 'd'}) {
    children.push_back(::fork());
    ASSERT_GE(children.back(), 0);
    if (children.back() == 0) publish_for_ever(path, letter);
  }
  std::string seen;
  const double until = monotonic_seconds() + 300;  // for a disk that stalls
  for (int i = 0; i < 3000 || (seen.size() < 2 && monotonic_seconds() < until); ++i) {
    const std::string text = read_text(real(), path);
    ASSERT_EQ(text.size(), 300'000u) << "an incomplete file got its name";
    ASSERT_EQ(text.find_first_not_of(text[0]), std::string::npos)
        << "two writers' bytes in one file";
    if (seen.find(text[0]) == std::string::npos) seen += text[0];
  }
  EXPECT_GT(seen.size(), 1u) << "only one writer ever won: no race";
  for (const pid_t child : children) {
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status)) << "a writer failed for another reason";
  }
  publish(real(), path, as_bytes("after"));  // what the killed ones left is in nobody's way
  sweep(real(), folder.path());
  EXPECT_THAT(real().list(folder.path()), ElementsAre("file"));
}

TEST(Sweep, RemovesAbandonedTemporariesAndNothingElse) {
  const TemporaryFolder folder;
  for (const char* name : {"a.h5", "a.h5.lockstep.tmp", "b.lockstep.tmp", "notes"})
    std::ofstream(folder.path() / name) << name;
  stdfs::create_symlink(folder.path() / "notes", folder.path() / "link.lockstep.tmp");
  const auto alive = real().create_new(folder.path() / "alive.lockstep.tmp");
  sweep(real(), folder.path());
  EXPECT_THAT(real().list(folder.path()), ElementsAre("a.h5", "alive.lockstep.tmp", "notes"));
  EXPECT_NO_THROW(sweep(real(), folder.path() / "nothing"));
}

TEST(Planted, ASecondNameOfAnotherFileIsNotWrittenThrough) {
  const TemporaryFolder folder;
  const stdfs::path victim = folder.path() / "victim";
  publish(real(), victim, as_bytes("precious"));
  for (const char* name : {"file", "file.lockstep.tmp", "log"})
    stdfs::create_hard_link(victim, folder.path() / name);
  publish(real(), folder.path() / "file", as_bytes("new"));
  EXPECT_THAT(refusal([&] { real().open_append(folder.path() / "log")->append(as_bytes("x")); }),
              HasSubstr("hard link"));
  EXPECT_THAT(refusal([&] { log::open_file(folder.path() / "log"); }), HasSubstr("hard link"));
  EXPECT_EQ(read_text(real(), victim), "precious");
  EXPECT_EQ(read_text(real(), folder.path() / "file"), "new");
}

TEST(Planted, ALogIsNotWrittenThroughALink) {
  const TemporaryFolder folder;
  const stdfs::path victim = folder.path() / "victim", link = folder.path() / "log.txt";
  publish(real(), victim, as_bytes("precious"));
  stdfs::create_symlink(victim, link);
  EXPECT_THAT(refusal([&] { log::open_file(link); }), HasSubstr(link.string()));
  log::info("a line");
  log::close_file();
  EXPECT_EQ(read_text(real(), victim), "precious");
}

// Opening a FIFO would wait for somebody at its other end, for ever.
TEST(Planted, AFifoIsRefusedAndNotWaitedFor) {
  const TemporaryFolder folder;
  const stdfs::path path = folder.path() / "file";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(refusal([&] { read_file(real(), path); }), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal([&] { publish(real(), path, as_bytes("new")); }),
              HasSubstr("not a regular file"));
  ASSERT_EQ(::unlink(path.c_str()), 0);
  ASSERT_EQ(::mkfifo((path.string() + ".lockstep.tmp").c_str(), 0600), 0);
  EXPECT_THAT(refusal([&] { publish(real(), path, as_bytes("new")); }), HasSubstr("move it away"));
}

TEST(Planted, ALinkInAFoldersPlaceIsRefused) {
  const TemporaryFolder folder;
  stdfs::create_directory(folder.path() / "elsewhere");
  const stdfs::path link = folder.path() / "link";
  stdfs::create_directory_symlink(folder.path() / "elsewhere", link);
  EXPECT_THAT(refusal([&] { make_folder(real(), link); }), HasSubstr("symbolic link"));
  EXPECT_NO_THROW(make_folders(real(), link));  // the user may name a run by a link
  std::ofstream(folder.path() / "file");
  EXPECT_THAT(refusal([&] { make_folder(real(), folder.path() / "file"); }), HasSubstr("file"));
  EXPECT_THAT(refusal([&] { make_folders(real(), folder.path() / "file" / "a" / "b"); }),
              HasSubstr("file"));
}

// A process that is stopped in the middle holds its temporary file; killed, it does not.
TEST(Writers, WaitForNobodyAndAreHeldUpByNoDeadOne) {
  const TemporaryFolder folder;
  const stdfs::path path = folder.path() / "file";
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    publish(real(), path, [&](File& file) {
      file.append(as_bytes("half"));
      if (::write(ready[1], "x", 1) != 1) ::_exit(1);
      ::pause();
    });
    ::_exit(1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_THAT(refusal([&] { publish(real(), path, as_bytes("mine")); }),
              HasSubstr("another process is writing"));
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ::close(ready[0]);
  ::close(ready[1]);
  publish(real(), path, as_bytes("mine"));
  EXPECT_EQ(read_text(real(), path), "mine");
  EXPECT_THAT(real().list(folder.path()), ElementsAre("file"));
}

TEST(MakeFolders, MakesWhatIsMissingAndIsFineWithWhatIsThere) {
  const TemporaryFolder folder;
  for (int i = 0; i < 2; ++i) make_folders(real(), folder.path() / "a" / "b" / "c");
  EXPECT_TRUE(stdfs::is_directory(folder.path() / "a" / "b" / "c"));
}

}  // namespace
}  // namespace lockstep

#include "lockstep/core/file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "lockstep/core/error.h"
#include "support/faulty_file_system.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

namespace stdfs = std::filesystem;
using lockstep::testing::FaultyFileSystem;
using lockstep::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

FileSystem& real() {
  return real_file_system();
}

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kEnvironment) << error.what();
    return error.what();
  }
  return "nothing was thrown";
}

// Every state that one failure, or a disk that stays full, can leave behind `publish`.
void publish_with_failures(bool had_old, FaultyFileSystem::After after) {
  const std::string old_text = "the old content", new_text(100'000, 'n');
  for (int n = 1;; ++n) {
    const TemporaryFolder folder;
    const stdfs::path path = folder.path() / "file";
    if (had_old) publish(real(), path, as_bytes(old_text));
    FaultyFileSystem fs(real(), n, after);
    std::string what;
    try {
      publish(fs, path, as_bytes(new_text));
    } catch (const Error& error) {
      what = error.what();
    }
    EXPECT_EQ(what.empty(), !fs.failed()) << "a failure at call " << n << " was swallowed";
    const bool there = real().exists(path);
    const std::string text = there ? read_text(real(), path) : "";
    EXPECT_TRUE(text == new_text || (had_old ? text == old_text : !there)) << n << " " << what;
    if (!fs.removal_failed()) {
      EXPECT_EQ(real().list(folder.path()).size(), there ? 1u : 0u) << n << " " << what;
    }
    // Whatever was left does not stand in the way of the next attempt.
    publish(real(), path, as_bytes(new_text));
    EXPECT_EQ(read_text(real(), path), new_text);
    EXPECT_THAT(real().list(folder.path()), ElementsAre("file"));
    if (!fs.failed()) {
      EXPECT_GT(n, 5);
      return;
    }
  }
}

TEST(Publish, LeavesOldOrNewContentWhereverOneCallFails) {
  publish_with_failures(true, FaultyFileSystem::After::kRecovers);
  publish_with_failures(false, FaultyFileSystem::After::kRecovers);
}

TEST(Publish, LeavesOldOrNewContentWhereverTheDiskBreaksForGood) {
  publish_with_failures(true, FaultyFileSystem::After::kStaysBroken);
  publish_with_failures(false, FaultyFileSystem::After::kStaysBroken);
}

TEST(Publish, SyncsBeforeTheFileGetsItsNameAndTheFolderAfter) {
  const TemporaryFolder folder;
  FaultyFileSystem fs(real(), FaultyFileSystem::kNever);
  publish(fs, folder.path() / "file", as_bytes("text"));
  EXPECT_THAT(fs.calls(),
              ElementsAre("remove file.lockstep.tmp", "create file.lockstep.tmp",
                          "write file.lockstep.tmp", "sync file.lockstep.tmp",
                          "rename file.lockstep.tmp", "sync " + folder.path().filename().string()));
}

TEST(Publish, NeverSyncsAFileAgainWhoseSyncFailed) {
  const TemporaryFolder folder;
  const stdfs::path path = folder.path() / "file";
  FaultyFileSystem fs(real(), 4, FaultyFileSystem::After::kRecovers, EIO);
  EXPECT_THAT(message_of([&] { publish(fs, path, as_bytes("text")); }),
              HasSubstr("cannot sync " + path.string() + ".lockstep.tmp: Input/output error"));
  publish(fs, path, as_bytes("text"));
  EXPECT_THAT(
      fs.calls(),
      ElementsAre("remove file.lockstep.tmp", "create file.lockstep.tmp", "write file.lockstep.tmp",
                  "sync file.lockstep.tmp", "remove file.lockstep.tmp", "remove file.lockstep.tmp",
                  "create file.lockstep.tmp", "write file.lockstep.tmp", "sync file.lockstep.tmp",
                  "rename file.lockstep.tmp", "sync " + folder.path().filename().string()));
}

TEST(Publish, TellsTheFirstReasonWhenCleaningUpFailsToo) {
  const TemporaryFolder folder;
  // Calls: remove, create, append; the write and the removal after it both fail.
  FaultyFileSystem fs(real(), 3, FaultyFileSystem::After::kStaysBroken);
  EXPECT_THAT(message_of([&] { publish(fs, folder.path() / "file", as_bytes("text")); }),
              HasSubstr("cannot write"));
}

TEST(Publish, DoesNotFollowALinkPlantedAtItsTemporaryName) {
  const TemporaryFolder folder;
  const stdfs::path victim = folder.path() / "victim", path = folder.path() / "file";
  publish(real(), victim, as_bytes("precious"));
  stdfs::create_symlink(victim, path.string() + ".lockstep.tmp");
  publish(real(), path, as_bytes("new"));
  EXPECT_EQ(read_text(real(), victim), "precious");
  EXPECT_EQ(read_text(real(), path), "new");
  EXPECT_FALSE(stdfs::is_symlink(path));
}

TEST(Publish, ReplacesALinkAtItsNameAndNotWhatItPointsTo) {
  const TemporaryFolder folder;
  const stdfs::path victim = folder.path() / "victim", path = folder.path() / "file";
  publish(real(), victim, as_bytes("precious"));
  stdfs::create_symlink(victim, path);
  publish(real(), path, as_bytes("new"));
  EXPECT_EQ(read_text(real(), victim), "precious");
  EXPECT_FALSE(stdfs::is_symlink(path));
}

TEST(FileSystem, OpensNoLinksAndCreatesNothingTwice) {
  const TemporaryFolder folder;
  const stdfs::path file = folder.path() / "file", link = folder.path() / "link";
  publish(real(), file, as_bytes("text"));
  stdfs::create_symlink(file, link);
  EXPECT_THROW(real().open_read(link), Error);
  EXPECT_THROW(real().create_new(link), Error);
  EXPECT_THROW(real().open_append(link), Error);
  EXPECT_THROW(real().create_new(file), Error);
  EXPECT_EQ(read_text(real(), file), "text");
}

TEST(FileSystem, AFileOfLinesLosesTheLineThatWasCutShort) {
  const TemporaryFolder folder;
  const stdfs::path path = folder.path() / "lines";
  const auto after = [&](const std::string& there) {
    publish(real(), path, as_bytes(there));
    open_lines(real(), path)->append(as_bytes("c\n"));
    return read_text(real(), path);
  };
  EXPECT_EQ(after("a\nb\n"), "a\nb\nc\n");
  EXPECT_EQ(after("a\nb"), "a\nc\n");
  EXPECT_EQ(after("a"), "c\n");
  EXPECT_EQ(after(""), "c\n");
  EXPECT_EQ(after("a\n" + std::string(200'000, 'b')), "a\nc\n");
  real().remove(path);
  open_lines(real(), path)->append(as_bytes("c\n"));
  EXPECT_EQ(read_text(real(), path), "c\n");
}

TEST(FileSystem, ListsNamesByByte) {
  const TemporaryFolder folder;
  for (const char* name : {"b", "B", "a10", "a9", "\xc3\xa4", "_"})
    publish(real(), folder.path() / name, ByteView{});
  EXPECT_THAT(real().list(folder.path()), ElementsAre("B", "_", "a10", "a9", "b", "\xc3\xa4"));
}

TEST(FileSystem, ErrorsNameThePathAndTheReason) {
  const TemporaryFolder folder;
  const stdfs::path missing = folder.path() / "missing";
  EXPECT_THAT(message_of([&] { real().open_read(missing); }),
              ::testing::AllOf(HasSubstr(missing.string()), HasSubstr("No such file")));
  EXPECT_THAT(message_of([&] { real().list(missing); }), HasSubstr(missing.string()));
  EXPECT_THAT(message_of([&] { publish(real(), missing / "file", ByteView{}); }),
              HasSubstr(missing.string()));
  EXPECT_THAT(message_of([&] { read_file(real(), folder.path()); }),
              HasSubstr(folder.path().string()));
  EXPECT_NO_THROW(real().remove(missing));
  EXPECT_FALSE(real().exists(missing));
  EXPECT_FALSE(real().exists(missing / "below"));
}

TEST(FileSystem, AppendsAndReads) {
  const TemporaryFolder folder;
  const stdfs::path path = folder.path() / "log";
  real().open_append(path)->append(as_bytes("one\n"));
  const auto file = real().open_append(path);
  file->append(as_bytes("two\n"));
  EXPECT_EQ(file->size(), 8u);
  Bytes tail(10);
  EXPECT_EQ(file->read_at(5, tail), 3u);
  file->sync();
  EXPECT_EQ(read_text(real(), path), "one\ntwo\n");
}

TEST(FileSystem, SaysWhenTheDiskIsFull) {
  if (!stdfs::exists("/dev/full")) GTEST_SKIP() << "NOT PROVED: no /dev/full here";
  EXPECT_THAT(message_of([] { real().open_append("/dev/full")->append(as_bytes("x")); }),
              ::testing::AllOf(HasSubstr("/dev/full"), HasSubstr("No space left"),
                               HasSubstr("free some space")));
}

// Whoever publishes without asking, as a run does in its own folder.
TEST(Publish, PutsNothingInThePlaceOfWhatIsNoFile) {
  const TemporaryFolder folder;
  const stdfs::path fifo = folder.path() / "fifo", inner = folder.path() / "inner";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  stdfs::create_directory(inner);
  for (const stdfs::path& path : {fifo, inner}) {
    try {
      publish(real_file_system(), path, as_bytes("new"));
      FAIL() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kEnvironment);
      EXPECT_THAT(error.what(), HasSubstr(path.string() + ": what has this name is not a regular"));
    }
  }
  EXPECT_TRUE(stdfs::is_fifo(fifo));
  EXPECT_EQ(real_file_system().list(folder.path()).size(), 2u);
}

TEST(Sweep, LeavesWhatIsNoFile) {
  const TemporaryFolder folder;
  stdfs::create_directory(folder.path() / "x.lockstep.tmp");
  ASSERT_EQ(::mkfifo((folder.path() / "y.lockstep.tmp").c_str(), 0600), 0);
  publish(real_file_system(), folder.path() / "z", as_bytes("z"));
  stdfs::rename(folder.path() / "z", folder.path() / "z.lockstep.tmp");
  sweep(real_file_system(), folder.path());
  EXPECT_THAT(real_file_system().list(folder.path()),
              ::testing::ElementsAre("x.lockstep.tmp", "y.lockstep.tmp"));
}

}  // namespace
}  // namespace lockstep

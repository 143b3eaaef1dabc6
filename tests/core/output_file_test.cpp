#include "lockstep/core/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "lockstep/core/error.h"
#include "lockstep/core/file_system.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

namespace stdfs = std::filesystem;
using lockstep::testing::TemporaryFolder;
using ::testing::HasSubstr;

const OutputKind kPicture{"a picture", ".png"};

std::string refusal(const stdfs::path& path, const stdfs::path& source = {},
                    Code code = Code::kUsage) {
  try {
    require_output(path, kPicture, source);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "nothing was thrown";
}

TEST(OutputFile, IsNothingOrARegularFile) {
  const TemporaryFolder folder;
  const stdfs::path path = folder.path() / "a.png";
  EXPECT_NO_THROW(require_output(path, kPicture));
  publish(real_file_system(), path, as_bytes("old"));
  EXPECT_NO_THROW(require_output(path, kPicture));
  EXPECT_NO_THROW(require_output("a.png", kPicture));
  EXPECT_NO_THROW(require_output("key", {"a key", ""}));
}

TEST(OutputFile, IsNothingElse) {
  const TemporaryFolder folder;
  const stdfs::path fifo = folder.path() / "fifo.png", inner = folder.path() / "folder.png",
                    link = folder.path() / "link.png", dangling = folder.path() / "dangling.png",
                    real = folder.path() / "real.png";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  stdfs::create_directory(inner);
  publish(real_file_system(), real, as_bytes("old"));
  stdfs::create_symlink(real, link);
  stdfs::create_symlink("nowhere", dangling);
  EXPECT_EQ(refusal(fifo),
            fifo.string() + " is a FIFO, which a picture does not replace (give a name in .png)");
  EXPECT_THAT(refusal(inner), HasSubstr("is a folder"));
  EXPECT_THAT(refusal(link), HasSubstr("is a symbolic link"));
  EXPECT_THAT(refusal(dangling), HasSubstr("is a symbolic link"));
  EXPECT_THAT(refusal("/dev/null"), HasSubstr("/dev/null is a device"));
}

TEST(OutputFile, HasANameThatFits) {
  EXPECT_THAT(refusal("-"), HasSubstr("does not go to standard output"));
  EXPECT_EQ(refusal("a.jpg"), "a.jpg is no name for a picture (give a name in .png)");
  EXPECT_THAT(refusal(""), HasSubstr("'' is no name"));
  EXPECT_THAT(refusal("none/a.png", {}, Code::kEnvironment),
              HasSubstr("cannot create none/a.png: No such file"));
}

TEST(OutputFile, IsNotWhatIsRead) {
  const TemporaryFolder folder;
  const stdfs::path path = folder.path() / "a.png", other = folder.path() / "b.png";
  publish(real_file_system(), path, as_bytes("precious"));
  EXPECT_NO_THROW(require_output(other, kPicture, path));
  stdfs::create_hard_link(path, other);
  EXPECT_THAT(refusal(path, path), HasSubstr("is what is read"));
  EXPECT_THAT(refusal(other, path), HasSubstr("is what is read"));
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
  stdfs::create_directory(folder.path() / "x.tmp");
  ASSERT_EQ(::mkfifo((folder.path() / "y.tmp").c_str(), 0600), 0);
  publish(real_file_system(), folder.path() / "z", as_bytes("z"));
  stdfs::rename(folder.path() / "z", folder.path() / "z.tmp");
  sweep(real_file_system(), folder.path());
  EXPECT_THAT(real_file_system().list(folder.path()), ::testing::ElementsAre("x.tmp", "y.tmp"));
}

}  // namespace
}  // namespace lockstep

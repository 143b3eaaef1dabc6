#include "lockstep/train/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "lockstep/core/error.h"
#include "lockstep/core/file_system.h"
#include "support/temporary_folder.h"

namespace lockstep::train {
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

TEST(OutputFile, ReplacesItsOwnKind) {
  const TemporaryFolder folder;
  const stdfs::path path = folder.path() / "a.jsonl";
  const auto refused = [&](const std::string& there) {
    publish(real_file_system(), path, as_bytes(there));
    try {
      require_output(path, {"a trace", ".jsonl", FileKind::kTrace});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUsage);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NO_THROW(require_output(path, {"a trace", ".jsonl", FileKind::kTrace}));
  EXPECT_EQ(refused("{\"lockstep\":\"trace\",\"version\":2}\n"), "");
  EXPECT_EQ(refused(""), "");
  EXPECT_EQ(refused("{\"lockstep\":\"ledger\",\"version\":1}\n"),
            path.string() +
                " is a ledger: a trace does not replace it (give another name, or remove it)");
  EXPECT_THAT(refused("mine"), HasSubstr(" is a file of another kind: "));
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
  EXPECT_THAT(refusal(path, path), HasSubstr("is the input"));
  EXPECT_THAT(refusal(other, path), HasSubstr("is the input"));
}

TEST(OutputFile, IsNoNameOfARun) {
  const TemporaryFolder folder;
  const stdfs::path run = folder.path() / "run";
  const auto refused = [](const stdfs::path& path) {
    try {
      require_output(path, {"a file", ""});
    } catch (const Error& error) {
      return error.code() == Code::kUsage &&
             error.message().find("keeps for itself") != std::string::npos;
    }
    return false;
  };
  for (const char* name : {"samples", "mine", "samples/mine"})
    stdfs::create_directories(run / name);
  stdfs::create_directory_symlink(run / "samples", folder.path() / "link");
  const std::vector<stdfs::path> kept = {"recipe.toml",
                                         "ledger.jsonl",
                                         "metrics.jsonl",
                                         "replays.jsonl",
                                         "log.txt",
                                         "classes.txt",
                                         "ledger.jsonl.lockstep.tmp",
                                         ".lock",
                                         "checkpoints",
                                         "environment",
                                         "checkpoints/new.h5",
                                         "features/new.h5",
                                         "environment/new.json",
                                         "samples/new.png",
                                         "samples/mine/new.png",
                                         "mine/../log.txt",
                                         "../link/new.png"};
  for (const stdfs::path& name : kept) EXPECT_FALSE(refused(run / name)) << name;  // no run yet
  publish(real_file_system(), run / "ledger.jsonl", as_bytes("{}"));
  for (const stdfs::path& name : kept) EXPECT_TRUE(refused(run / name)) << name;
  for (const char* name : {"new.png", "report.html", "mine/ledger.jsonl", "mine/samples"})
    EXPECT_NO_THROW(require_output(run / name, {"a file", ""})) << name;
  EXPECT_NO_THROW(require_no_name_of_a_run("", "a run"));
}

TEST(OutputFile, IsLookedAtInAFolder) {
  const TemporaryFolder folder;
  stdfs::create_symlink("nowhere", folder.path() / "b.png");
  const auto look = [&](const stdfs::path& at, const std::string& written) {
    require_outputs(at, kPicture, std::vector<std::string>{"c.png", written});
  };
  EXPECT_NO_THROW(look(folder.path(), "a.png"));
  EXPECT_THROW(look(folder.path(), "b.png"), Error);
  EXPECT_NO_THROW(look(folder.path() / "none", "b.png"));
  publish(real_file_system(), folder.path() / "ledger.jsonl", as_bytes("{}"));
  EXPECT_THROW(look(folder.path() / "samples", "a.png"), Error) << "missing, but a run's";
}

}  // namespace
}  // namespace lockstep::train

#include "lockstep/hash/key_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "lockstep/core/error.h"
#include "support/some_keys.h"
#include "support/temporary_folder.h"

namespace lockstep::hash {
namespace {

namespace stdfs = std::filesystem;
using lockstep::testing::some_key;
using lockstep::testing::some_pem;
using lockstep::testing::TemporaryFolder;
using ::testing::HasSubstr;

mode_t mode_of(const stdfs::path& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 0777;
}

void write(const stdfs::path& path, const std::string& text, mode_t mode = 0600) {
  std::ofstream(path, std::ios::binary) << text;
  ASSERT_EQ(::chmod(path.c_str(), mode), 0);
}

template <class Body>
void expect_usage(Body&& body, const std::string& what) {
  try {
    body();
    ADD_FAILURE() << "accepted, not: " << what;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(what));
  }
}

TEST(KeyFile, IsReadBackAndThePrivateOneIsItsOwnersAlone) {
  const TemporaryFolder folder;
  const stdfs::path path = folder.path() / "key";
  const mode_t before = ::umask(0);
  write_keys(path, some_key());
  ::umask(before);
  EXPECT_EQ(mode_of(path), 0600u);
  EXPECT_EQ(mode_of(path.string() + ".pub"), 0644u);
  EXPECT_EQ(read_private_key(path).public_key(), some_key().public_key());
  EXPECT_EQ(read_public_key(path.string() + ".pub"), some_key().public_key());
}

TEST(KeyFile, IsNeverOverwrittenNorWrittenThroughALink) {
  for (const char* taken : {"key", "key.pub"}) {
    for (const bool link : {false, true}) {
      const TemporaryFolder folder;
      const stdfs::path path = folder.path() / taken;
      link ? stdfs::create_symlink(folder.path() / "elsewhere", path) : write(path, "precious");
      expect_usage([&] { write_keys(folder.path() / "key", some_key()); },
                   std::string(taken) + " is there already");
      EXPECT_EQ(std::distance(stdfs::directory_iterator(folder.path()), {}), 1);
    }
  }
}

TEST(KeyFile, InAFolderThatIsNotThereIsAnErrorOfTheSystem) {
  const TemporaryFolder folder;
  try {
    write_keys(folder.path() / "none" / "key", some_key());
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kEnvironment);
    EXPECT_THAT(error.what(), HasSubstr("none/key: No such file or directory"));
  }
}

TEST(KeyFile, ThatWillNotDoIsNamed) {
  const TemporaryFolder folder;
  const stdfs::path path = folder.path() / "key";
  expect_usage([&] { read_private_key(path); }, "cannot read the key " + path.string());
  expect_usage([&] { read_private_key(folder.path()); }, "Is a directory");
  for (const mode_t mode : {0640u, 0604u, 0620u, 0677u}) {
    write(path, some_pem(), mode);
    expect_usage([&] { read_private_key(path); }, path.string() + ": others may read");
  }
  write(path, "hello");
  expect_usage([&] { read_private_key(path); }, path.string() + ": it holds no Ed25519 private");
  expect_usage([&] { read_public_key(path); }, path.string() + ": it holds no Ed25519 public");
  write(path, std::string(100'000, '\n') + some_pem());
  expect_usage([&] { read_private_key(path); }, path.string() + ": too long for a key");
}

}  // namespace
}  // namespace lockstep::hash

#include "lockstep/train/run_folder.h"

#include <gtest/gtest.h>

#include "lockstep/core/error.h"
#include "support/temporary_folder.h"

namespace lockstep::train {
namespace {

using lockstep::testing::TemporaryFolder;

TEST(FolderLock, IsOneWritersAndGoesWithIt) {
  const TemporaryFolder folder;
  const RunFolder run{folder.path()};
  {
    const FolderLock first(real_file_system(), run);
    EXPECT_THROW(FolderLock(real_file_system(), run), Error);
  }
  EXPECT_FALSE(real_file_system().exists(run.lock()));
  EXPECT_NO_THROW(FolderLock(real_file_system(), run));
}

// Somebody moved the folder away while it was written to, and another run has its name.
TEST(FolderLock, LeavesTheNameToWhoHasItNow) {
  const TemporaryFolder folder;
  const RunFolder run{folder.path()};
  {
    const FolderLock first(real_file_system(), run);
    std::filesystem::remove(run.lock());
    publish(real_file_system(), run.lock(), as_bytes("another's"));
  }
  EXPECT_TRUE(real_file_system().exists(run.lock()));
}

}  // namespace
}  // namespace lockstep::train

#include "comm/port_owner.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "support/temporary_folder.h"

namespace lockstep::comm {
namespace {

namespace stdfs = std::filesystem;

// A procfs of files: who listens on port 29500 (0x733C) does so by socket 77.
class PortOwner : public ::testing::Test {
 protected:
  void SetUp() override {
    write("net/tcp",
          "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "
          "timeout inode\n"
          "   0: 0100007F:733C 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0"
          "        0 77 1 0000000000000000 100 0 0 10 0\n");
  }
  void write(const std::string& name, const std::string& content) {
    stdfs::create_directories((proc() / name).parent_path());
    std::ofstream(proc() / name) << content;
  }
  void add(int pid, const std::string& command, int started) {
    const std::string process = std::to_string(pid);
    write(process + "/cmdline", command);
    write(process + "/stat", process + " (a ) b) S 1 1 1 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 " +
                                 std::to_string(started) + " 0 0\n");
    stdfs::create_directories(proc() / process / "fd");
    stdfs::create_symlink("socket:[77]", proc() / process / "fd/5");
  }
  const stdfs::path& proc() const { return folder_.path(); }

 private:
  lockstep::testing::TemporaryFolder folder_;
};

TEST_F(PortOwner, IsTheProcessThatHasTheSocket) {
  EXPECT_EQ(port_owner(29500, proc()), "");
  add(300, "python3", 1000);
  EXPECT_EQ(port_owner(29500, proc()), "process 300 (python3)");
  EXPECT_EQ(port_owner(29501, proc()), "");
}

// A child has a lower number where numbers began anew.
TEST_F(PortOwner, OfSeveralIsTheOneThatStartedFirst) {
  add(20, "child", 3000);
  add(300, "parent", 1000);
  add(400, "another", 2000);
  EXPECT_EQ(port_owner(29500, proc()), "process 300 (parent)");
}

TEST_F(PortOwner, IsNeverTheOneThatAsks) {
  add(getpid(), "myself", 1);
  EXPECT_EQ(port_owner(29500, proc()), "");
  add(300, "parent", 1000);
  EXPECT_EQ(port_owner(29500, proc()), "process 300 (parent)");
}

}  // namespace
}  // namespace lockstep::comm

// A disk in memory that can stop at any byte of any call, and that knows what was synced: so a test
// sees what a kill leaves (everything until then) and all that a power loss may leave.
//
// Model: bytes of a file are durable after its sync; a name (create, rename, remove, folder) after
// the sync of its folder. Of what is not durable a power loss keeps nothing, all, any prefix, or,
// as disks and journals may reorder, any subset; a file may have its length and not its bytes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/core/file_system.h"

namespace lockstep::testing {

// One thread at a time.
class SimulatedDisk final : public FileSystem {
 public:
  // Thrown by the call during which the process dies, and by all calls after it.
  struct Dead : Error {
    Dead() : Error(Code::kEnvironment, "the process is dead") {}
  };

  SimulatedDisk() { names_[""] = {}; }

  // Work is one for each changing call, and one more for each byte it writes.
  void die_after_work(std::int64_t work) { left_ = work; }
  void die_before_call(std::int64_t number) { last_call_ = number; }
  std::int64_t work_done() const { return done_; }
  bool dead() const { return left_ < 0; }

  // That sync of a file fails, as on Linux: what it should have written is lost, shows
  // nevertheless, and no later sync writes it or complains.
  void fail_sync(std::int64_t number) { failing_sync_ = number; }
  bool sync_failed() const { return syncs_ >= failing_sync_; }

  // The same disk, for the next process.
  SimulatedDisk after_kill() const;

  // The disks that a power loss may leave: each choice of names with each of contents.
  std::size_t name_choices() const;
  enum Contents { kNone, kAll, kHalf, kLength, kLastOnly, kContents };
  SimulatedDisk after_power_loss(std::size_t names, Contents contents) const;

  std::unique_ptr<File> create_new(const std::filesystem::path& path) override;
  std::unique_ptr<File> open_read(const std::filesystem::path& path) override;
  std::unique_ptr<File> open_append(const std::filesystem::path& path) override;
  void rename(const std::filesystem::path& from, const std::filesystem::path& to) override;
  void remove(const std::filesystem::path& path) override;
  bool remove_abandoned(const std::filesystem::path& path) override;
  void sync_directory(const std::filesystem::path& path) override;
  bool exists(const std::filesystem::path& path) override;
  bool create_directory(const std::filesystem::path& path) override;
  std::vector<std::string> list(const std::filesystem::path& path) override;

 private:
  struct Write {
    std::uint64_t offset;
    Bytes bytes;
  };
  struct Inode {
    Bytes seen, durable;
    std::vector<Write> pending;
    bool open = false;  // by create_new
  };
  struct Entry {
    std::shared_ptr<Inode> file;  // none: a folder
  };
  using Names = std::map<std::string, Entry>;
  // `to` becomes the entry, `from` goes; either may be empty.
  struct NameChange {
    std::string to;
    Entry entry;
    std::string from;
  };
  class OpenFile;

  static void apply(const NameChange& change, Names& names);
  static std::shared_ptr<Inode> survivor(const Inode& inode, Contents contents);
  static bool reachable(const std::string& path, const Names& names);
  bool keeps(std::size_t choice, std::size_t i) const;
  void change(const NameChange& change);
  std::shared_ptr<Inode> found(const char* verb, const std::filesystem::path& path);
  void require_folder(const std::filesystem::path& path);
  void alive() const;
  void work();
  std::size_t work_on(std::size_t amount);  // how much of it is done before the process dies

  Names names_, durable_names_;
  std::vector<NameChange> pending_;
  std::int64_t left_ = INT64_MAX, done_ = 0, calls_ = 0, last_call_ = -1;
  std::int64_t syncs_ = 0, failing_sync_ = INT64_MAX;
};

}  // namespace lockstep::testing

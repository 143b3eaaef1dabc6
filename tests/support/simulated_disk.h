// A disk in memory that can stop at any byte of any call, and that knows what was synced: so a test
// sees what a kill leaves (everything until then) and all that a power loss may leave.
//
// Model: bytes of a file are durable after its sync; a name (create, rename, remove, folder) after
// the sync of its folder. Of what is not durable a power loss keeps nothing, all, any prefix, or,
// as disks and journals may reorder, any subset; a file may have its length and not its bytes.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
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
  // That sync of a file fails, as on Linux: what it should have written is lost, shows
  // nevertheless, and no later sync writes it or complains.
  void fail_sync(std::int64_t number) { failing_sync_ = number; }
  bool sync_failed() const { return syncs_ >= failing_sync_; }
  std::int64_t work_done() const { return done_; }
  bool dead() const { return left_ < 0; }

  // The same disk, for the next process.
  SimulatedDisk after_kill() const {
    SimulatedDisk next;
    std::map<const Inode*, std::shared_ptr<Inode>> copies;
    next.names_ = copied(names_, copies);
    next.durable_names_ = copied(durable_names_, copies);
    for (const NameChange& change : pending_) next.pending_.push_back(copied(change, copies));
    return next;
  }

  // How many disks after_power_loss can make: the choices of names times those of contents.
  std::size_t name_choices() const {
    const std::size_t n = pending_.size();
    return n <= kMostSubsets ? std::size_t{1} << n : 2 * n + 1;
  }
  enum Contents { kNone, kAll, kHalf, kLength, kLastOnly, kContents };

  SimulatedDisk after_power_loss(std::size_t names, Contents contents) const {
    SimulatedDisk next;
    std::map<std::string, Entry> kept = durable_names_;
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      if (keeps(names, i)) apply(pending_[i], kept);
    }
    for (auto& [path, entry] : kept) {
      if (entry.file) entry.file = survivor(*entry.file, contents);
    }
    std::erase_if(kept, [&](const auto& item) { return !reachable(item.first, kept); });
    next.names_ = next.durable_names_ = std::move(kept);
    next.names_[""] = next.durable_names_[""] = {};
    return next;
  }

  std::unique_ptr<File> create_new(const std::filesystem::path& path) override {
    work();
    require_folder(path);
    if (names_.contains(key(path))) fail("create", path, "File exists");
    const auto inode = std::make_shared<Inode>();
    change({key(path), {inode}, {}});
    inode->open = true;
    return std::make_unique<OpenFile>(*this, inode, true);
  }
  std::unique_ptr<File> open_read(const std::filesystem::path& path) override {
    return std::make_unique<OpenFile>(*this, found("open", path), false);
  }
  std::unique_ptr<File> open_append(const std::filesystem::path& path) override {
    work();
    require_folder(path);
    if (!names_.contains(key(path))) change({key(path), {std::make_shared<Inode>()}, {}});
    return open_read(path);
  }
  void rename(const std::filesystem::path& from, const std::filesystem::path& to) override {
    work();
    change({key(to), {found("rename", from)}, key(from)});
  }
  void remove(const std::filesystem::path& path) override {
    work();
    if (names_.contains(key(path))) change({{}, {}, key(path)});
  }
  bool remove_abandoned(const std::filesystem::path& path) override {
    alive();
    const auto at = names_.find(key(path));
    if (at != names_.end() && at->second.file && at->second.file->open) return false;
    remove(path);
    return true;
  }
  void sync_directory(const std::filesystem::path& path) override {
    work();
    const auto inside = [&](const std::string& name) {
      return !name.empty() && parent(name) == key(path);
    };
    for (const NameChange& one : pending_) {
      if (inside(one.to) || inside(one.from)) apply(one, durable_names_);
    }
    std::erase_if(pending_,
                  [&](const NameChange& one) { return inside(one.to) || inside(one.from); });
  }
  bool exists(const std::filesystem::path& path) override {
    alive();
    return names_.contains(key(path));
  }
  bool create_directory(const std::filesystem::path& path) override {
    work();
    if (names_.contains(key(path))) return false;
    require_folder(path);
    change({key(path), {}, {}});
    return true;
  }
  std::vector<std::string> list(const std::filesystem::path& path) override {
    alive();
    std::vector<std::string> found;
    for (const auto& [name, entry] : names_) {
      if (!name.empty() && parent(name) == key(path))
        found.push_back(std::filesystem::path(name).filename().string());
    }
    return found;
  }

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
  // `to` becomes the entry, `from` goes; either may be empty.
  struct NameChange {
    std::string to;
    Entry entry;
    std::string from;
  };
  static constexpr std::size_t kMostSubsets = 6;

  class OpenFile final : public File {
   public:
    OpenFile(SimulatedDisk& disk, std::shared_ptr<Inode> inode, bool made)
        : disk_(disk), inode_(std::move(inode)), made_(made) {}
    ~OpenFile() override {
      if (made_) inode_->open = false;
    }
    void write_at(std::uint64_t offset, ByteView bytes) override {
      disk_.work();
      const std::size_t fits = disk_.work_on(bytes.size());
      write_to(inode_->seen, offset, bytes.first(fits));
      inode_->pending.push_back(
          {offset, Bytes(bytes.begin(), bytes.begin() + std::ptrdiff_t(fits))});
      if (fits < bytes.size()) throw Dead();
    }
    void append(ByteView bytes) override { write_at(inode_->seen.size(), bytes); }
    std::size_t read_at(std::uint64_t offset, MutableByteView into) override {
      disk_.alive();
      const Bytes& all = inode_->seen;
      const std::size_t n = offset < all.size() ? std::min(into.size(), all.size() - offset) : 0;
      std::copy_n(all.begin() + std::ptrdiff_t(std::min(offset, all.size())), n, into.begin());
      return n;
    }
    std::uint64_t size() override { return inode_->seen.size(); }
    void truncate(std::uint64_t size) override {
      disk_.work();
      inode_->seen.resize(size);
      inode_->durable.resize(std::min<std::size_t>(size, inode_->durable.size()));
    }
    void sync() override {
      disk_.work();
      const auto pending = std::exchange(inode_->pending, {});
      if (++disk_.syncs_ == disk_.failing_sync_) fail("sync", "a file", "Input/output error");
      for (const Write& write : pending) write_to(inode_->durable, write.offset, write.bytes);
    }

   private:
    SimulatedDisk& disk_;
    std::shared_ptr<Inode> inode_;
    bool made_;
  };

  static void write_to(Bytes& content, std::uint64_t offset, ByteView bytes) {
    if (content.size() < offset + bytes.size()) content.resize(offset + bytes.size());
    std::copy(bytes.begin(), bytes.end(), content.begin() + std::ptrdiff_t(offset));
  }
  static std::shared_ptr<Inode> survivor(const Inode& inode, Contents contents) {
    const auto left = std::make_shared<Inode>();
    left->durable = inode.durable;
    for (std::size_t i = 0; i < inode.pending.size(); ++i) {
      const Write& write = inode.pending[i];
      const bool last = i + 1 == inode.pending.size();
      const ByteView bytes = write.bytes;
      if (contents == kAll || (contents == kLastOnly && last))
        write_to(left->durable, write.offset, bytes);
      if (contents == kHalf) write_to(left->durable, write.offset, bytes.first(bytes.size() / 2));
      if (contents == kLength) write_to(left->durable, write.offset, Bytes(bytes.size()));
    }
    left->seen = left->durable;
    return left;
  }
  static void apply(const NameChange& change, std::map<std::string, Entry>& names) {
    if (!change.to.empty()) names[change.to] = change.entry;
    if (!change.from.empty()) names.erase(change.from);
  }
  static bool reachable(const std::string& path, const std::map<std::string, Entry>& names) {
    return path.empty() || (names.contains(path) && reachable(parent(path), names));
  }
  bool keeps(std::size_t choice, std::size_t i) const {
    const std::size_t n = pending_.size();
    if (n <= kMostSubsets) return (choice >> i & 1) != 0;
    return choice <= n ? i < choice : i != choice - n - 1;  // prefixes, then all but one
  }
  using Copies = std::map<const Inode*, std::shared_ptr<Inode>>;
  static Entry copied(const Entry& entry, Copies& copies) {
    if (!entry.file) return entry;
    auto& copy = copies[entry.file.get()];
    if (!copy) {
      copy = std::make_shared<Inode>(*entry.file);
      copy->open = false;
    }
    return {copy};
  }
  static NameChange copied(const NameChange& change, Copies& copies) {
    return {change.to, copied(change.entry, copies), change.from};
  }
  static std::map<std::string, Entry> copied(const std::map<std::string, Entry>& names,
                                             Copies& copies) {
    std::map<std::string, Entry> copy;
    for (const auto& [path, entry] : names) copy[path] = copied(entry, copies);
    return copy;
  }

  static std::string key(const std::filesystem::path& path) {
    return path == "." ? std::string() : path.string();
  }
  static std::string parent(const std::string& path) {
    return std::filesystem::path(path).parent_path().string();
  }
  void change(const NameChange& change) {
    apply(change, names_);
    pending_.push_back(change);
  }
  std::shared_ptr<Inode> found(const char* verb, const std::filesystem::path& path) {
    alive();
    const auto at = names_.find(key(path));
    if (at == names_.end() || !at->second.file) fail(verb, path, "No such file or directory");
    return at->second.file;
  }
  void require_folder(const std::filesystem::path& path) {
    if (!names_.contains(parent(key(path)))) fail("create", path, "No such file or directory");
  }
  [[noreturn]] static void fail(const char* verb, const std::filesystem::path& path,
                                const char* why) {
    throw Error(Code::kEnvironment,
                std::string("cannot ") + verb + " " + path.string() + ": " + why);
  }
  void alive() const {
    if (dead()) throw Dead();
  }
  void work() {
    alive();
    if (++calls_ == last_call_) left_ = -1;
    if (dead() || work_on(1) == 0) throw Dead();
  }
  // How much of it is done before the process dies.
  std::size_t work_on(std::size_t amount) {
    const auto fits = static_cast<std::size_t>(std::min<std::int64_t>(left_, std::int64_t(amount)));
    left_ -= std::int64_t(fits);
    done_ += std::int64_t(fits);
    if (fits < amount) left_ = -1;
    return fits;
  }

  std::map<std::string, Entry> names_, durable_names_;
  std::vector<NameChange> pending_;
  std::int64_t left_ = INT64_MAX, done_ = 0, calls_ = 0, last_call_ = -1;
  std::int64_t syncs_ = 0, failing_sync_ = INT64_MAX;
};

}  // namespace lockstep::testing

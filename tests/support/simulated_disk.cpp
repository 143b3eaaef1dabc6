#include "support/simulated_disk.h"

#include <algorithm>
#include <utility>

namespace lockstep::testing {
namespace {

constexpr std::size_t kMostSubsets = 6;  // of changes of names; of more not all subsets are tried

std::string key(const std::filesystem::path& path) {
  return path == "." ? std::string() : path.string();
}
std::string parent(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}
void write_to(Bytes& content, std::uint64_t offset, ByteView bytes) {
  if (content.size() < offset + bytes.size()) content.resize(offset + bytes.size());
  std::copy(bytes.begin(), bytes.end(), content.begin() + std::ptrdiff_t(offset));
}
[[noreturn]] void fail(const char* verb, const std::filesystem::path& path, const char* why) {
  throw Error(Code::kEnvironment, std::string("cannot ") + verb + " " + path.string() + ": " + why);
}

}  // namespace

class SimulatedDisk::OpenFile final : public File {
 public:
  OpenFile(SimulatedDisk& disk, std::shared_ptr<Inode> inode, bool made)
      : disk_(disk), inode_(std::move(inode)), made_(made) {}
  ~OpenFile() override {
    if (made_) inode_->open = false;
  }
  void append(ByteView bytes) override {
    disk_.work();
    const std::uint64_t offset = inode_->seen.size();
    const std::size_t fits = disk_.work_on(bytes.size());
    const ByteView done = bytes.first(fits);
    write_to(inode_->seen, offset, done);
    inode_->pending.push_back({offset, Bytes(done.begin(), done.end())});
    if (fits < bytes.size()) throw Dead();
  }
  std::size_t read_at(std::uint64_t offset, MutableByteView into) override {
    disk_.alive();
    const Bytes& all = inode_->seen;
    const std::size_t n = offset < all.size() ? std::min(into.size(), all.size() - offset) : 0;
    std::copy_n(all.begin() + std::ptrdiff_t(std::min(offset, all.size())), n, into.begin());
    return n;
  }
  std::uint64_t size() override { return inode_->seen.size(); }
  void sync() override {
    disk_.work();
    const auto pending = std::exchange(inode_->pending, {});
    if (++disk_.syncs_ == disk_.failing_sync_) fail("sync", "a file", "Input/output error");
    for (const Write& write : pending) write_to(inode_->durable, write.offset, write.bytes);
  }
  void truncate(std::uint64_t size) override {
    disk_.work();
    inode_->seen.resize(std::min<std::uint64_t>(inode_->seen.size(), size));
    for (Write& write : inode_->pending)  // of what is durable nothing is known before a sync
      write.bytes.resize(std::min<std::uint64_t>(write.bytes.size(),
                                                 write.offset < size ? size - write.offset : 0));
  }
  bool is_at(const std::filesystem::path& path) override {
    disk_.alive();
    const auto there = disk_.names_.find(key(path));
    return there != disk_.names_.end() && there->second.file == inode_;
  }

 private:
  SimulatedDisk& disk_;
  std::shared_ptr<Inode> inode_;
  bool made_;
};

SimulatedDisk SimulatedDisk::after_kill() const {
  SimulatedDisk next;
  std::map<const Inode*, std::shared_ptr<Inode>> copies;
  const auto copied = [&](const Entry& entry) -> Entry {
    if (!entry.file) return entry;
    std::shared_ptr<Inode>& copy = copies[entry.file.get()];
    if (!copy) {
      copy = std::make_shared<Inode>(*entry.file);
      copy->open = false;
    }
    return {copy};
  };
  for (const auto& [path, entry] : names_) next.names_[path] = copied(entry);
  for (const auto& [path, entry] : durable_names_) next.durable_names_[path] = copied(entry);
  for (const NameChange& one : pending_)
    next.pending_.push_back({one.to, copied(one.entry), one.from});
  return next;
}

std::size_t SimulatedDisk::name_choices() const {
  const std::size_t n = pending_.size();
  return n <= kMostSubsets ? std::size_t{1} << n : 2 * n + 1;
}

bool SimulatedDisk::keeps(std::size_t choice, std::size_t i) const {
  const std::size_t n = pending_.size();
  if (n <= kMostSubsets) return (choice >> i & 1) != 0;
  return choice <= n ? i < choice : i != choice - n - 1;  // prefixes, then all but one
}

SimulatedDisk SimulatedDisk::after_power_loss(std::size_t names, Contents contents) const {
  SimulatedDisk next;
  Names kept = durable_names_;
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

std::shared_ptr<SimulatedDisk::Inode> SimulatedDisk::survivor(const Inode& inode,
                                                              Contents contents) {
  const auto left = std::make_shared<Inode>();
  left->durable = inode.durable;
  for (std::size_t i = 0; i < inode.pending.size(); ++i) {
    const Write& write = inode.pending[i];
    const ByteView bytes = write.bytes;
    if (contents == kAll || (contents == kLastOnly && i + 1 == inode.pending.size()))
      write_to(left->durable, write.offset, bytes);
    if (contents == kHalf) write_to(left->durable, write.offset, bytes.first(bytes.size() / 2));
    if (contents == kLength) write_to(left->durable, write.offset, Bytes(bytes.size()));
  }
  left->seen = left->durable;
  return left;
}

void SimulatedDisk::apply(const NameChange& change, Names& names) {
  if (!change.to.empty()) names[change.to] = change.entry;
  if (!change.from.empty()) names.erase(change.from);
}

bool SimulatedDisk::reachable(const std::string& path, const Names& names) {
  return path.empty() || (names.contains(path) && reachable(parent(path), names));
}

std::unique_ptr<File> SimulatedDisk::create_new(const std::filesystem::path& path) {
  work();
  require_folder(path);
  if (names_.contains(key(path))) fail("create", path, "File exists");
  const auto inode = std::make_shared<Inode>();
  change({key(path), {inode}, {}});
  inode->open = true;
  return std::make_unique<OpenFile>(*this, inode, true);
}

std::unique_ptr<File> SimulatedDisk::open_read(const std::filesystem::path& path) {
  return std::make_unique<OpenFile>(*this, found("open", path), false);
}

std::unique_ptr<File> SimulatedDisk::open_append(const std::filesystem::path& path) {
  work();
  require_folder(path);
  if (!names_.contains(key(path))) change({key(path), {std::make_shared<Inode>()}, {}});
  return open_read(path);
}

void SimulatedDisk::rename(const std::filesystem::path& from, const std::filesystem::path& to) {
  work();
  change({key(to), {found("rename", from)}, key(from)});
}

void SimulatedDisk::remove(const std::filesystem::path& path) {
  work();
  if (names_.contains(key(path))) change({{}, {}, key(path)});
}

bool SimulatedDisk::remove_abandoned(const std::filesystem::path& path) {
  alive();
  const auto at = names_.find(key(path));
  if (at != names_.end() && at->second.file && at->second.file->open) return false;
  remove(path);
  return true;
}

void SimulatedDisk::sync_directory(const std::filesystem::path& path) {
  work();
  const auto inside = [&](const std::string& name) {
    return !name.empty() && parent(name) == key(path);
  };
  const auto concerns = [&](const NameChange& one) { return inside(one.to) || inside(one.from); };
  for (const NameChange& one : pending_) {
    if (concerns(one)) apply(one, durable_names_);
  }
  std::erase_if(pending_, concerns);
}

bool SimulatedDisk::exists(const std::filesystem::path& path) {
  alive();
  return names_.contains(key(path));
}

bool SimulatedDisk::create_directory(const std::filesystem::path& path) {
  work();
  if (names_.contains(key(path))) return false;
  require_folder(path);
  change({key(path), {}, {}});
  return true;
}

std::vector<std::string> SimulatedDisk::list(const std::filesystem::path& path) {
  alive();
  std::vector<std::string> here;
  for (const auto& [name, entry] : names_) {
    if (!name.empty() && parent(name) == key(path))
      here.push_back(std::filesystem::path(name).filename().string());
  }
  return here;
}

void SimulatedDisk::change(const NameChange& change) {
  apply(change, names_);
  pending_.push_back(change);
}

std::shared_ptr<SimulatedDisk::Inode> SimulatedDisk::found(const char* verb,
                                                           const std::filesystem::path& path) {
  alive();
  const auto at = names_.find(key(path));
  if (at == names_.end() || !at->second.file) fail(verb, path, "No such file or directory");
  return at->second.file;
}

void SimulatedDisk::require_folder(const std::filesystem::path& path) {
  if (!names_.contains(parent(key(path)))) fail("create", path, "No such file or directory");
}

void SimulatedDisk::alive() const {
  if (dead()) throw Dead();
}

void SimulatedDisk::work() {
  alive();
  if (++calls_ == last_call_) left_ = -1;
  if (dead() || work_on(1) == 0) throw Dead();
}

std::size_t SimulatedDisk::work_on(std::size_t amount) {
  const auto fits = static_cast<std::size_t>(std::min<std::int64_t>(left_, std::int64_t(amount)));
  left_ -= std::int64_t(fits);
  done_ += std::int64_t(fits);
  if (fits < amount) left_ = -1;
  return fits;
}

}  // namespace lockstep::testing

#include "lockstep/core/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "lockstep/core/error.h"
#include "lockstep/core/foreign.h"
#include "lockstep/core/log.h"

namespace lockstep {
namespace {

namespace stdfs = std::filesystem;

// A name that nobody chooses for a file of his own: what bears it is removed.
constexpr std::string_view kTemporary = ".lockstep.tmp";
constexpr std::uint64_t kLinesPiece = 4096;  // bytes of a file's end, where a line is sought
constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;  // of a picture, the largest file
constexpr std::uint64_t kMostText = std::uint64_t{64} << 20;    // that is read whole, and of a text

bool is_link(const stdfs::path& path) {
  struct stat there {};
  return ::lstat(path.c_str(), &there) == 0 && S_ISLNK(there.st_mode);
}

[[noreturn]] void fail(const std::string& verb, const stdfs::path& path, int error) {
  if (error == ELOOP && is_link(path))
    throw Error(Code::kEnvironment,
                "cannot " + verb + " " + path.string() + ": it is a symbolic link",
                verb == "open" ? "give the file that it names"
                               : "move it away: what is written there would land elsewhere");
  std::string hint;
  if (error == ENOSPC || error == EDQUOT) hint = "free some space; what was saved before is intact";
  if (error == EACCES || error == EPERM || error == EROFS)
    hint = verb == "open" || verb == "list" || verb == "inspect"
               ? "you need permission to read it (`ls -l` shows who has it)"
               : "choose a folder you may write to";
  if (error == ENOTDIR && verb == "list") hint = "it is no folder: move it away";
  if (error == EMFILE || error == ENFILE) hint = "raise the limit on open files (ulimit -n)";
  if (error == EEXIST) hint = "is another process writing there? if not, move it away";
  throw Error(
      Code::kEnvironment,
      "cannot " + verb + " " + path.string() + ": " + std::generic_category().message(error), hint);
}

template <class Call>
auto retry(Call&& call) {
  decltype(call()) result;
  do result = call();
  while (result < 0 && errno == EINTR);
  return result;
}

stdfs::path folder_of(const stdfs::path& path) {
  return path.has_parent_path() ? path.parent_path() : stdfs::path(".");
}

// A folder, device, FIFO or socket: never a file of ours, and nothing is put in its place.
bool is_no_file(const stdfs::path& path) {
  struct stat there {};
  return ::lstat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode) && !S_ISLNK(there.st_mode);
}

// Whether the path leads to this open file.
bool is_at(int fd, const stdfs::path& path) {
  struct stat opened {
  }, named{};
  return ::fstat(fd, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

// Another process writes this file.
[[noreturn]] void fail_busy(const stdfs::path& path) {
  throw Error(Code::kEnvironment, "another process is writing " + path.string(),
              "wait for it, or write elsewhere");
}

// False if somebody else has the lock. A file system without locks gives none and refuses none. The
// file is open for writing: NFS locks no other.
bool lock(int fd) {
  return retry([&] { return ::flock(fd, LOCK_EX | LOCK_NB); }) == 0 || errno != EWOULDBLOCK;
}

class RealFile final : public File {
 public:
  RealFile(stdfs::path path, int flags) : path_(std::move(path)) {
    fd_ = retry([&] { return ::open(path_.c_str(), flags | kAlways, 0666); });
    if (fd_ < 0) fail((flags & O_CREAT) ? "create" : "open", path_, errno);
  }
  ~RealFile() override { ::close(fd_); }
  RealFile(const RealFile&) = delete;
  RealFile& operator=(const RealFile&) = delete;

  void lock_new() {
    // Another process may have found the name before it was locked, and removed it.
    if (!lock(fd_) || info().st_nlink == 0) fail_busy(path_);
  }
  void require_one_name() {
    const struct stat found = info();
    if (S_ISREG(found.st_mode) && found.st_nlink > 1)
      throw Error(Code::kEnvironment,
                  path_.string() + " has a second name (hard link), which would change, too",
                  "replace it by a copy of its own");
  }

  void append(ByteView bytes) override {
    while (!bytes.empty()) {
      const auto n = retry([&] { return ::write(fd_, bytes.data(), bytes.size()); });
      if (n < 0) fail("write", path_, errno);
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
  }

  std::size_t read_at(std::uint64_t offset, MutableByteView into) override {
    std::size_t done = 0;
    while (done < into.size()) {
      const auto n = retry([&] {
        return ::pread(fd_, into.data() + done, into.size() - done,
                       static_cast<off_t>(offset + done));
      });
      if (n < 0) fail("read", path_, errno);
      if (n == 0) break;
      done += static_cast<std::size_t>(n);
    }
    return done;
  }

  std::uint64_t size() override {
    const struct stat found = info();
    if (!S_ISREG(found.st_mode))
      throw Error(Code::kEnvironment, path_.string() + " is not a regular file", "move it away");
    return static_cast<std::uint64_t>(found.st_size);
  }

  void sync() override {
    // Behind an error never again: the kernel may have dropped the pages. A signal is none.
    if (retry([&] { return ::fsync(fd_); }) != 0) fail("sync", path_, errno);
  }

  void truncate(std::uint64_t size) override {
    if (retry([&] { return ::ftruncate(fd_, static_cast<off_t>(size)); }) != 0)
      fail("cut", path_, errno);
  }

  bool is_at(const stdfs::path& path) override { return lockstep::is_at(fd_, path); }

 private:
  // O_NONBLOCK: a FIFO in a file's place is recognised, and not waited for.
  static constexpr int kAlways = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

  struct stat info() const {
    struct stat found {};
    if (::fstat(fd_, &found) != 0) fail("inspect", path_, errno);
    return found;
  }

  stdfs::path path_;
  int fd_ = -1;
};

class RealFileSystem final : public FileSystem {
 public:
  std::unique_ptr<File> create_new(const stdfs::path& path) override {
    auto file = std::make_unique<RealFile>(path, O_RDWR | O_CREAT | O_EXCL);
    file->lock_new();
    return file;
  }
  std::unique_ptr<File> open_read(const stdfs::path& path) override {
    return std::make_unique<RealFile>(path, O_RDONLY);
  }
  std::unique_ptr<File> open_append(const stdfs::path& path) override {
    auto file = std::make_unique<RealFile>(path, O_RDWR | O_CREAT | O_APPEND);
    file->require_one_name();
    return file;
  }
  void rename(const stdfs::path& from, const stdfs::path& to) override {
    if (is_no_file(to))
      throw Error(Code::kEnvironment,
                  "cannot write " + to.string() + ": what has this name is not a regular file",
                  "move it away");
    if (::rename(from.c_str(), to.c_str()) != 0) fail("rename to", to, errno);
  }
  void remove(const stdfs::path& path) override {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail("remove", path, errno);
  }
  bool remove_abandoned(const stdfs::path& path) override {
    while (true) {
      if (is_no_file(path)) return true;  // no writer of ours made it
      const auto open_as = [&](int how) {
        return retry(
            [&] { return ::open(path.c_str(), how | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); });
      };
      int fd = open_as(O_RDWR);
      if (fd < 0 && errno == EACCES) fd = open_as(O_RDONLY);  // another user's
      if (fd < 0 && errno == ENOENT) return true;
      if (fd < 0 && errno == ELOOP) {  // a planted link, which no writer of ours made
        remove(path);
        return true;
      }
      if (fd < 0) fail("open", path, errno);
      const bool mine = lock(fd);
      // It may have been published since, and the name may be another writer's by now.
      const bool same = is_at(fd, path);
      int error = 0;
      if (mine && same && ::unlink(path.c_str()) != 0) error = errno;
      ::close(fd);
      if (error != 0 && error != ENOENT) fail("remove", path, error);
      if (!mine) return false;
      if (same) return true;
    }
  }
  void sync_directory(const stdfs::path& path) override {
    const int fd = retry([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
    if (fd < 0) fail("open", path, errno);
    const int result = retry([&] { return ::fsync(fd); });
    const int error = errno;
    ::close(fd);
    if (result != 0) fail("sync", path, error);
  }
  bool exists(const stdfs::path& path) override {
    struct stat info {};
    if (::lstat(path.c_str(), &info) == 0) return true;
    if (errno != ENOENT && errno != ENOTDIR) fail("inspect", path, errno);
    return false;
  }
  bool create_directory(const stdfs::path& path) override {
    if (::mkdir(path.c_str(), 0777) == 0) return true;
    const int error = errno;
    struct stat info {};
    if (error != EEXIST || ::lstat(path.c_str(), &info) != 0) fail("create", path, error);
    if (S_ISLNK(info.st_mode))
      throw Error(Code::kEnvironment,
                  path.string() + " is a symbolic link: what is written there would land elsewhere",
                  "put a folder in its place");
    if (!S_ISDIR(info.st_mode)) fail("create", path, error);
    return false;
  }
  std::vector<std::string> list(const stdfs::path& path) override {
    const auto close = [](DIR* opened) { ::closedir(opened); };
    const std::unique_ptr<DIR, decltype(close)> directory(::opendir(path.c_str()), close);
    if (!directory) fail("list", path, errno);
    std::vector<std::string> names;
    for (;;) {
      errno = 0;
      const dirent* const entry = ::readdir(directory.get());
      if (!entry) break;
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    if (errno != 0) fail("list", path, errno);
    std::sort(names.begin(), names.end());  // directory order is the file system's, not ours
    return names;
  }
};

}  // namespace

FileSystem& real_file_system() {
  static RealFileSystem instance;
  return instance;
}

void make_folder(FileSystem& fs, const stdfs::path& path) {
  if (fs.create_directory(path)) fs.sync_directory(folder_of(path));
}

void make_folders(FileSystem& fs, const stdfs::path& path) {
  if (path.empty() || fs.exists(path)) return;
  make_folders(fs, path.parent_path());
  make_folder(fs, path);
}

Bytes read_file(FileSystem& fs, const stdfs::path& path) {
  return read_file(fs, path, kMostBytes);
}

std::string read_text(FileSystem& fs, const stdfs::path& path) {
  return read_text(fs, path, kMostText);
}

stdfs::path temporary_of(const stdfs::path& path) {
  return path.string() + std::string(kTemporary);
}

bool is_temporary(const std::string& name) {
  return name.ends_with(kTemporary);
}

std::string without_temporary(std::string name) {
  while (is_temporary(name)) name.resize(name.size() - kTemporary.size());
  return name;
}

void sweep(FileSystem& fs, const stdfs::path& folder) {
  if (!fs.exists(folder)) return;
  for (const std::string& name : fs.list(folder)) {
    if (!is_temporary(name)) continue;
    if (fs.remove_abandoned(folder / name) && fs.exists(folder / name))
      log::warn((folder / name).string() + " is left as it is: it is not a regular file");
  }
}

void discard(FileSystem& fs, const stdfs::path& path) noexcept {
  try {
    fs.remove_abandoned(path);
  } catch (const Error&) {
    // the first failure is the one to report
  }
}

std::unique_ptr<File> open_lines(FileSystem& fs, const stdfs::path& path) {
  std::unique_ptr<File> file = fs.open_append(path);
  const std::uint64_t size = file->size();
  std::uint64_t whole = size;  // behind the last line end
  for (Bytes piece; whole > 0;) {
    piece.resize(std::min<std::uint64_t>(whole, kLinesPiece));
    file->read_at(whole - piece.size(), piece);
    const auto end = std::ranges::find(piece.rbegin(), piece.rend(), std::byte{'\n'});
    whole -= static_cast<std::uint64_t>(end - piece.rbegin());
    if (end != piece.rend()) break;
  }
  if (whole < size) file->truncate(whole);
  return file;
}

void publish(FileSystem& fs, const stdfs::path& path, ByteView bytes) {
  publish(fs, path, [&](File& file) { file.append(bytes); });
}

void publish(FileSystem& fs, const stdfs::path& path, const std::function<void(File&)>& write,
             const std::function<void()>& before_rename) {
  const stdfs::path temporary = temporary_of(path);
  if (!fs.remove_abandoned(temporary)) fail_busy(path);  // else: left by a killed writer
  try {
    const auto file = fs.create_new(temporary);
    write(*file);
    file->sync();
    if (before_rename) before_rename();
    fs.rename(temporary, path);
  } catch (...) {
    discard(fs, temporary);
    throw;
  }
  fs.sync_directory(folder_of(path));
}

}  // namespace lockstep

#include "lockstep/core/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

namespace stdfs = std::filesystem;

[[noreturn]] void fail(const std::string& verb, const stdfs::path& path, int error) {
  std::string hint;
  if (error == ENOSPC || error == EDQUOT) hint = "free some space; what was saved before is intact";
  if (error == EACCES || error == EPERM || error == EROFS)
    hint = "choose a folder you may write to";
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

class RealFile final : public File {
 public:
  RealFile(stdfs::path path, int flags) : path_(std::move(path)) {
    fd_ = retry([&] { return ::open(path_.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0666); });
    if (fd_ < 0) fail((flags & O_CREAT) ? "create" : "open", path_, errno);
  }
  ~RealFile() override { ::close(fd_); }
  RealFile(const RealFile&) = delete;
  RealFile& operator=(const RealFile&) = delete;

  void write_at(std::uint64_t offset, ByteView bytes) override {
    while (!bytes.empty()) {
      const auto n = retry(
          [&] { return ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
      if (n < 0) fail("write", path_, errno);
      offset += static_cast<std::uint64_t>(n);
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
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
    struct stat info {};
    if (::fstat(fd_, &info) != 0) fail("inspect", path_, errno);
    if (!S_ISREG(info.st_mode))
      throw Error(Code::kEnvironment, path_.string() + " is not a regular file");
    return static_cast<std::uint64_t>(info.st_size);
  }

  void truncate(std::uint64_t size) override {
    if (retry([&] { return ::ftruncate(fd_, static_cast<off_t>(size)); }) != 0)
      fail("truncate", path_, errno);
  }

  void sync() override {
    if (::fsync(fd_) != 0)
      fail("sync", path_, errno);  // never retried: the kernel may have dropped the pages
  }

 private:
  stdfs::path path_;
  int fd_ = -1;
};

class RealFileSystem final : public FileSystem {
 public:
  std::unique_ptr<File> create_new(const stdfs::path& path) override {
    return std::make_unique<RealFile>(path, O_RDWR | O_CREAT | O_EXCL);
  }
  std::unique_ptr<File> open_read(const stdfs::path& path) override {
    return std::make_unique<RealFile>(path, O_RDONLY);
  }
  std::unique_ptr<File> open_append(const stdfs::path& path) override {
    return std::make_unique<RealFile>(path, O_RDWR | O_CREAT | O_APPEND);
  }
  void rename(const stdfs::path& from, const stdfs::path& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) fail("rename to", to, errno);
  }
  void remove(const stdfs::path& path) override {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail("remove", path, errno);
  }
  void sync_directory(const stdfs::path& path) override {
    const int fd = retry([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
    if (fd < 0) fail("open", path, errno);
    const int result = ::fsync(fd);
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
  void create_directories(const stdfs::path& path) override {
    std::error_code error;
    stdfs::create_directories(path, error);
    if (error) fail("create", path, error.value());
  }
  std::vector<std::string> list(const stdfs::path& path) override {
    DIR* directory = ::opendir(path.c_str());
    if (!directory) fail("list", path, errno);
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(directory)) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    ::closedir(directory);
    std::sort(names.begin(), names.end());  // directory order is the file system's, not ours
    return names;
  }
};

}  // namespace

FileSystem& real_file_system() {
  static RealFileSystem instance;
  return instance;
}

Bytes read_file(FileSystem& fs, const stdfs::path& path) {
  const auto file = fs.open_read(path);
  Bytes bytes(file->size());
  bytes.resize(file->read_at(0, bytes));
  return bytes;
}

std::string read_text(FileSystem& fs, const stdfs::path& path) {
  const Bytes bytes = read_file(fs, path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void discard(FileSystem& fs, const stdfs::path& path) noexcept {
  try {
    fs.remove(path);
  } catch (const Error&) {
    // the failure that is under way is the one to tell
  }
}

void publish(FileSystem& fs, const stdfs::path& path, ByteView bytes) {
  publish(fs, path, [&](File& file) { file.append(bytes); });
}

void publish(FileSystem& fs, const stdfs::path& path, const std::function<void(File&)>& write,
             const std::function<void()>& before_rename) {
  const stdfs::path temporary = path.string() + ".tmp";
  fs.remove(temporary);  // left by a killed writer
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
  fs.sync_directory(path.has_parent_path() ? path.parent_path() : stdfs::path("."));
}

}  // namespace lockstep

#include "lockstep/hash/key_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <system_error>

#include "lockstep/core/error.h"
#include "lockstep/core/file_system.h"
#include "lockstep/core/read_descriptor.h"

namespace lockstep::hash {
namespace {

namespace stdfs = std::filesystem;

constexpr std::size_t kMostBytes = 16 * 1024;  // of a key file, with any text around the key

stdfs::path public_path(const stdfs::path& path) {
  return path.string() + ".pub";
}

[[noreturn]] void refuse_existing(const stdfs::path& path) {
  throw Error(Code::kUsage, path.string() + " is there already: a key is not overwritten",
              "give another name");
}

[[noreturn]] void fail_to_write(const stdfs::path& path) {
  throw Error(Code::kEnvironment,
              "cannot write " + path.string() + ": " + std::generic_category().message(errno));
}

// Not through core's file system: its files are readable by all that the umask lets.
void create(const stdfs::path& path, mode_t mode, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0 && errno == EEXIST) refuse_existing(path);
  if (fd < 0) fail_to_write(path);
  std::string_view left = text;
  ssize_t n = 0;
  while (!left.empty() && (n = ::write(fd, left.data(), left.size())) > 0)
    left.remove_prefix(static_cast<std::size_t>(n));
  const bool written = left.empty() && ::fsync(fd) == 0;
  const int error = errno;
  ::close(fd);
  if (written) return;
  ::unlink(path.c_str());
  errno = error;
  fail_to_write(path);
}

// A link is followed: the user named it. `privately`: for nobody but its owner.
std::string read(const stdfs::path& path, bool privately) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  std::string text(kMostBytes + 1, '\0');
  const std::int64_t n = fd < 0 || ::fstat(fd, &status) != 0
                             ? -1
                             : read_descriptor(fd, std::as_writable_bytes(std::span(text)));
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (n < 0)
    throw Error(
        Code::kUsage,
        "cannot read the key " + path.string() + ": " + std::generic_category().message(error),
        error == ENOENT ? "`lockstep keygen KEY` makes a pair: KEY and KEY.pub" : "");
  const auto has = [&](std::string_view words) {
    return std::string_view(text).substr(0, static_cast<std::size_t>(n)).find(words) !=
           std::string_view::npos;
  };
  if (privately && has("BEGIN PUBLIC KEY"))
    throw Error(Code::kUsage, path.string() + " is a public key, and a private one is needed",
                "`lockstep keygen KEY` makes KEY, the private one, and KEY.pub");
  if (privately && has("PRIVATE KEY") && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    throw Error(Code::kUsage, path.string() + ": others may read this private key",
                "chmod 600 " + path.string());
  if (static_cast<std::size_t>(n) > kMostBytes)
    throw Error(Code::kUsage, path.string() + ": too long for a key");
  text.resize(static_cast<std::size_t>(n));
  return text;
}

}  // namespace

void write_keys(const stdfs::path& path, const PrivateKey& key) {
  for (const stdfs::path& file : {path, public_path(path)})
    if (real_file_system().exists(file)) refuse_existing(file);
  create(path, 0600, key.pem());
  try {
    create(public_path(path), 0644, key.public_key().pem());
  } catch (...) {
    ::unlink(path.c_str());
    throw;
  }
  real_file_system().sync_directory(path.has_parent_path() ? path.parent_path() : ".");
}

PrivateKey read_private_key(const stdfs::path& path) {
  const std::string text = read(path, /*privately=*/true);
  try {
    return PrivateKey::from_pem(text);
  } catch (const Error& error) {
    throw error.within(path.string());
  }
}

PublicKey read_public_key(const stdfs::path& path) {
  const std::string text = read(path, /*privately=*/false);
  try {
    return PublicKey::from_pem(text);
  } catch (const Error& error) {
    throw error.within(path.string());
  }
}

}  // namespace lockstep::hash

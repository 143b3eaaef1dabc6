// System calls that fail, for the real program: a library for LD_PRELOAD. Concerns files whose path
// contains FAULT_UNDER (and not FAULT_NOT, if that is set).
//
//   FAULT_SHORT=1                     reads and writes do half of what is asked, every third is
//                                     interrupted by a signal instead (EINTR)
//   FAULT_LOG=<file>                  gets a line "<verb> <path>" for each write, fsync and rename
//   FAULT_CALL=<verb> FAULT_AT=<n>    the n-th such call (from 1) fails with FAULT_ERRNO, a number;
//   FAULT_ERRNO=<e> FAULT_MARK=<file> <file> is made then. Verbs: open write read fsync rename
//                                     mkdir unlink ftruncate list readdir inspect
//   FAULT_SECONDS=<s>                 instead: each such call takes so long
//   FAULT_SWAP=<folder>               instead: before that call <folder> is moved away, and
//                                     <folder>.after takes its place, as by another process
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

const char* setting(const char* name) {
  const char* value = ::getenv(name);
  return value ? value : "";
}

int number(const char* name) {
  int value = 0;
  for (const char* c = setting(name); *c; ++c) value = 10 * value + (*c - '0');
  return value;
}

bool concerned(const char* path) {
  const char* exempt = setting("FAULT_NOT");
  return *setting("FAULT_UNDER") && std::strstr(path, setting("FAULT_UNDER")) &&
         !(*exempt && std::strstr(path, exempt));
}

// Of an open file; empty if there is none.
struct Path {
  explicit Path(int fd) {
    char link[32] = "/proc/self/fd/", digits[12];
    int n = 0;
    for (int rest = fd; rest > 0 || n == 0; rest /= 10)
      digits[n++] = static_cast<char>('0' + rest % 10);
    char* end = link + std::strlen(link);
    while (n > 0) *end++ = digits[--n];
    *end = 0;
    const ssize_t length = ::readlink(link, text, sizeof text - 1);
    text[length < 0 ? 0 : length] = 0;
  }
  char text[4096];
};

bool concerned(int fd) {
  return concerned(Path(fd).text);
}

void append_to(const char* file, const char* verb, const char* path) {
  const int fd = next<int(const char*, int, ...)>("open")(
      file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) return;
  char line[4200];
  char* end = ::stpcpy(::stpcpy(::stpcpy(line, verb), " "), path);
  *end++ = '\n';
  if (next<ssize_t(int, const void*, size_t)>("write")(fd, line, std::size_t(end - line)) < 0)
    errno = 0;
  ::close(fd);
}

void note(const char* verb, const char* path) {
  if (*setting("FAULT_LOG") && concerned(path)) append_to(setting("FAULT_LOG"), verb, path);
}
void note(const char* verb, int fd) {
  if (*setting("FAULT_LOG")) note(verb, Path(fd).text);
}

void swap_folders(const char* folder) {
  const auto move = next<int(const char*, const char*)>("rename");
  char before[4096], after[4096];
  ::stpcpy(::stpcpy(before, folder), ".before");
  ::stpcpy(::stpcpy(after, folder), ".after");
  if (move(folder, before) != 0 || move(after, folder) != 0) ::abort();
}

std::atomic<int> calls{0};

// Whether this call is the one that fails; errno is set then.
template <class Place>
bool fails(const char* verb, Place place) {
  if (std::strcmp(setting("FAULT_CALL"), verb) != 0 || !concerned(place)) return false;
  if (const int seconds = number("FAULT_SECONDS"); seconds > 0) {
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
    return false;
  }
  if (++calls != number("FAULT_AT")) return false;
  append_to(setting("FAULT_MARK"), verb, "");
  if (*setting("FAULT_SWAP")) {
    swap_folders(setting("FAULT_SWAP"));
    return false;
  }
  errno = number("FAULT_ERRNO");
  return true;
}

std::atomic<int> transfers{0};

// How much of `n` is done; -1 for an interruption.
template <class Call>
ssize_t transfer(const char* verb, int fd, std::size_t n, Call&& call) {
  if (fails(verb, fd)) return -1;
  if (std::strcmp(verb, "write") == 0) note(verb, fd);
  if (!*setting("FAULT_SHORT") || !concerned(fd)) return call(n);
  if (++transfers % 3 == 0) {
    errno = EINTR;
    return -1;
  }
  return call(n > 1 ? n / 2 : n);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (fails("open", path)) return -1;
  return next<int(const char*, int, ...)>("open")(path, flags, mode);
}
ssize_t write(int fd, const void* bytes, size_t n) {
  return transfer("write", fd, n, [&](size_t m) {
    return next<ssize_t(int, const void*, size_t)>("write")(fd, bytes, m);
  });
}
ssize_t pwrite(int fd, const void* bytes, size_t n, off_t at) {
  return transfer("write", fd, n, [&](size_t m) {
    return next<ssize_t(int, const void*, size_t, off_t)>("pwrite")(fd, bytes, m, at);
  });
}
ssize_t read(int fd, void* bytes, size_t n) {
  return transfer("read", fd, n, [&](size_t m) {
    return next<ssize_t(int, void*, size_t)>("read")(fd, bytes, m);
  });
}
ssize_t pread(int fd, void* bytes, size_t n, off_t at) {
  return transfer("read", fd, n, [&](size_t m) {
    return next<ssize_t(int, void*, size_t, off_t)>("pread")(fd, bytes, m, at);
  });
}
int fsync(int fd) {
  note("fsync", fd);
  return fails("fsync", fd) ? -1 : next<int(int)>("fsync")(fd);
}
int ftruncate(int fd, off_t size) noexcept {
  return fails("ftruncate", fd) ? -1 : next<int(int, off_t)>("ftruncate")(fd, size);
}
int rename(const char* from, const char* to) noexcept {
  note("rename", to);
  return fails("rename", to) ? -1 : next<int(const char*, const char*)>("rename")(from, to);
}
int mkdir(const char* path, mode_t mode) noexcept {
  return fails("mkdir", path) ? -1 : next<int(const char*, mode_t)>("mkdir")(path, mode);
}
int unlink(const char* path) noexcept {
  return fails("unlink", path) ? -1 : next<int(const char*)>("unlink")(path);
}
int lstat(const char* path, struct stat* info) noexcept {
  return fails("inspect", path) ? -1 : next<int(const char*, struct stat*)>("lstat")(path, info);
}
DIR* opendir(const char* path) {
  return fails("list", path) ? nullptr : next<DIR*(const char*)>("opendir")(path);
}
dirent* readdir(DIR* folder) {
  return fails("readdir", ::dirfd(folder)) ? nullptr : next<dirent*(DIR*)>("readdir")(folder);
}

}  // extern "C"
#pragma GCC visibility pop

// hdf5_memory: memory ends while a file's skeleton is made. Once at every single allocation of
// ours, HDF5's calls of our code among them: that one fails, or all from there on. And once for
// everybody, by less and less address space. Each time in a process of its own, which must end by
// itself, its exit handlers too, with the skeleton or with Error(kEnvironment) or std::bad_alloc;
// what it makes next, with memory again, must be the whole skeleton or an error.
#include <dlfcn.h>
#include <execinfo.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "hdf5/some_file.h"
#include "lockstep/core/error.h"
#include "lockstep/hdf5/version.h"

namespace {

enum class Fails { kOne, kAllFromThere };

bool armed = false;
long left = 0;  // allocations until one fails
Fails fails = Fails::kOne;

bool inside = false;  // whether it failed in what HDF5 called

bool called_by_hdf5() {
  std::array<void*, 64> frames{};
  const int n = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  return std::any_of(frames.begin(), frames.begin() + n, [](void* frame) {
    Dl_info where{};
    return ::dladdr(frame, &where) != 0 && std::strstr(where.dli_fname, "libhdf5") != nullptr;
  });
}

bool ends() {
  if (!armed || (left > 0 && --left > 0)) return false;
  armed = fails == Fails::kAllFromThere;
  inside = inside || called_by_hdf5();
  return true;
}

using lockstep::hdf5::Skeleton;

constexpr int kRefused = static_cast<int>(lockstep::Code::kEnvironment);
constexpr int kThroughC = 98, kOther = 99, kNotReached = 100;

Skeleton some_skeleton() {
  return lockstep::hdf5::make_skeleton(lockstep::hdf5::some_specs(),
                                       lockstep::hdf5::some_attributes());
}

bool same(const Skeleton& a, const Skeleton& b) {
  if (a.length != b.length || a.metadata.size() != b.metadata.size()) return false;
  for (std::size_t i = 0; i < a.metadata.size(); ++i)
    if (a.metadata[i].bytes != b.metadata[i].bytes) return false;
  return true;
}

// 0, or the Error's.
template <class Body>
int code_of(Body&& body) {
  try {
    body();
    return 0;
  } catch (const lockstep::Error& error) {
    armed = false;
    if (error.code() != lockstep::Code::kEnvironment) std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::bad_alloc&) {
    return inside && fails == Fails::kOne ? kThroughC : kRefused;
  }
}

// Ends as programs end: what HDF5 does at exit is part of it.
template <class Begin, class End>
[[noreturn]] void child(Begin&& begin, End&& end) {
  Skeleton first, second;
  begin();
  const int code = code_of([&] {
    lockstep::hdf5::version();
    first = some_skeleton();
  });
  const bool reached = end();
  const int again = code_of([&] { second = some_skeleton(); });
  if (again != 0 && again != kRefused) std::exit(again);
  if (code == 0 && again == 0 && !same(first, second)) std::exit(kOther);
  std::exit(reached ? code : kNotReached);
}

// The exit code of a process; minus a signal's number.
template <class Body>
int in_process(Body&& body) {
  std::fflush(stdout);
  const pid_t pid = ::fork();
  if (pid == 0) body();
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

bool is_fine(int code, const char* what, long at) {
  if (code == 0 || code == kRefused) return true;
  std::printf("%s %ld: ended with %d\n", what, at, code);
  return false;
}

// Every allocation, until one that is not reached.
bool every_allocation() {
  for (long at = 1;; ++at) {
    const int code = in_process([&] {
      child(
          [&] {
            left = at;
            armed = true;
          },
          [] {
            armed = false;
            return left == 0;
          });
    });
    if (code == kNotReached) {
      std::printf("%ld allocations\n", at - 1);
      return at > 50;
    }
    if (!is_fine(code, "allocation", at)) return false;
  }
}

rlim_t address_space() {
  long pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld", &pages) != 1) std::exit(kOther);
  std::fclose(file);
  return static_cast<rlim_t>(pages) * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

void limit_memory(rlim_t bytes) {
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = bytes;
  if (::setrlimit(RLIMIT_AS, &limit) != 0) std::exit(kOther);
}

// More and more, until it is enough.
bool every_limit() {
  constexpr rlim_t kStep = 16 << 10;
  long refused = 0;
  for (rlim_t more = 0; more < rlim_t{64} << 20; more += kStep) {
    const int code = in_process([&] {
      child([&] { limit_memory(address_space() + more); },
            [] {
              limit_memory(RLIM_INFINITY);
              return true;
            });
    });
    if (!is_fine(code, "KiB of memory", static_cast<long>(more >> 10))) return false;
    if (code == kRefused) ++refused;
    if (code == 0 && refused > 0 && more > rlim_t{8} << 20) {
      std::printf("%ld limits refused\n", refused);
      return refused > 50;
    }
  }
  return false;
}

}  // namespace

#pragma GCC visibility push(default)
void* operator new(std::size_t size) {
  if (!ends())
    if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return ends() ? nullptr : std::malloc(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
#pragma GCC visibility pop

int main() {
  called_by_hdf5();  // the first time allocates
  bool fine = every_limit();
  for (const Fails how : {Fails::kOne, Fails::kAllFromThere}) {
    fails = how;
    fine = every_allocation() && fine;
  }
  return fine ? 0 : 1;
}

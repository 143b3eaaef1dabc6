// What headers of glibc 2.36 and GCC 12 ask for and glibc 2.28 lacks.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/stat.h>

#include <ctime>

namespace {

// The C library's own, where it is new enough.
template <class Function>
Function later(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

timespec in_real_time(clockid_t clock, const timespec& until) {
  constexpr long kSecond = 1'000'000'000;
  timespec now{}, real{};
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &real);
  real.tv_sec += until.tv_sec - now.tv_sec;
  real.tv_nsec += until.tv_nsec - now.tv_nsec;
  if (real.tv_nsec < 0) --real.tv_sec, real.tv_nsec += kSecond;
  if (real.tv_nsec >= kSecond) ++real.tv_sec, real.tv_nsec -= kSecond;
  return real;
}

}  // namespace

extern "C" {

// Until glibc 2.33, stat and its kin were inline calls of these. 1: the only layout of x86-64.
int __xstat(int layout, const char* path, struct stat* out);
int __lxstat(int layout, const char* path, struct stat* out);
int __fxstat(int layout, int file, struct stat* out);

int stat(const char* path, struct stat* out) {
  return __xstat(1, path, out);
}
int lstat(const char* path, struct stat* out) {
  return __lxstat(1, path, out);
}
int fstat(int file, struct stat* out) {
  return __fxstat(1, file, out);
}
int stat64(const char* path, struct stat64* out) {
  return __xstat(1, path, reinterpret_cast<struct stat*>(out));
}
int fstat64(int file, struct stat64* out) {
  return __fxstat(1, file, reinterpret_cast<struct stat*>(out));
}

// Since 2.32. "Not single-threaded" is always true enough: it costs std::shared_ptr its shortcut.
char __libc_single_threaded = 0;

// Since 2.30 one can wait until a time of any clock. Without these the deadline is told in the
// clock that the older functions know. If that clock is set meanwhile, the wait ends too early or
// too late; the standard library looks at the steady clock afterwards.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  static const auto newer = later<decltype(&pthread_cond_clockwait)>("pthread_cond_clockwait");
  if (newer != nullptr) return newer(condition, mutex, clock, until);
  const timespec real = in_real_time(clock, *until);
  return pthread_cond_timedwait(condition, mutex, &real);
}
int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  static const auto newer = later<decltype(&pthread_mutex_clocklock)>("pthread_mutex_clocklock");
  if (newer != nullptr) return newer(mutex, clock, until);
  const timespec real = in_real_time(clock, *until);
  return pthread_mutex_timedlock(mutex, &real);
}

}  // extern "C"

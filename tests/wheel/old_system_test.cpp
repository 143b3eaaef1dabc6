// tools/old_system/missing.cpp on a system that has nothing newer.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "support/temporary_folder.h"

namespace {

std::map<std::string, int> asked;  // how often the stand-ins looked for newer functions

}  // namespace

extern "C" void* dlsym(void*, const char* name) noexcept {
  ++asked[name];
  return nullptr;
}

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

timespec in(clockid_t clock, long milliseconds) {
  timespec time{};
  clock_gettime(clock, &time);
  time.tv_nsec += milliseconds % 1000 * 1'000'000;
  time.tv_sec += milliseconds / 1000 + time.tv_nsec / 1'000'000'000;
  time.tv_nsec %= 1'000'000'000;
  return time;
}

// Runs `wait` until a deadline of `clock`, some times, so that nanoseconds carry in both
// directions.
template <class Wait>
void expect_deadlines(const Wait& wait) {
  for (const clockid_t clock : {CLOCK_MONOTONIC, CLOCK_REALTIME})
    for (int turn = 0; turn < 12; ++turn) {
      const auto begin = Clock::now();
      const timespec until = in(clock, 90);
      EXPECT_EQ(wait(clock, &until), ETIMEDOUT);
      const auto took = Clock::now() - begin;
      EXPECT_GE(took, 80ms);
      EXPECT_LT(took, 300s);
    }
}

TEST(OldSystem, ConditionsWaitUntilADeadline) {
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  expect_deadlines([&](clockid_t clock, const timespec* until) {
    return pthread_cond_clockwait(&condition, &mutex, clock, until);
  });
  pthread_mutex_unlock(&mutex);
  EXPECT_EQ(asked["pthread_cond_clockwait"], 1);
}

TEST(OldSystem, MutexesWaitUntilADeadline) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  std::thread([&] {
    expect_deadlines([&](clockid_t clock, const timespec* until) {
      return pthread_mutex_clocklock(&mutex, clock, until);
    });
  }).join();
  pthread_mutex_unlock(&mutex);
  EXPECT_EQ(asked["pthread_mutex_clocklock"], 1);
}

TEST(OldSystem, ANotificationEndsTheWait) {
  std::condition_variable condition;
  std::mutex mutex;
  bool ready = false;
  std::thread other([&] {
    const std::scoped_lock lock(mutex);
    ready = true;
    condition.notify_one();
  });
  std::unique_lock lock(mutex);
  EXPECT_TRUE(condition.wait_for(lock, 60s, [&] { return ready; }));
  lock.unlock();
  other.join();
}

TEST(OldSystem, FilesAreDescribed) {
  const lockstep::testing::TemporaryFolder folder;
  const std::string file = (folder.path() / "file").string(), link = file + ".link";
  const int opened = ::open(file.c_str(), O_CREAT | O_WRONLY, 0600);
  ASSERT_GE(opened, 0);
  ASSERT_EQ(::write(opened, "12345", 5), 5);
  ASSERT_EQ(::symlink(file.c_str(), link.c_str()), 0);
  struct stat by_path {
  }, by_link{}, of_link{}, of_opened{};
  struct stat64 wide {
  }, wide_opened{};
  EXPECT_EQ(::stat(file.c_str(), &by_path), 0);
  EXPECT_EQ(::stat(link.c_str(), &by_link), 0);
  EXPECT_EQ(::lstat(link.c_str(), &of_link), 0);
  EXPECT_EQ(::fstat(opened, &of_opened), 0);
  EXPECT_EQ(::stat64(file.c_str(), &wide), 0);
  EXPECT_EQ(::fstat64(opened, &wide_opened), 0);
  EXPECT_EQ(by_path.st_size, 5);
  EXPECT_TRUE(S_ISREG(by_path.st_mode));
  for (const ino_t inode : {by_link.st_ino, of_opened.st_ino, wide.st_ino, wide_opened.st_ino})
    EXPECT_EQ(inode, by_path.st_ino);
  EXPECT_TRUE(S_ISLNK(of_link.st_mode));
  EXPECT_EQ(::stat((file + ".none").c_str(), &by_path), -1);
  EXPECT_EQ(errno, ENOENT);
  ::close(opened);
}

}  // namespace

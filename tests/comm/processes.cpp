#include "processes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <utility>

#include "lockstep/comm/connect.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/text.h"

namespace lockstep::comm {

Process::Process(const std::string& program, const std::vector<std::string>& arguments,
                 int inherited, double life)
    : started_(monotonic_seconds()), life_(life) {
  const auto path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / program;
  std::vector<std::string> words{path};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  std::array<int, 2> out, err;
  if (pipe2(out.data(), O_CLOEXEC) || pipe2(err.data(), O_CLOEXEC)) std::abort();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_adddup2(&actions, err[1], 2);
  if (inherited >= 0) posix_spawn_file_actions_adddup2(&actions, inherited, inherited);
  EXPECT_EQ(posix_spawn(&pid_, path.c_str(), &actions, nullptr, argv.data(), environ), 0) << path;
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  close(err[1]);
  out_.fd = out[0];
  err_.fd = err[0];
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      out_(std::exchange(other.out_, {})),
      err_(std::exchange(other.err_, {})),
      started_(other.started_),
      life_(other.life_) {}

Process::~Process() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  for (const Stream& stream : {out_, err_})
    if (stream.fd >= 0) close(stream.fd);
}

void Process::signal(int number) const {
  kill(pid_, number);
}

int Process::threads_blocking(int number) const {
  int count = 0;
  std::error_code ignored;  // threads end while we look
  const auto tasks = "/proc/" + std::to_string(pid_) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks, ignored)) {
    std::ifstream file(task.path() / "status");
    for (std::string line; std::getline(file, line);)
      if (line.starts_with("SigBlk:")) {
        std::uint64_t mask = 0;
        std::from_chars(line.data() + 8, line.data() + line.size(), mask, 16);
        count += static_cast<int>(mask >> (number - 1) & 1);
      }
  }
  return count;
}

// Waits for what it says, on both ends: a full pipe would hold it up. False once it has ended.
bool Process::hear() {
  std::array<pollfd, 2> ends{{{out_.fd, POLLIN, 0}, {err_.fd, POLLIN, 0}}};
  if (out_.fd < 0 && err_.fd < 0) return false;
  const double left = std::max(0.0, started_ + life_ - monotonic_seconds());
  if (poll(ends.data(), ends.size(), static_cast<int>(1000 * left) + 1) == 0) {
    err_.text += "(the test ended it after " + fixed(life_, 0) + " s)\n";
    kill(pid_, SIGKILL);
    life_ += 1e6;  // its ends close now
  }
  for (Stream* stream : {&out_, &err_}) {
    if (!ends[stream == &err_].revents) continue;
    std::array<char, 4096> chunk;
    const ssize_t n = read(stream->fd, chunk.data(), chunk.size());
    if (n > 0)
      stream->text.append(chunk.data(), static_cast<std::size_t>(n));
    else
      close(std::exchange(stream->fd, -1));
  }
  return true;
}

void Process::wait_for_output(const std::string& wanted) {
  while (out_.text.find(wanted) == std::string::npos)
    ASSERT_TRUE(hear()) << "it ended before it said " << wanted << ": " << err_.text;
}

Ended Process::wait() {
  while (hear()) {
  }
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), out_.text, err_.text,
          monotonic_seconds() - started_};
}

Ranks::Ranks(const std::string& scenario, int world, const std::vector<std::string>& common,
             const std::vector<std::vector<std::string>>& more, const std::string& program) {
  const Listening listening = listen_on("127.0.0.1", 0);
  for (int r = 0; r < world; ++r) {
    std::vector<std::string> arguments{scenario, "rank=" + std::to_string(r),
                                       "world=" + std::to_string(world), "secret=s",
                                       "port=" + std::to_string(listening.port)};
    if (r == 0) arguments.push_back("listen=" + std::to_string(listening.socket));
    arguments.insert(arguments.end(), common.begin(), common.end());
    const auto index = static_cast<std::size_t>(r);
    if (index < more.size())
      arguments.insert(arguments.end(), more[index].begin(), more[index].end());
    processes_.emplace_back(program, arguments, r == 0 ? listening.socket : -1);
  }
  port_ = listening.port;
  close(listening.socket);
}

std::vector<Ended> Ranks::wait() {
  std::vector<Ended> all;
  for (Process& process : processes_) all.push_back(process.wait());
  return all;
}

}  // namespace lockstep::comm

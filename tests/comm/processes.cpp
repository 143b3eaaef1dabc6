#include "processes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <utility>

#include "lockstep/comm/connect.h"
#include "lockstep/core/clock.h"

namespace lockstep::comm {
namespace {

std::string drain(int fd) {
  std::string text;
  std::array<char, 4096> chunk;
  for (ssize_t n; (n = read(fd, chunk.data(), chunk.size())) > 0;)
    text.append(chunk.data(), static_cast<std::size_t>(n));
  return text;
}

}  // namespace

Process::Process(const std::string& program, const std::vector<std::string>& arguments,
                 int inherited)
    : started_(monotonic_seconds()) {
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
  out_ = out[0];
  err_ = err[0];
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      out_(std::exchange(other.out_, -1)),
      err_(std::exchange(other.err_, -1)),
      started_(other.started_),
      text_(std::move(other.text_)) {}

Process::~Process() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (out_ >= 0) close(out_);
  if (err_ >= 0) close(err_);
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

void Process::wait_for_output(const std::string& wanted) {
  while (text_.find(wanted) == std::string::npos) {
    std::array<char, 256> chunk;
    const ssize_t n = read(out_, chunk.data(), chunk.size());
    ASSERT_GT(n, 0) << "it ended before it said " << wanted << ": " << drain(err_);
    text_.append(chunk.data(), static_cast<std::size_t>(n));
  }
}

Ended Process::wait() {
  Ended ended;
  ended.out = text_ + drain(out_);
  ended.err = drain(err_);
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ended.seconds = monotonic_seconds() - started_;
  return ended;
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

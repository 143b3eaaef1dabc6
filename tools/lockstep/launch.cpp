#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <iterator>
#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/core/log.h"
#include "lockstep/hash/hmac.h"
#include "ranks.h"

extern char** environ;

namespace lockstep::cli {
namespace {

constexpr int kSecret = 100, kListening = 101;  // descriptors in the ranks
constexpr const char* kHost = "127.0.0.1";

[[noreturn]] void fail(const std::string& what, int error) {
  throw Error(Code::kEnvironment, what + ": " + std::generic_category().message(error));
}

// This process's arguments without --ranks.
std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> kept;
  for (std::string argument; std::getline(file, argument, '\0');) {
    if (argument == "--ranks") {
      std::getline(file, argument, '\0');  // its number
    } else if (!argument.starts_with("--ranks=")) {
      kept.push_back(argument);
    }
  }
  return kept;
}

// The run's secret in memory that only this process and its ranks can open.
int make_secret() {
  const int fd = ::memfd_create("lockstep-secret", MFD_CLOEXEC);
  if (fd < 0) fail("cannot make memory for the secret", errno);
  std::array<std::byte, 32> secret{};
  hash::random_bytes(secret);
  if (::fchmod(fd, 0600) != 0 || ::write(fd, secret.data(), secret.size()) != 32)
    fail("cannot keep the secret", errno);
  return fd;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

class Ranks {
 public:
  Ranks(int count, int secret, const comm::Listening& listening) {
    sigemptyset(&awaited_);
    for (const int signal : {SIGCHLD, SIGTERM, SIGINT}) sigaddset(&awaited_, signal);
    sigprocmask(SIG_BLOCK, &awaited_, &outer_);
    for (int rank = 0; rank < count; ++rank) start(rank, count, secret, listening);
  }

  Code wait() {
    while (running_ > 0) {
      const int signal = sigwaitinfo(&awaited_, nullptr);
      if (signal == SIGTERM || signal == SIGINT) {
        for (const pid_t pid : pids_) {
          if (pid > 0) ::kill(pid, SIGTERM);
        }
      }
      reap();
    }
    return first_;
  }

 private:
  void start(int rank, int count, int secret, const comm::Listening& listening) {
    std::vector<std::string> arguments = own_arguments();
    std::vector<std::string> variables;
    const auto set = [&](std::string name, const std::string& value) {
      variables.push_back(name.append("=").append(value));
    };
    set("RANK", std::to_string(rank));
    set("WORLD_SIZE", std::to_string(count));
    set("LOCAL_RANK", std::to_string(rank));
    set("LOCAL_WORLD_SIZE", std::to_string(count));
    set("MASTER_ADDR", kHost);
    set("MASTER_PORT", std::to_string(listening.port));
    set("LOCKSTEP_PARENT", std::to_string(::getpid()));
    set("LOCKSTEP_SECRET_FILE", std::string("/proc/self/fd/").append(std::to_string(kSecret)));
    if (rank == 0) set("LOCKSTEP_LISTENING_SOCKET", std::to_string(kListening));
    for (char** variable = environ; *variable != nullptr; ++variable)
      variables.emplace_back(*variable);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, secret, kSecret);
    if (rank == 0) posix_spawn_file_actions_adddup2(&actions, listening.socket, kListening);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    // A group of its own: the terminal's Ctrl-C comes here alone, and is passed on once.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setsigmask(&attributes, &outer_);
    pid_t pid = 0;
    const int error = posix_spawn(&pid, "/proc/self/exe", &actions, &attributes,
                                  pointers(arguments).data(), pointers(variables).data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) fail("cannot start rank " + std::to_string(rank), error);
    pids_.push_back(pid);
    ++running_;
  }

  void reap() {
    for (int rank = 0; rank < static_cast<int>(pids_.size()); ++rank) {
      int status = 0;
      pid_t& pid = pids_[static_cast<std::size_t>(rank)];
      if (pid == 0 || ::waitpid(pid, &status, WNOHANG) != pid) continue;
      pid = 0;
      --running_;
      if (WIFSIGNALED(status))
        log::warn("rank " + std::to_string(rank) + " was killed by signal " +
                  std::to_string(WTERMSIG(status)));
      const Code code = WIFEXITED(status) ? static_cast<Code>(WEXITSTATUS(status)) : Code::kNetwork;
      // Who tells of another rank's failure (kNetwork) is not its cause.
      if (first_ == Code::kOk || (first_ == Code::kNetwork && code != Code::kOk)) first_ = code;
    }
  }

  std::vector<pid_t> pids_;  // 0: has ended
  int running_ = 0;
  Code first_ = Code::kOk;
  sigset_t awaited_{}, outer_{};
};

}  // namespace

Code launch(int ranks, const comm::Environment& environment) {
  const comm::Identity identity = comm::discover(environment);
  if (identity.world > 1)
    throw Error(Code::kUsage, "--ranks starts ranks itself, but this is " + identity.sentence,
                "leave --ranks to the launcher, or unset its variables");
  const int secret = make_secret();
  const comm::Listening listening = comm::listen_on(kHost, 0);
  Ranks all(ranks, secret, listening);
  ::close(secret);
  ::close(listening.socket);
  return all.wait();
}

}  // namespace lockstep::cli

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include "child.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/core/file_system.h"
#include "lockstep/core/json.h"
#include "lockstep/core/log.h"
#include "lockstep/core/text.h"
#include "lockstep/hash/hmac.h"
#include "lockstep/train/signals.h"
#include "output.h"
#include "ranks.h"
#include "startup.h"

extern char** environ;

namespace lockstep::cli {
namespace {

constexpr const char* kHost = "127.0.0.1";

[[noreturn]] void fail(const std::string& what, int error) {
  throw Error(Code::kEnvironment, what + ": " + std::generic_category().message(error));
}

// This process's arguments without those for the launcher.
std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> kept;
  for (std::string argument; std::getline(file, argument, '\0');) {
    if (argument == "--ranks" || argument == "--max-restarts") {
      std::getline(file, argument, '\0');  // its number
    } else if (!argument.starts_with("--ranks=") && !argument.starts_with("--max-restarts=")) {
      kept.push_back(argument);
    }
  }
  return kept;
}

// Memory that only this process and its ranks can open.
int make_memory(const char* name) {
  const int fd = ::memfd_create(name, MFD_CLOEXEC);
  if (fd < 0) fail("cannot make memory for the ranks", errno);
  return fd;
}

std::string text_of(int memory) {
  std::string text(static_cast<std::size_t>(std::max(::lseek(memory, 0, SEEK_END), off_t{0})),
                   '\0');
  return ::pread(memory, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) ? text
                                                                                           : "";
}

int make_secret() {
  const int fd = make_memory("lockstep-secret");
  std::array<std::byte, 32> secret{};
  hash::random_bytes(secret);
  if (::fchmod(fd, 0600) != 0 || ::write(fd, secret.data(), secret.size()) != 32)
    fail("cannot keep the secret", errno);
  return fd;
}

// Hands a descriptor over to one child, under its own number: any other number might be beyond the
// limit on open files.
void hand_over(posix_spawn_file_actions_t& actions, int fd) {
  posix_spawn_file_actions_adddup2(&actions, fd, fd);
}

// Whether this process has a file open that gets its name when it is whole: a checkpoint, as a
// rule, that would be lost.
bool writes_a_file(pid_t pid) {
  namespace stdfs = std::filesystem;
  std::error_code error;
  stdfs::directory_iterator file("/proc/" + std::to_string(pid) + "/fd", error);
  for (; !error && file != stdfs::directory_iterator(); file.increment(error)) {
    std::error_code gone;  // it was closed meanwhile
    if (is_temporary(stdfs::read_symlink(file->path(), gone).string())) return true;
  }
  return false;
}

// Blocks SIGCHLD and what stops a run during the launcher's whole life and takes them one by one. A
// rank starts with them blocked, too, until it can stop in good order.
class Signals {
 public:
  Signals() {
    sigemptyset(&awaited_);
    sigaddset(&awaited_, SIGCHLD);
    for (const int signal : train::stop_signals()) sigaddset(&awaited_, signal);
    sigprocmask(SIG_BLOCK, &awaited_, nullptr);
  }
  // The next one, or 0 if none comes in `seconds`.
  int next(double seconds) {
    const auto whole = static_cast<time_t>(seconds);
    const timespec wait{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
    const int signal = sigtimedwait(&awaited_, nullptr, &wait);
    if (signal > 0 && signal != SIGCHLD) stop_ = true;
    return std::max(signal, 0);
  }
  bool stop_requested() const { return stop_; }

 private:
  sigset_t awaited_{};
  bool stop_ = false;
};

// One attempt: all ranks from their start to their end.
class Ranks {
 public:
  // json: what rank 0 prints is kept. why: the attempt before, if there was one, for the run's log.
  Ranks(int count, bool json, std::string why)
      : notice_(make_memory("lockstep-notice")),
        said_(json ? make_memory("lockstep-said") : -1),
        why_(std::move(why)) {
    const int secret = make_secret();
    const comm::Listening listening = comm::listen_on(kHost, 0);
    try {
      require_open_files(count);  // each rank inherits those above
      for (int rank = 0; rank < count; ++rank) start(rank, count, secret, listening);
    } catch (...) {
      end();  // those that did start
      throw;
    }
    ::close(secret);
    ::close(listening.socket);
  }
  ~Ranks() {
    ::close(notice_);
    if (said_ >= 0) ::close(said_);
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  // grace: seconds that the others get once one has failed; then they are killed, but for one that
  // writes a file, which gets kMostGraces times as long.
  void wait(Signals& signals, double grace) {
    double until = kForever;  // on the clock of monotonic_seconds
    int graces = 0;
    while (running_ > 0) {
      const bool failed = first_ != Code::kOk && first_ != Code::kPreempted;
      if (failed && !ending_) {
        ending_ = true;
        until = monotonic_seconds() + grace;
      }
      if (monotonic_seconds() >= until) {
        ++graces;
        until = kill_those_left(graces * grace, /*all=*/graces == kMostGraces) ? kForever
                                                                               : until + grace;
      }
      const int signal = signals.next(std::clamp(until - monotonic_seconds(), 0.01, 3600.0));
      if (signal > 0 && signal != SIGCHLD) {
        // They end at once at a Ctrl-C that is not the first signal (train/signals.h).
        send(stopping_ && signal == SIGINT ? SIGINT : SIGTERM);
        stopping_ = true;
      }
      reap();
    }
  }

  Code code() const { return first_; }  // of the rank that failed first, or kOk
  // Ranks that died by themselves; if none did, those that did not end with the others.
  int lost() const { return died_ > 0 ? died_ : hung_; }
  const std::string& cause() const { return cause_; }

  // The one object of all ranks, with the code of all: rank 0's, or what ended the first that
  // failed, where rank 0 was killed before it could speak, or ended as if all were well.
  Json json() const {
    std::optional<Json> said = parse_json(text_of(said_));
    if (said && said->contains("error")) {
      (*said)["error"]["code"] = static_cast<int>(first_);
      return *said;
    }
    if (said && code_of_0_ == first_) return *said;
    return error_json(first_, what_ended_, "");
  }

 private:
  static constexpr double kForever = 1e18;
  static constexpr int kMostGraces = 20;

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
    set("LOCKSTEP_SECRET_FILE", std::string("/proc/self/fd/").append(std::to_string(secret)));
    set("LOCKSTEP_NOTICE", std::to_string(notice_));
    if (rank == 0) set("LOCKSTEP_LISTENING_SOCKET", std::to_string(listening.socket));
    set("LOCKSTEP_RESTART", rank == 0 ? why_ : "");
    for (char** variable = environ; *variable != nullptr; ++variable)
      variables.emplace_back(*variable);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    hand_over(actions, secret);
    hand_over(actions, notice_);
    if (rank == 0) hand_over(actions, listening.socket);
    if (rank == 0 && said_ >= 0) posix_spawn_file_actions_adddup2(&actions, said_, STDOUT_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    // A process group of its own: the terminal's Ctrl-C reaches only the launcher, which passes it
    // on.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    pid_t pid = 0;
    const int error = posix_spawn(&pid, "/proc/self/exe", &actions, &attributes,
                                  pointers(arguments).data(), pointers(variables).data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) fail("cannot start rank " + std::to_string(rank), error);
    pids_.push_back(pid);
    was_killed_.push_back(false);
    ++running_;
  }

  void end() const {
    send(SIGKILL);
    for (const pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
  }

  void send(int signal) const {
    for (const pid_t pid : pids_) {
      if (pid > 0) ::kill(pid, signal);
    }
  }

  // all: those that write, too. Whether nobody is left.
  bool kill_those_left(double waited, bool all) {
    bool nobody = true;
    for (std::size_t rank = 0; rank < pids_.size(); ++rank) {
      if (pids_[rank] == 0 || was_killed_[rank]) continue;
      if (!all && writes_a_file(pids_[rank])) {
        nobody = false;
        continue;
      }
      was_killed_[rank] = true;
      ++hung_;
      note("rank " + std::to_string(rank) + " was killed: it had not ended " + fixed(waited, 1) +
           " s after the first that failed");
      ::kill(pids_[rank], SIGKILL);
    }
    return nobody;
  }

  // For ranks that still wait at the rendezvous and cannot know: they read this from the start. A
  // rank that has met the others sees a connection close.
  void tell_the_others(const std::string& what) const {
    const std::string text = what + " before all ranks had met";
    [[maybe_unused]] const ssize_t n = ::pwrite(notice_, text.data(), text.size(), 0);
  }

  void note(const std::string& what) {
    cause_ += (cause_.empty() ? "" : ", ") + what;
    log::warn(what);
  }

  void reap() {
    for (std::size_t rank = 0; rank < pids_.size(); ++rank) {
      int status = 0;
      pid_t& pid = pids_[rank];
      if (pid == 0 || ::waitpid(pid, &status, WNOHANG) != pid) continue;
      pid = 0;
      --running_;
      const bool killed = WIFSIGNALED(status);
      // By the signal that asked for an end, before it could end in good order.
      const bool stopped =
          killed && stopping_ && (WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGINT);
      const Code code = !killed   ? static_cast<Code>(WEXITSTATUS(status))
                        : stopped ? Code::kPreempted
                                  : Code::kNetwork;
      const std::string what =
          "rank " + std::to_string(rank) +
          (killed ? " was killed by signal " + std::to_string(WTERMSIG(status))
                  : " ended with exit code " + std::to_string(WEXITSTATUS(status)));
      if (first_ == Code::kOk && code != Code::kOk) tell_the_others(what);
      if (killed && !stopped && hung_ == 0) {
        ++died_;
        note(what);
      }
      if (rank == 0) code_of_0_ = code;
      // A rank that reports another's failure (kNetwork) is not its cause.
      if (first_ == Code::kOk || (first_ == Code::kNetwork && code != Code::kOk)) {
        if (code != first_) what_ended_ = stopped ? "stopped by a signal" : what;
        first_ = code;
      }
    }
  }

  int notice_, said_;
  const std::string why_;
  std::vector<pid_t> pids_;       // 0: has ended
  std::vector<bool> was_killed_;  // by this one
  int running_ = 0, died_ = 0, hung_ = 0;
  bool ending_ = false, stopping_ = false;
  Code first_ = Code::kOk, code_of_0_ = Code::kOk;
  std::string cause_, what_ended_;
};

}  // namespace

Code launch(const Launch& how, const comm::Environment& environment) {
  const comm::Identity identity = comm::discover(environment);
  if (identity.world > 1)
    throw Error(
        Code::kUsage,
        "--ranks and --max-restarts start ranks themselves, but this is " + identity.sentence,
        "leave them to the launcher, or unset its variables");
  const double limit = deadline(environment) / 2;
  transport(environment);  // a mistake is told once, not by each rank
  // Ranks are no foreground group of the terminal: after `stty tostop` their first line would stop
  // them for good. What is ignored here is ignored there.
  std::signal(SIGTTOU, SIG_IGN);
  Signals signals;
  int ranks = how.ranks;
  std::string why;
  for (int restarts = 0;; ++restarts) {
    Ranks attempt(ranks, how.json, why);
    attempt.wait(signals, limit);
    while (signals.next(0) != 0) {  // signals that came last
    }
    // Any other cause (recipe, data, disk, divergence, bits) would occur again.
    if (attempt.code() != Code::kNetwork || restarts == how.max_restarts ||
        signals.stop_requested()) {
      if (how.json) print_json(attempt.json());
      return attempt.code();
    }
    ranks = std::max(1, ranks - attempt.lost());
    why = "restart " + std::to_string(restarts + 1) + " of " + std::to_string(how.max_restarts) +
          ", with " + counted(ranks, "rank") + " from the last checkpoint: " +
          (attempt.cause().empty() ? "the network failed" : attempt.cause());
    log::warn(why);
  }
}

}  // namespace lockstep::cli

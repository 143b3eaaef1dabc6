#include "child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <system_error>

#include "lockstep/core/error.h"
#include "lockstep/train/signals.h"

extern char** environ;

namespace lockstep::cli {
namespace {

constexpr int kLook = 5;  // milliseconds

std::vector<std::string> environment_with(const std::vector<std::string>& settings) {
  std::map<std::string, std::string> all;  // "NAME=": "value"
  const auto set = [&](const std::string& text) {
    const auto value = text.find('=') + 1;
    all[text.substr(0, value)] = text.substr(value);
  };
  for (char** variable = environ; *variable != nullptr; ++variable) set(*variable);
  for (const std::string& setting : settings) set(setting);
  std::vector<std::string> texts;
  for (const auto& [name, value] : all) texts.push_back(name + value);
  return texts;
}

}  // namespace

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

int run_child(std::vector<std::string> arguments, const std::vector<std::string>& settings,
              const std::string& output) {
  std::vector<std::string> variables = environment_with(settings);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (!output.empty())
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t ignored_here;  // by start_up, and passed on otherwise
  sigemptyset(&ignored_here);
  for (const int signal : {SIGXFSZ, SIGPIPE}) sigaddset(&ignored_here, signal);
  posix_spawnattr_setsigdefault(&attributes, &ignored_here);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const bool stopped_before = train::stop_requested();  // and this one tidies up
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, arguments.front().c_str(), &actions, &attributes,
                                 pointers(arguments).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0)
    throw Error(Code::kEnvironment, "cannot start " + arguments.front() + ": " +
                                        std::generic_category().message(error));
  int status = 0;
  // A signal may come between a look and a wait, so no wait is long.
  for (bool told = false;;) {
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid) break;
    if (ended < 0 && errno != EINTR)
      throw Error(Code::kEnvironment, "cannot hear how " + arguments.front() +
                                          " ended: " + std::generic_category().message(errno));
    if (!stopped_before && !told && train::stop_requested()) {
      ::kill(pid, SIGTERM);
      told = true;
    }
    ::poll(nullptr, 0, kLook);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string own_program() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error)
    throw Error(Code::kEnvironment,
                "cannot find this program's own file: /proc/self/exe: " + error.message(),
                "mount /proc");
  return program.string();
}

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const auto above = std::filesystem::temp_directory_path(error);
  if (error)
    throw Error(Code::kEnvironment, "there is no folder for temporary files: " + error.message(),
                "set TMPDIR to a folder that is there, or leave it unset");
  path_ = (above / "lockstep-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr)
    throw Error(Code::kEnvironment, "cannot make a folder like " + path_ + ": " +
                                        std::generic_category().message(errno));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace lockstep::cli

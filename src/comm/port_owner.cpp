#include "port_owner.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <vector>

#include "lockstep/core/text.h"

namespace lockstep::comm {
namespace {

std::string hex_port(int port) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  return {kDigits[port >> 12 & 15], kDigits[port >> 8 & 15], kDigits[port >> 4 & 15],
          kDigits[port & 15]};
}

// "socket:[inode]" of every socket that listens there. Columns: sl local remote state … inode.
std::set<std::string> listeners(const std::filesystem::path& proc, int port) {
  std::set<std::string> found;
  for (const char* table : {"net/tcp", "net/tcp6"}) {
    std::ifstream file(proc / table);
    std::string line;
    while (std::getline(file, line)) {
      std::istringstream words(line);
      std::vector<std::string> column;
      for (std::string word; words >> word;) column.push_back(word);
      if (column.size() > 9 && column[3] == "0A" && column[1].ends_with(":" + hex_port(port)))
        found.insert("socket:[" + column[9] + "]");
    }
  }
  return found;
}

bool holds(const std::filesystem::path& process, const std::set<std::string>& sockets) {
  std::error_code ignored;  // processes of others, and those that end while we look
  std::filesystem::directory_iterator fds(process / "fd", ignored);
  for (; !ignored && fds != std::filesystem::directory_iterator(); fds.increment(ignored)) {
    std::array<char, 64> target;
    const ssize_t length = readlink(fds->path().c_str(), target.data(), target.size());
    if (length > 0 && sockets.contains({target.data(), static_cast<std::size_t>(length)}))
      return true;
  }
  return false;
}

// Clock ticks after the machine's start. The command, the second word, stands in parentheses and
// may have any characters.
std::int64_t start_of(const std::filesystem::path& process) {
  std::ifstream file(process / "stat");
  const std::string line{std::istreambuf_iterator<char>(file), {}};
  std::istringstream words(line.substr(std::min(line.rfind(')') + 1, line.size())));
  std::string word;
  for (int column = 3; column <= 22; ++column) words >> word;
  return parse_int(word).value_or(std::numeric_limits<std::int64_t>::max() - 1);
}

std::string command_of(const std::filesystem::path& process) {
  std::ifstream file(process / "cmdline");
  std::string command{std::istreambuf_iterator<char>(file), {}};
  std::replace(command.begin(), command.end(), '\0', ' ');
  while (!command.empty() && command.back() == ' ') command.pop_back();
  return command.substr(0, 100);
}

}  // namespace

bool somebody_listens(int port) {
  return !listeners("/proc", port).empty();
}

std::string port_owner(int port, const std::filesystem::path& proc) {
  const std::set<std::string> sockets = listeners(proc, port);
  if (sockets.empty()) return "";
  std::int64_t earliest = std::numeric_limits<std::int64_t>::max();
  std::string owner;
  std::error_code ignored;
  std::filesystem::directory_iterator processes(proc, ignored);
  for (; !ignored && processes != std::filesystem::directory_iterator();
       processes.increment(ignored)) {
    const std::filesystem::path& process = processes->path();
    const auto pid = parse_int(process.filename().string());
    if (!pid || *pid == getpid() || !holds(process, sockets)) continue;
    if (const std::int64_t started = start_of(process); started < earliest) {
      earliest = started;
      owner = "process " + std::to_string(*pid) + " (" + command_of(process) + ")";
    }
  }
  return owner;
}

}  // namespace lockstep::comm

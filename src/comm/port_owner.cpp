#include "port_owner.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
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
std::set<std::string> listeners(int port) {
  std::set<std::string> found;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
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

std::string command_of(const std::filesystem::path& process) {
  std::ifstream file(process / "cmdline");
  std::string command{std::istreambuf_iterator<char>(file), {}};
  std::replace(command.begin(), command.end(), '\0', ' ');
  while (!command.empty() && command.back() == ' ') command.pop_back();
  return command.substr(0, 100);
}

}  // namespace

std::string port_owner(int port) {
  const std::set<std::string> sockets = listeners(port);
  if (sockets.empty()) return "";
  std::error_code ignored;
  std::filesystem::directory_iterator processes("/proc", ignored);
  for (; !ignored && processes != std::filesystem::directory_iterator();
       processes.increment(ignored)) {
    const std::string pid = processes->path().filename();
    if (parse_int(pid) && holds(processes->path(), sockets))
      return "process " + pid + " (" + command_of(processes->path()) + ")";
  }
  return "";
}

}  // namespace lockstep::comm

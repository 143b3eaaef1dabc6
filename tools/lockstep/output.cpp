#include "output.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "lockstep/core/printable.h"

namespace lockstep::cli {
namespace {

std::string& printed() {
  static std::string text;
  return text;
}

}  // namespace

void print_text_line(std::string_view line) {
  printed() += printable(line) + "\n";
}

void print_lines(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    print_text_line(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

void print_json(const Json& json) {
  printed() += json_line(json);
}

Json error_json(Code code, const std::string& message, const std::string& hint) {
  return {{"error", {{"code", static_cast<int>(code)}, {"message", message}, {"hint", hint}}}};
}

std::string right(const std::string& text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

std::string left(const std::string& text, std::size_t width) {
  return text.size() < width ? text + std::string(width - text.size(), ' ') : text;
}

namespace {

// As a terminal is, also one that is gone, where isatty fails: writing to that fails with EIO.
bool is_character_device(int descriptor) {
  struct stat found {};
  return ::fstat(descriptor, &found) == 0 && S_ISCHR(found.st_mode);
}

}  // namespace

void flush_output() {
  const std::string text = std::exchange(printed(), {});
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EPIPE || (errno == EIO && is_character_device(STDOUT_FILENO)))) return;
    if (n < 0 && errno == EAGAIN) {  // who made the stream has it not wait: the reader is slow
      pollfd ready{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
      ::poll(&ready, 1, -1);
      continue;
    }
    if (n < 0)
      throw Error(
          Code::kEnvironment,
          "cannot write the result to standard output: " + std::generic_category().message(errno),
          "the command is done; only what it printed is lost");
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace lockstep::cli

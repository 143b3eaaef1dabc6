#include "core/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

namespace lockstep::log {
namespace {

constexpr std::string_view kClear = "\x1b[K";  // from the cursor to the end of the line
constexpr std::size_t kUnknownWidth = 80;

std::size_t columns() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUnknownWidth;
}

// The first `width` characters of UTF-8.
std::string_view cut(std::string_view line, std::size_t width) {
  for (std::size_t i = 0, characters = 0; i < line.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(line[i]) & 0xc0) != 0x80;
    if (begins && characters++ == width) return line.substr(0, i);
  }
  return line;
}

// As many whole fields as fit: a number that is cut is another one.
std::string_view fields(std::string_view line, std::size_t width) {
  const std::string_view head = cut(line, width);
  const std::size_t end = head.size() < line.size() ? line.rfind("  ", head.size()) : line.npos;
  return end == line.npos ? head : line.substr(0, end);
}

// At once: ranks share this stream, and their lines must not run into each other.
void write(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

void Terminal::told(std::string_view kind) {
  can_ = ::isatty(STDERR_FILENO) == 1 && !kind.empty() && kind != "dumb";
}

bool Terminal::live() const {
  if (!can_ || !should_log(spdlog::level::info)) return false;
  const pid_t foreground = ::tcgetpgrp(STDERR_FILENO);
  return foreground < 0 || foreground == ::getpgrp();  // below 0: nobody's terminal
}

// The cursor stays at the line's start: whatever else is written there overwrites it. The last
// column stays free, where terminals would begin a new line.
std::string Terminal::drawn() const {
  if (status_.empty()) return {};
  return std::string(fields(status_, columns() - 1)).append(kClear) + "\r";
}

void Terminal::status(const std::string& line) {
  const std::lock_guard lock(mutex_);
  const bool shown = !status_.empty();
  status_ = live() ? line : "";
  if (!status_.empty())
    write(drawn());
  else if (shown)
    write(kClear);
}

void Terminal::sink_it_(const spdlog::details::log_msg& message) {
  spdlog::memory_buf_t line;
  formatter_->format(message, line);
  std::string text(status_.empty() ? "" : kClear);
  text.append(line.data(), line.size());
  write(text + drawn());
}

}  // namespace lockstep::log

#include "lockstep/core/log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "core/terminal.h"
#include "lockstep/core/bytes.h"
#include "lockstep/core/error.h"
#include "lockstep/core/file_system.h"
#include "lockstep/core/printable.h"

namespace lockstep::log {
namespace {

constexpr std::size_t kMostEarly = 65536;  // bytes

// Through the seam: spdlog's own would follow a link planted at the log's name. Always in the
// logger's list, which other threads read at any time; the file comes and goes behind the lock.
class FileSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  void put(std::unique_ptr<File> file) {
    const std::lock_guard lock(mutex_);
    file_ = std::move(file);
    if (!file_) return;
    opened_ = true;
    const std::string early = std::exchange(early_, {});
    try {
      if (!early.empty()) file_->append(as_bytes(early));
    } catch (const Error&) {  // as of any line (Sinks): a full disk has other failures
    }
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (file_)
      file_->append(std::as_bytes(std::span(line.data(), line.size())));
    else if (!opened_ && early_.size() + line.size() <= kMostEarly)
      early_.append(line.data(), line.size());
  }
  void flush_() override {}

  std::unique_ptr<File> file_;
  bool opened_ = false;
  std::string early_;  // lines from before there was a file
};

// The terminal shows the bare line, the file adds the time.
struct Sinks {
  std::shared_ptr<Terminal> terminal = std::make_shared<Terminal>();
  std::shared_ptr<FileSink> file = std::make_shared<FileSink>();
  spdlog::logger logger{"lockstep", {terminal, file}};

  Sinks() {
    terminal->set_pattern("%v");
    file->set_pattern("%Y-%m-%dT%H:%M:%S%z %v");
    // A log that cannot be written (a full disk) must not hide the disk's other failures.
    logger.set_error_handler([](const std::string&) {});
  }
};

Sinks& sinks() {
  static Sinks instance;
  return instance;
}

}  // namespace

void info(const std::string& line) {
  sinks().logger.info("{}", printable(line));
}
void warn(const std::string& line) {
  sinks().logger.warn("warning: {}", printable(line));
}
void error(const std::string& line) {
  sinks().logger.error("{}", printable(line));
}

void to_file(const std::string& line) noexcept try {
  sinks().file->log({"lockstep", spdlog::level::info, printable(line)});
} catch (const std::exception&) {  // a full disk
}

void set_terminal(std::string_view kind) {
  sinks().terminal->told(kind);
}
bool live() {
  return sinks().terminal->live();
}
void status(const std::string& line) {
  sinks().terminal->status(printable(line));
}

void set_quiet(bool quiet) {
  sinks().terminal->set_level(quiet ? spdlog::level::warn : spdlog::level::info);
}

void open_file(const std::filesystem::path& path) {
  sinks().file->put(real_file_system().open_append(path));
}

void close_file() {
  sinks().file->put(nullptr);
}

}  // namespace lockstep::log

#include "lockstep/core/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "lockstep/core/error.h"

namespace lockstep::log {
namespace {

// The terminal shows the bare line, the file adds the time.
struct Sinks {
  std::shared_ptr<spdlog::sinks::sink> terminal = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  std::shared_ptr<spdlog::sinks::sink> file;
  spdlog::logger logger{"lockstep", terminal};

  Sinks() {
    terminal->set_pattern("%v");
    // A log that cannot be written (a full disk) must not hide what else the disk fails for.
    logger.set_error_handler([](const std::string&) {});
  }
};

Sinks& sinks() {
  static Sinks instance;
  return instance;
}

}  // namespace

void info(const std::string& line) {
  sinks().logger.info("{}", line);
}
void warn(const std::string& line) {
  sinks().logger.warn("warning: {}", line);
}
void error(const std::string& line) {
  sinks().logger.error("{}", line);
}

void set_quiet(bool quiet) {
  sinks().terminal->set_level(quiet ? spdlog::level::warn : spdlog::level::info);
}

void open_file(const std::filesystem::path& path) {
  close_file();
  try {
    sinks().file = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string(), false);
  } catch (const spdlog::spdlog_ex& failure) {
    throw Error(Code::kEnvironment, std::string("cannot open the log: ") + failure.what(),
                "is the run folder writable?");
  }
  sinks().file->set_pattern("%Y-%m-%dT%H:%M:%S%z %v");
  sinks().logger.sinks().push_back(sinks().file);
  sinks().logger.flush_on(spdlog::level::info);
}

void close_file() {
  if (!sinks().file) return;
  sinks().logger.sinks().pop_back();
  sinks().file.reset();
}

}  // namespace lockstep::log

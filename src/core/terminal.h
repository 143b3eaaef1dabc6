// Private: standard error. On a terminal one more line stands below all others, refreshed in place.
#pragma once

#include <spdlog/sinks/base_sink.h>

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>

namespace lockstep::log {

class Terminal final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  // kind: the terminal's, as TERM has it; "" until it is told.
  void told(std::string_view kind);
  // Whether a line can be refreshed in place: a terminal that knows how, this process in its
  // foreground.
  bool live() const;
  // Shows the line instead of the last one, cut to the terminal's width; "" shows none.
  void status(const std::string& line);

 private:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}
  std::string drawn() const;

  std::atomic<bool> can_ = false;
  std::string status_;
};

}  // namespace lockstep::log

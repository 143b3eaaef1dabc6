// The log for people: one line an event on stderr, and in the run's log.txt while one is open.
// Standard output belongs to a command's result. Library code says what it does here and prints
// nowhere. Any thread may call.
#pragma once

#include <filesystem>
#include <string>

namespace lockstep::log {

void info(const std::string& line);
void warn(const std::string& line);
void error(const std::string& line);

void set_quiet(bool quiet);                         // info to the file only
void open_file(const std::filesystem::path& path);  // append; throws Error(kEnvironment)
void close_file();

}  // namespace lockstep::log

// The log for people: one line an event on stderr, and in the run's log.txt while one is open; the
// first one that is opened gets the lines before it, too, as far as they fit into 64 KiB.
// Standard output belongs to a command's result. Library code says what it does here and prints
// nowhere. Any thread may call.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace lockstep::log {

void info(const std::string& line);
void warn(const std::string& line);
void error(const std::string& line);
void to_file(const std::string& line) noexcept;  // what standard error shows otherwise

// How far something is: a line below all others on the terminal, refreshed in place, cut to its
// width; "" takes it away. Shows nothing where not `live`: no terminal, its kind (TERM) not told or
// "dumb", in the background, quiet.
void status(const std::string& line);
bool live();
void set_terminal(std::string_view kind);

void set_quiet(bool quiet);                         // info to the file only
void open_file(const std::filesystem::path& path);  // append; throws Error(kEnvironment)
void close_file();

}  // namespace lockstep::log

// The one place where commands print their result. It is kept until the command ends and then
// written to standard output as a whole. A failed write is an error, so nobody takes half for all.
#pragma once

#include <sstream>
#include <string>
#include <string_view>

#include "lockstep/core/error.h"
#include "lockstep/core/json.h"

namespace lockstep::cli {

// Prints one line, whatever bytes are in it (core/printable.h): foreign names and facts cannot
// forge a second line.
void print_text_line(std::string_view line);

template <class... Parts>
void print_line(const Parts&... parts) {
  std::ostringstream line;
  (line << ... << parts);
  print_text_line(line.str());
}

// Prints each line that LF ends; for this program's own text.
void print_lines(std::string_view text);

// What --json prints: one line (core/json.h).
void print_json(const Json& json);

// An error as --json prints it: {"error":{"code":2,"message":…,"hint":…}}.
Json error_json(Code code, const std::string& message, const std::string& hint);

// Aligns a text in a column of `width`, with spaces; a longer text stays as it is.
std::string right(const std::string& text, std::size_t width);
std::string left(const std::string& text, std::size_t width);

// Writes what was printed. Throws Error(kEnvironment) if that fails. A reader that has gone away is
// no failure: it has read what it wanted.
void flush_output();

}  // namespace lockstep::cli

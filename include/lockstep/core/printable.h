// Foreign text for people: names of files, facts of other machines, bytes of damaged files.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

// What a terminal and a log can take in one line: printable UTF-8 stays, every other byte becomes
// \xNN. So does a character that ends or reorders a line, such as U+2028 or U+202E.
std::string printable(std::string_view text);

}  // namespace lockstep

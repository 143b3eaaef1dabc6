#include "support/ptx/program.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "support/ptx/reader.h"
#include "support/ptx/text.h"

namespace lockstep::test::ptx {

void die(const std::string& what) {
  std::fprintf(stderr, "PTX: %s\n", what.c_str());
  std::abort();
}

// Cuts the text at its outermost braces and semicolons.
Module::Module(std::string text) : text_(std::move(text)) {
  const std::string_view all = text_;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\n', at), all.size());
    lines_.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  std::size_t start = 0;
  for (std::size_t at = 0; at < all.size(); ++at) {
    if (all[at] == '/' && all.substr(at, 2) == "//") {
      at = std::min(all.find('\n', at), all.size());
      if (only_space(all.substr(start, at - start))) start = at;
    } else if (all[at] == ';') {
      read_variable(all.substr(start, at - start));
      start = at + 1;
    } else if (all[at] == '{') {
      const std::string_view head = all.substr(start, at - start);
      const bool function = head.find(".entry") != head.npos || head.find(".func") != head.npos;
      std::size_t depth = 1, end = at + 1;
      for (; depth > 0; ++end) depth += all[end] == '{' ? 1 : all[end] == '}' ? -1UL : 0;
      if (function) {
        sources_[name_of_head(head)] = {head, all.substr(at + 1, end - at - 2)};
        start = end;
      }
      at = end - 1;
    }
  }
}

Module::~Module() {
  for (const auto& bytes : memory_) memory().remove(bytes.data());
}

// .global .align 4 .b8 name[56] = {1, 2, …}
void Module::read_variable(std::string_view statement) {
  const std::size_t global = statement.find(".global ");
  const std::size_t open = statement.find('[', global), equals = statement.find('=');
  if (global == statement.npos || open == statement.npos) return;
  if (statement.find(".b8") == statement.npos || equals == statement.npos)
    die("a variable that is not bytes: " + std::string(statement));
  const std::size_t name = statement.find_last_of(" \t", open) + 1;
  std::vector<std::byte, Malloc<std::byte>> bytes(number_of(statement.substr(open + 1)));
  std::size_t at = statement.find('{', equals) + 1;
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(number_of(statement.substr(at)));
    at = statement.find_first_of(",}", at) + 1;
  }
  variables_[std::string(statement.substr(name, open - name))] = memory_.size();
  memory().add(bytes.data(), bytes.size());
  memory_.push_back(std::move(bytes));
}

void* Module::variable(const std::string& name) {
  const auto found = variables_.find(name);
  return found == variables_.end() ? nullptr : memory_[found->second].data();
}

const Function& Module::function(const std::string& name) {
  std::unique_ptr<Function>& function = functions_[name];
  if (!function) {
    const auto source = sources_.find(name);
    if (source == sources_.end()) die("no function " + name);
    function =
        read_function(*this, name, source->second.head, source->second.body,
                      static_cast<int>(std::count(text_.data(), source->second.body.data(), '\n')));
    function->lines = &lines_;
  }
  return *function;
}

}  // namespace lockstep::test::ptx

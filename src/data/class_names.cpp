#include <algorithm>
#include <set>

#include "lockstep/core/error.h"
#include "lockstep/data/labels.h"

namespace lockstep::data {
namespace {

std::string fault_of(const std::string& name) {
  if (name.empty()) return "is empty";
  if (name.size() > kLongestClassName)
    return "has more than " + std::to_string(kLongestClassName) + " bytes";
  const bool control = std::ranges::any_of(
      name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  return control ? "has a control character" : "";
}

}  // namespace

void require_class_names(const ClassNames& names) {
  if (std::ssize(names) > kMostClasses)
    throw Error(Code::kData, std::to_string(names.size()) + " names of classes",
                "at most " + std::to_string(kMostClasses) + " classes are possible");
  std::set<std::string> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string fault =
        seen.insert(names[i]).second ? fault_of(names[i]) : "is that of another class";
    if (!fault.empty())
      throw Error(Code::kData, "the name of the class " + std::to_string(i) + " " + fault,
                  "give the class another name");
  }
}

std::string text_of(const ClassNames& names) {
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  return text;
}

ClassNames parse_class_names(std::string_view text) {
  ClassNames names;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos)
      throw Error(Code::kData, "names of classes that are cut off");
    names.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
    if (std::ssize(names) > kMostClasses) break;  // which is refused
  }
  require_class_names(names);
  return names;
}

}  // namespace lockstep::data

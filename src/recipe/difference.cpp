// Names the first key in which two recipes differ.
#include <algorithm>

#include "lockstep/recipe/canonical.h"

namespace lockstep::recipe {

std::vector<std::pair<std::string, std::string>> keys_of(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> keys;
  std::string table;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t equals = line.find(" = ");
    if (line.starts_with('[')) {
      table = line.substr(1, line.size() - 2) + ".";
    } else if (equals != std::string::npos) {
      keys.emplace_back(table + line.substr(0, equals), line.substr(equals + 3));
    }
  }
  return keys;
}

std::string first_difference(const std::string& here, const std::string& there) {
  const auto mine = keys_of(here), theirs = keys_of(there);
  const auto value = [](const auto& keys, const std::string& name) {
    const auto at = std::find_if(keys.begin(), keys.end(),
                                 [&](const auto& pair) { return pair.first == name; });
    return at == keys.end() ? std::string("absent") : at->second;
  };
  for (const auto& [name, text] : mine) {
    if (value(theirs, name) != text) return name + " is " + text + ", there " + value(theirs, name);
  }
  for (const auto& [name, text] : theirs) {
    if (value(mine, name) != text) return name + " is absent, there " + text;
  }
  return "semantics differs";
}

}  // namespace lockstep::recipe

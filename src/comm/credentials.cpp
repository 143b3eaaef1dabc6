#include <map>

#include "rendezvous.h"

namespace lockstep::comm {
namespace {

constexpr int kNamed = 4;  // differences that a line has room for

const Credential* find(const std::vector<Credential>& list, const std::string& name) {
  for (const Credential& credential : list)
    if (credential.name == name) return &credential;
  return nullptr;
}

}  // namespace

Differences compare(const std::vector<std::vector<Credential>>& of_ranks,
                    const std::vector<std::string>& hosts) {
  std::vector<Credential> fields;  // of any rank, in order of first appearance
  for (const auto& list : of_ranks)
    for (const Credential& credential : list)
      if (!find(fields, credential.name)) fields.push_back(credential);

  Differences found;
  int count = 0;
  for (const Credential& field : fields) {
    std::map<std::string, std::string> ranks;  // by value
    for (std::size_t r = 0; r < of_ranks.size(); ++r) {
      const Credential* mine = find(of_ranks[r], field.name);
      std::string& who = ranks[mine ? "'" + mine->value.substr(0, 200) + "'" : "nothing"];
      who += (who.empty() ? "rank " : ", rank ") + std::to_string(r) + " on " + hosts[r];
    }
    bool report_only = true;
    for (const auto& list : of_ranks)
      if (const Credential* mine = find(list, field.name)) report_only &= mine->report_only;
    if (ranks.size() == 1) continue;
    found.refused |= !report_only;
    if (++count > kNamed) continue;
    found.lines += (found.lines.empty() ? "" : "; ") + field.name + ": ";
    std::string separator;
    for (const auto& [value, who] : ranks) {
      found.lines += separator + who + " has " + value;
      separator = ", ";
    }
  }
  if (count > kNamed) found.lines += "; and " + std::to_string(count - kNamed) + " more";
  return found;
}

}  // namespace lockstep::comm

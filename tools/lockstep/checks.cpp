#include "checks.h"

#include "lockstep/core/json.h"
#include "lockstep/core/text.h"
#include "output.h"

namespace lockstep::cli {

void print(const Checks& checks, bool json) {
  Json list = Json::array();
  bool all_fine = true;
  for (const Check& check : checks.list) {
    const bool fine = check.code == Code::kOk;
    all_fine = all_fine && fine;
    if (json)
      list.push_back({{"check", check.name},
                      {"ok", fine},
                      {"warning", check.warning},
                      {"detail", check.detail}});
    else
      print_line(!fine           ? "FAIL  "
                 : check.warning ? "warn  "
                                 : "ok    ",
                 left(check.name, 11), " ", check.detail);
  }
  if (json) print_json({{"ok", all_fine}, {"checks", list}});
}

std::string told(const Checks& checks) {
  constexpr std::size_t kMostChecks = 50, kMostDetail = 1000;
  Json list = Json::array();
  for (const Check& check : checks.list)
    if ((check.code != Code::kOk || check.warning) && list.elements().size() < kMostChecks)
      list.push_back({{"check", check.name},
                      {"detail", check.detail.substr(0, kMostDetail)},
                      {"code", static_cast<int>(check.code)}});
  return json_text(list);
}

void add_told(const std::string& rank, const std::string& host, const std::string& text,
              Checks& checks) {
  try {
    const Json list = parse_json(text).value_or(Json());
    for (const Json& one : list.elements()) {
      const auto code = static_cast<Code>(one.at("code").get<std::int64_t>());
      checks.list.push_back({rank,
                             "on " + host + ": " + one.at("check").get<std::string>() + ": " +
                                 one.at("detail").get<std::string>(),
                             code, code == Code::kOk});
    }
  } catch (const JsonError&) {
    checks.list.push_back({rank, "on " + host + ": what it tells cannot be read", Code::kNetwork});
  }
}

}  // namespace lockstep::cli

#include "lockstep/ledger/format.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "lockstep/core/bytes.h"
#include "lockstep/core/error.h"
#include "lockstep/core/scan.h"
#include "lockstep/core/text.h"

namespace lockstep::ledger {
namespace {

constexpr std::string_view kChainKey = ",\"chain\":";

[[noreturn]] void refuse(const std::string& what) {
  throw Error(Code::kCorrupt, what);
}

bool is_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), allowed);
}

bool is_nan(float value) {
  return (std::bit_cast<std::uint32_t>(value) & 0x7fffffffu) > 0x7f800000u;
}
bool is_nan(double value) {
  return (std::bit_cast<std::uint64_t>(value) << 1) > std::uint64_t{0x7ff} << 53;
}

// Of a loss or another number that may be none.
template <class T>
std::string value_text(T value) {
  if (is_nan(value)) return "\"nan\"";
  const std::string text = to_text(value);
  return text.ends_with("inf") ? '"' + text + '"' : text;
}

template <class T>
std::string values_text(const Named<T>& values) {
  std::string text = "{";
  for (const auto& [name, value] : values) {
    LOCKSTEP_ASSERT(is_name(name), name);
    text += (text.size() > 1 ? ",\"" : "\"") + name + "\":" + value_text(value);
  }
  return text + "}";
}

std::string quoted(const hash::Digest& digest) {
  return '"' + digest.hex() + '"';
}

// Appends chain, closing brace and LF to `body`.
std::string chained(std::string body, const hash::Digest& previous, hash::Digest& chain) {
  chain = hash::Sha256().update(previous.view()).update(as_bytes(body)).finish();
  body += kChainKey;
  body += quoted(chain) + "}\n";
  return body;
}

// Reads the one text form from left to right.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool take(std::string_view literal) { return lockstep::take(rest_, literal); }
  void expect(std::string_view literal) {
    if (!take(literal)) {
      refuse("expected " + std::string(literal) + " where it has '" +
             std::string(rest_.substr(0, 24)) + "'");
    }
  }
  std::int64_t integer() { return number<std::int64_t>("a whole number"); }
  template <class T>
  T value() {
    if (take("\"nan\"")) return std::numeric_limits<T>::quiet_NaN();
    if (take("\"inf\"")) return std::numeric_limits<T>::infinity();
    if (take("\"-inf\"")) return -std::numeric_limits<T>::infinity();
    return number<T>("a number");
  }
  // Behind the brace that begins them.
  template <class T>
  Named<T> values(const char* bad_name) {
    Named<T> all;
    while (!take("}")) {
      if (!all.empty()) expect(",");
      std::string name = word();
      if (!is_name(name)) refuse(bad_name);
      expect(":");
      all.emplace_back(std::move(name), value<T>());
    }
    return all;
  }
  hash::Digest digest() {
    expect("\"");
    const std::string_view digits = rest_.substr(0, 64);
    const auto value = hash::Digest::from_hex(digits);
    rest_.remove_prefix(digits.size());
    expect("\"");
    return value;
  }
  std::string word() {
    expect("\"");
    const std::string text(rest_.substr(0, rest_.find('"')));
    rest_.remove_prefix(text.size());
    expect("\"");
    return text;
  }
  void end() {
    if (!rest_.empty()) refuse("something stands after the end of the line's object");
  }

 private:
  template <class T>
  T number(const char* what) {
    const auto value = take_number<T>(rest_);
    if (!value)
      refuse(std::string("expected ") + what + " where it has '" +
             std::string(rest_.substr(0, 24)) + "'");
    return *value;
  }

  std::string_view rest_;
};

void check_chain(const hash::Digest& written, const hash::Digest& computed) {
  if (written != computed) {
    refuse(
        "the chain breaks: this line was changed, or lines before it were changed, dropped or "
        "moved");
  }
}

// `canonical` is the canonical line of what was read from `line`, with the chain that was read.
void check_canonical(std::string_view line, std::string_view canonical) {
  if (line != canonical) refuse("not the canonical text of its values");
}

std::string header_body(const Header& header) {
  LOCKSTEP_ASSERT(header.semantics >= 0);
  std::string body = "{\"lockstep\":\"ledger\",\"version\":" + std::to_string(kVersion) +
                     ",\"recipe\":" + quoted(header.recipe) + ",\"data\":" + quoted(header.data) +
                     ",\"semantics\":" + std::to_string(header.semantics);
  if (header.from)
    body += ",\"from\":{\"recipe\":" + quoted(header.from->recipe) +
            ",\"step\":" + std::to_string(header.from->step.value) +
            ",\"state\":" + quoted(header.from->state) + "}";
  return body;
}

std::string entry_body(const Entry& entry) {
  std::string body = "{\"step\":" + std::to_string(entry.step.value) +
                     ",\"samples\":" + std::to_string(entry.samples) +
                     ",\"loss\":" + values_text(entry.losses);
  if (entry.validation) body += ",\"validation\":" + value_text(*entry.validation);
  if (!entry.evaluation.empty()) body += ",\"evaluation\":" + values_text(entry.evaluation);
  body += ",\"before\":" + quoted(entry.before) + ",\"state\":" + quoted(entry.state);
  if (entry.commit) body += ",\"commit\":" + quoted(*entry.commit);
  return body;
}

// Of as many: the first whose value differs.
template <class T>
std::optional<std::string> differing(const Named<T>& a, const Named<T>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (value_text(a[i].second) != value_text(b[i].second)) return a[i].first;
  return std::nullopt;
}

template <class T>
bool same_names(const Named<T>& a, const Named<T>& b) {
  return std::ranges::equal(a, b, {}, &std::pair<std::string, T>::first,
                            &std::pair<std::string, T>::first);
}

std::string line_end(const hash::Digest& chain) {
  return std::string(kChainKey) + quoted(chain) + "}";
}

}  // namespace

std::optional<std::string> difference(const Entry& a, const Entry& b) {
  if (a.step != b.step) return "step number";
  if (a.samples != b.samples) return "sample count";
  if (a.before != b.before) return "digest of the state before the update";
  if (!same_names(a.losses, b.losses)) return "phases";
  if (const auto phase = differing(a.losses, b.losses)) return "loss of phase " + *phase;
  if (a.state != b.state) return "state digest";
  if (a.validation.has_value() != b.validation.has_value() ||
      (a.validation && value_text(*a.validation) != value_text(*b.validation)))
    return "loss on held-out samples";
  if (!same_names(a.evaluation, b.evaluation)) return "evaluation";
  if (const auto value = differing(a.evaluation, b.evaluation)) return *value + " of the samples";
  if (a.commit != b.commit) return "commitment to the state's bytes";
  return std::nullopt;
}

std::string format_header(Header& header) {
  return chained(header_body(header), hash::Digest{}, header.chain);
}

std::string format_entry(Entry& entry, const hash::Digest& previous) {
  LOCKSTEP_ASSERT(entry.step.value >= 1 && entry.samples >= 0);
  return chained(entry_body(entry), previous, entry.chain);
}

Header parse_header(std::string_view line) {
  Scanner in(line);
  if (!in.take("{\"lockstep\":\"ledger\",\"version\":")) refuse("not the first line of a ledger");
  if (const auto version = in.integer(); version != kVersion) {
    refuse("version " + std::to_string(version) + " of the format; this program reads version " +
           std::to_string(kVersion));
  }
  Header header;
  in.expect(",\"recipe\":");
  header.recipe = in.digest();
  in.expect(",\"data\":");
  header.data = in.digest();
  in.expect(",\"semantics\":");
  header.semantics = in.integer();
  if (header.semantics < 0) refuse("negative semantics");
  if (in.take(",\"from\":{\"recipe\":")) {
    From& from = header.from.emplace();
    from.recipe = in.digest();
    in.expect(",\"step\":");
    from.step = Step(in.integer());
    if (from.step.value < 1) refuse("a step below its range");
    in.expect(",\"state\":");
    from.state = in.digest();
    in.expect("}");
  }
  in.expect(kChainKey);
  const hash::Digest written = in.digest();
  in.expect("}");
  in.end();
  check_canonical(line, header_body(header) + line_end(written));
  format_header(header);
  check_chain(written, header.chain);
  return header;
}

Entry parse_entry_unchained(std::string_view line) {
  Scanner in(line);
  Entry entry;
  in.expect("{\"step\":");
  entry.step = Step(in.integer());
  in.expect(",\"samples\":");
  entry.samples = in.integer();
  if (entry.step.value < 1 || entry.samples < 0) refuse("a step or sample count below its range");
  in.expect(",\"loss\":{");
  entry.losses = in.values<float>("not a phase name");
  if (in.take(",\"validation\":")) entry.validation = in.value<float>();
  if (in.take(",\"evaluation\":{")) {
    entry.evaluation = in.values<double>("not the name of a value");
    if (entry.evaluation.empty()) refuse("an evaluation without values");
  }
  in.expect(",\"before\":");
  entry.before = in.digest();
  in.expect(",\"state\":");
  entry.state = in.digest();
  if (in.take(",\"commit\":")) entry.commit = in.digest();
  in.expect(kChainKey);
  entry.chain = in.digest();
  in.expect("}");
  in.end();
  check_canonical(line, entry_body(entry) + line_end(entry.chain));
  return entry;
}

Entry parse_entry(std::string_view line, const hash::Digest& previous) {
  Entry entry = parse_entry_unchained(line);
  const hash::Digest written = entry.chain;
  format_entry(entry, previous);
  check_chain(written, entry.chain);
  return entry;
}

}  // namespace lockstep::ledger

#include "lockstep/ledger/format.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "lockstep/core/bytes.h"
#include "lockstep/core/error.h"
#include "lockstep/core/finite.h"
#include "lockstep/core/scan.h"
#include "lockstep/core/text.h"

namespace lockstep::ledger {
namespace {

constexpr std::string_view kChainKey = ",\"chain\":";

[[noreturn]] void refuse(const std::string& what) {
  throw Error(Code::kCorrupt, what);
}

bool is_phase(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), allowed);
}

bool is_nan(float value) {
  return (std::bit_cast<std::uint32_t>(value) & 0x7fffffffu) > 0x7f800000u;
}

std::string loss_text(float value) {
  if (is_nan(value)) return "\"nan\"";
  return is_finite(value) ? to_text(value) : '"' + to_text(value) + '"';
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
  float loss() {
    if (take("\"nan\"")) return std::numeric_limits<float>::quiet_NaN();
    if (take("\"inf\"")) return std::numeric_limits<float>::infinity();
    if (take("\"-inf\"")) return -std::numeric_limits<float>::infinity();
    return number<float>("a loss");
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
                     ",\"samples\":" + std::to_string(entry.samples) + ",\"loss\":{";
  for (std::size_t i = 0; i < entry.losses.size(); ++i) {
    const auto& [phase, loss] = entry.losses[i];
    LOCKSTEP_ASSERT(is_phase(phase), phase);
    if (i > 0) body += ',';
    body += '"' + phase + "\":" + loss_text(loss);
  }
  body += "}";
  if (entry.validation) body += ",\"validation\":" + loss_text(*entry.validation);
  body += ",\"before\":" + quoted(entry.before) + ",\"state\":" + quoted(entry.state);
  if (entry.commit) body += ",\"commit\":" + quoted(*entry.commit);
  return body;
}

std::string line_end(const hash::Digest& chain) {
  return std::string(kChainKey) + quoted(chain) + "}";
}

}  // namespace

std::optional<std::string> difference(const Entry& a, const Entry& b) {
  if (a.step != b.step) return "step number";
  if (a.samples != b.samples) return "sample count";
  if (a.before != b.before) return "digest of the state before the update";
  if (a.losses.size() != b.losses.size()) return "phases";
  for (std::size_t i = 0; i < a.losses.size(); ++i) {
    if (a.losses[i].first != b.losses[i].first) return "phases";
    if (loss_text(a.losses[i].second) != loss_text(b.losses[i].second)) {
      return "loss of phase " + a.losses[i].first;
    }
  }
  if (a.state != b.state) return "state digest";
  if (a.validation.has_value() != b.validation.has_value() ||
      (a.validation && loss_text(*a.validation) != loss_text(*b.validation)))
    return "loss on held-out samples";
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
  while (!in.take("}")) {
    if (!entry.losses.empty()) in.expect(",");
    std::string phase = in.word();
    if (!is_phase(phase)) refuse("not a phase name");
    in.expect(":");
    const float loss = in.loss();
    entry.losses.emplace_back(std::move(phase), loss);
  }
  if (in.take(",\"validation\":")) entry.validation = in.loss();
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

#include "lockstep/checkpoint/sidecar.h"

#include <algorithm>
#include <utility>

#include "lockstep/core/error.h"
#include "lockstep/core/scan.h"
#include "lockstep/hash/merkle.h"
#include "lockstep/hash/scan.h"

namespace lockstep::checkpoint {
namespace {

constexpr std::string_view kCheck = "check ";

// The first line without its LF.
std::string head_line(const Sidecar& sidecar) {
  return "lockstep-sha256-tree 1 leaf=" + std::to_string(hash::kBlockBytes) +
         " length=" + std::to_string(sidecar.length) + " root=" + sidecar.root.hex();
}

std::string tensor_line(const Region& tensor) {
  return "tensor " + std::to_string(tensor.offset) + " " + std::to_string(tensor.bytes) + " " +
         tensor.path;
}

// Why a line is not accepted, and where in the text.
struct Refusal {
  std::size_t begin, end;
  std::size_t line;
  std::string what;
};

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool next_line() {
    if (next_ >= text_.size()) return false;
    begin_ = next_;
    const std::size_t end = text_.find('\n', begin_);
    ++number_;
    next_ = end == std::string_view::npos ? text_.size() : end + 1;
    if (end == std::string_view::npos) refuse("the text is cut off (no line end)");
    rest_ = text_.substr(begin_, end - begin_);
    return true;
  }
  bool take(std::string_view literal) { return lockstep::take(rest_, literal); }
  void expect(std::string_view literal) {
    if (!take(literal)) refuse("expected '" + std::string(literal) + "'");
  }
  std::uint64_t number() {
    const std::string_view digits = rest_;
    const auto value = take_number<std::uint64_t>(rest_);
    if (!value || (digits.starts_with('0') && digits.size() - rest_.size() > 1))
      refuse("expected a number");
    return *value;
  }
  hash::Digest digest() {
    const auto value = hash::take_digest(rest_);
    if (!value) refuse("expected 64 hexadecimal digits");
    return *value;
  }
  std::string rest() { return std::string(std::exchange(rest_, {})); }
  void end_of_line() {
    if (!rest_.empty()) refuse("something stands after the end of the line");
  }
  std::size_t begin() const { return begin_; }
  [[noreturn]] void refuse(const std::string& what) const {
    throw Refusal{begin_, next_, number_, what};
  }

 private:
  std::string_view text_, rest_;
  std::size_t begin_ = 0, next_ = 0, number_ = 0;
};

// Only the structure: whether the check line and the root are right is not tested here.
struct Parsed {
  Sidecar sidecar;
  bool checked = false;  // the check line is that of the lines above it
};

// Keeps what was read before a Refusal.
void parse(std::string_view text, Parsed& parsed) {
  Scanner in(text);
  Sidecar& sidecar = parsed.sidecar;
  if (!in.next_line()) in.refuse("the text is empty");
  in.expect("lockstep-sha256-tree 1 leaf=" + std::to_string(hash::kBlockBytes) + " length=");
  sidecar.length = in.number();
  in.expect(" root=");
  sidecar.root = in.digest();
  in.end_of_line();
  if (sidecar.length > text.size() * hash::kBlockBytes) in.refuse("a length with too few leaves");
  for (std::uint64_t i = hash::block_count(sidecar.length); i > 0; --i) {
    if (!in.next_line()) in.refuse("the text is cut off");
    sidecar.leaves.push_back(in.digest());
    in.end_of_line();
  }
  while (true) {
    if (!in.next_line()) in.refuse("the text is cut off (no check line)");
    if (in.take(kCheck)) break;
    in.expect("tensor ");
    Region tensor;
    tensor.offset = in.number();
    in.expect(" ");
    tensor.bytes = in.number();
    in.expect(" ");
    tensor.path = in.rest();
    sidecar.tensors.push_back(std::move(tensor));
  }
  parsed.checked = in.digest() == hash::sha256(as_bytes(text.substr(0, in.begin())));
  in.end_of_line();
  if (in.next_line()) in.refuse("something stands after the check line");
}

std::string names_between(const Sidecar& sidecar, std::uint64_t begin, std::uint64_t end) {
  constexpr std::size_t kMost = 4;  // a line is for people
  std::string names;
  std::size_t count = 0;
  for (const Region& tensor : sidecar.tensors) {
    if (tensor.offset >= end || begin >= tensor.offset + tensor.bytes) continue;
    if (++count <= kMost) names += (names.empty() ? "" : ", ") + tensor.path;
  }
  if (count > kMost) names += " and " + std::to_string(count - kMost) + " more";
  return names;
}

// The sidecar's own text contradicts itself: finds the line, with the file's help.
Finding blame_sidecar(ByteView file, std::string_view text, const Sidecar& sidecar,
                      const std::string& name) {
  const auto finding = [&](std::size_t line, const std::string& what) {
    std::size_t begin = 0;
    for (std::size_t i = 1; i < line; ++i) begin = text.find('\n', begin) + 1;
    return Finding{name, begin, text.find('\n', begin) + 1, {}, what};
  };
  if (file.size() == sidecar.length) {
    const auto leaves = hash::block_digests(file);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (leaves[i] != sidecar.leaves[i]) {
        return finding(i + 2, "leaf " + std::to_string(i) + " was changed");
      }
    }
  }
  if (hash::tree_root(sidecar.leaves, sidecar.length) != sidecar.root) {
    return finding(1, "the root or the length was changed");
  }
  const std::size_t first = sidecar.leaves.size() + 2;
  Finding tail = finding(first, "a tensor line or the check line was changed");
  tail.end = text.size();
  return tail;
}

}  // namespace

Sidecar make_sidecar(std::uint64_t length, std::vector<hash::Digest> leaves,
                     std::vector<Region> tensors) {
  std::sort(tensors.begin(), tensors.end(),
            [](const Region& a, const Region& b) { return a.offset < b.offset; });
  for (const Region& tensor : tensors) {
    LOCKSTEP_ASSERT(tensor.path.find('\n') == std::string::npos, tensor.path);
  }
  const hash::Digest root = hash::tree_root(leaves, length);
  return {length, root, std::move(leaves), std::move(tensors)};
}

std::string format_sidecar(const Sidecar& sidecar) {
  std::string text = head_line(sidecar) + "\n";
  for (const auto& leaf : sidecar.leaves) text += leaf.hex() + "\n";
  for (const Region& tensor : sidecar.tensors) text += tensor_line(tensor) + "\n";
  text += std::string(kCheck) + hash::sha256(as_bytes(text)).hex() + "\n";
  return text;
}

std::string Finding::line() const {
  std::string text = file + ", bytes " + std::to_string(begin) + " to " + std::to_string(end);
  if (!tensor.empty()) text += " (" + tensor + ")";
  return text + ": " + what;
}

std::optional<Finding> verify_sidecar(ByteView file, std::string_view text,
                                      const std::string& file_name) {
  const std::string name = file_name + ".sha256";
  Parsed parsed;
  try {
    parse(text, parsed);
  } catch (const Refusal& refusal) {
    // A wrong length shows only where the leaves end, so then the first line is under suspicion
    // too.
    const bool length_fits = refusal.line == 1 || parsed.sidecar.length == file.size();
    return Finding{name,
                   length_fits ? refusal.begin : 0,
                   refusal.end,
                   {},
                   "line " + std::to_string(refusal.line) + ": " + refusal.what};
  }
  const Sidecar& sidecar = parsed.sidecar;
  if (!parsed.checked || format_sidecar(sidecar) != text ||
      hash::tree_root(sidecar.leaves, sidecar.length) != sidecar.root) {
    return blame_sidecar(file, text, sidecar, name);
  }
  const std::uint64_t both = std::min<std::uint64_t>(file.size(), sidecar.length);
  for (std::size_t i = 0; i < sidecar.leaves.size(); ++i) {
    const std::uint64_t begin = std::uint64_t{i} * hash::kBlockBytes;
    const std::uint64_t end = std::min<std::uint64_t>(begin + hash::kBlockBytes, sidecar.length);
    if (end > both) break;
    if (hash::block_digest(file.subspan(begin, end - begin)) != sidecar.leaves[i]) {
      return Finding{file_name, begin, end, names_between(sidecar, begin, end),
                     "the bytes differ from what was saved"};
    }
  }
  if (file.size() < sidecar.length) {
    return Finding{file_name, file.size(), sidecar.length,
                   names_between(sidecar, file.size(), sidecar.length), "the file is cut off"};
  }
  if (file.size() > sidecar.length) {
    return Finding{file_name, sidecar.length, file.size(), {}, "bytes were appended to the file"};
  }
  return std::nullopt;
}

Sidecar parse_sidecar(std::string_view text, const std::string& name) {
  try {
    Parsed parsed;
    parse(text, parsed);
    const Sidecar& sidecar = parsed.sidecar;
    if (parsed.checked && format_sidecar(sidecar) == text &&
        hash::tree_root(sidecar.leaves, sidecar.length) == sidecar.root) {
      return std::move(parsed.sidecar);
    }
  } catch (const Refusal& refusal) {
    throw Error(Code::kCorrupt, name + ":" + std::to_string(refusal.line) + ": " + refusal.what);
  }
  throw Error(Code::kCorrupt, name + ": its lines do not fit together: it was changed");
}

}  // namespace lockstep::checkpoint

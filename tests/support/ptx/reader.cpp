#include "support/ptx/reader.h"

#include <algorithm>
#include <charconv>

#include "support/ptx/operations.h"
#include "support/ptx/text.h"

namespace lockstep::test::ptx {
namespace {

// What is one instruction of PTX and many of a GPU: as ptxas of CUDA 13.0 writes them for sm_80, on
// the way that is usual.
struct Sequence {
  std::string_view name;
  std::uint8_t instructions, binary64;
};
constexpr Sequence kSequences[] = {
    {"div.s32", 30, 0},    {"rem.s32", 28, 0},     {"div.u32", 18, 0},    {"rem.u32", 18, 0},
    {"div.s64", 25, 0},    {"rem.s64", 25, 0},     {"div.u64", 25, 0},    {"rem.u64", 25, 0},
    {"div.rn.f32", 16, 0}, {"sqrt.rn.f32", 16, 0}, {"rcp.rn.f32", 15, 0}, {"div.rn.f64", 23, 8},
    {"rcp.rn.f64", 17, 5}, {"sqrt.rn.f64", 22, 8},
};

using Kind = Instruction::Kind;

// Of one that is no product of matrices (clock.h).
std::uint16_t latency_of(std::string_view name, const Instruction& made) {
  if (name.starts_with("ld.shared")) return 30;
  if (name.starts_with("ld.param")) return 8;
  if (name.starts_with("ld.local")) return 40;
  if (name.starts_with("ld") || name.starts_with("cp.async")) return 500;
  if (made.issued > 1) return static_cast<std::uint16_t>(5 * made.issued + 11 * made.binary64);
  if (made.binary64 != 0) return 16;
  return name.starts_with("cvt") ? 12 : 4;
}

// 4 of b32, s32, f32 …; 0 of pred; 2 bytes lie in 4.
int lane_bytes(std::string_view type) {
  if (type == "pred") return 0;
  if (type.ends_with("64")) return 8;
  if (type.ends_with("32") || type.ends_with("16")) return 4;
  die("registers of type " + std::string(type));
}

class Reader {
 public:
  Reader(Module& module, Function& function) : module_(module), function_(function) {
    function_.register_bytes = slot_of(kSpecials);
  }

  void head(std::string_view text) {
    function_.kernel = text.find(".entry") != text.npos;
    const std::size_t threads = text.find(".maxntid");
    if (threads != text.npos) function_.threads = number_of(text.substr(threads + 8));
    for (std::size_t at = text.find(".param"); at != text.npos; at = text.find(".param", at + 1)) {
      const int variable = declare(text.substr(at, text.find_first_of(",)", at) - at));
      // A function's result stands before its name.
      if (text.find(function_.name + "(", at) != text.npos) {
        function_.result = variable;
      } else {
        function_.parameters.push_back(variable);
      }
    }
  }

  void body(std::string_view text, int line) {
    line_ = line;
    std::size_t start = 0;
    bool in_statement = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
      const char c = text[at];
      if (c == '\n') ++line_;
      if (c == '/' && text.substr(at, 2) == "//") {
        at = std::min(text.find('\n', at), text.size()) - 1;
        if (!in_statement) start = at + 1;
      } else if (!in_statement && (c == '{' || c == '}')) {
        start = at + 1;
      } else if (c == ':' && text.substr(start, at - start).find('%') == std::string_view::npos) {
        labels_[std::string(trimmed(text.substr(start, at - start)))] =
            function_.instructions.size();
        start = at + 1;
        in_statement = false;
      } else if (c == ';') {
        statement(trimmed(text.substr(start, at - start)));
        start = at + 1;
        in_statement = false;
      } else if (!is_space(c)) {
        in_statement = true;
      }
    }
    for (const auto& [number, label] : branches_) {
      const auto found = labels_.find(label);
      if (found == labels_.end()) die("no label " + label);
      function_.instructions[number].offset = static_cast<std::int64_t>(found->second);
    }
    Instruction last;  // the end of the body
    last.kind = Kind::kReturn;
    last.line = line_;
    function_.instructions.push_back(last);
  }

 private:
  struct Register {
    Slot slot;
    int bytes;
  };

  Slot take(int bytes) {
    const auto slot = static_cast<Slot>(function_.register_bytes);
    function_.register_bytes += bytes == 0 ? 64 : static_cast<std::size_t>(bytes) * kLanes;
    return slot;
  }

  // .param .align 8 .b8 name[40], or .param .b32 name
  int declare(std::string_view text) {
    const std::size_t open = text.find('[');
    const std::string_view before = trimmed(text.substr(0, open));
    const std::size_t name = before.find_last_of(" \t") + 1;
    const std::string_view types = trimmed(before.substr(0, name));
    std::size_t bytes = 0;
    if (open != text.npos) {
      bytes = number_of(text.substr(open + 1));
      if (!types.ends_with(".b8")) die("parameters that are not bytes: " + std::string(text));
    } else {
      bytes = number_of(types.substr(types.find_last_of("bfsu") + 1)) / 8;
    }
    function_.variables.push_back({bytes});
    return variables_[std::string(before.substr(name))] =
               static_cast<int>(function_.variables.size()) - 1;
  }

  void directive(std::string_view text) {
    if (text.starts_with(".reg")) {  // .reg .b32 %r<44>, or .reg .b32 name
      const std::size_t type = text.find('.', 1), space = text.find_first_of(" \t", type);
      const int bytes = lane_bytes(text.substr(type + 1, space - type - 1));
      const std::size_t percent = text.find('%'), open = text.find('<');
      if (percent == text.npos) return;  // nvcc declares one that it does not use
      const std::string prefix(text.substr(percent, open - percent));
      const std::uint64_t count = number_of(text.substr(open + 1));
      for (std::uint64_t n = 0; n < count; ++n)
        registers_[prefix + std::to_string(n)] = {take(bytes), bytes};
    } else if (text.starts_with(".local")) {  // .local .align 16 .b8 name[192]
      const std::size_t open = text.find('[');
      if (function_.local_bytes != 0 || open == text.npos)
        die("local memory: " + std::string(text));
      function_.local_bytes = (number_of(text.substr(open + 1)) + 15) / 16 * 16;
      function_.local = take(8);
      const std::size_t name = text.find_last_of(" \t", open) + 1;
      local_ = text.substr(name, open - name);
      for (const char* pointer : {"%SP", "%SPL"}) registers_[pointer] = {take(8), 8};
    } else if (text.starts_with(".param")) {
      declare(text);
    } else if (!text.starts_with(".pragma")) {
      die("a directive that is not known: " + std::string(text));
    }
  }

  Slot constant(std::uint64_t value, int bytes) {
    const auto key = std::pair(value, bytes);
    const auto [at, is_new] = constants_.try_emplace(key);
    if (is_new) {
      at->second = take(bytes);
      function_.constants.push_back({at->second, bytes, value});
    }
    return at->second;
  }

  // A register, a number, or the address of a symbol.
  Slot operand(std::string_view text, int bytes) {
    text = trimmed(text);
    if (text.starts_with('%')) {
      if (text.ends_with(".x") || text.ends_with(".y") || text.ends_with(".z"))
        return special(text);
      const auto found = registers_.find(std::string(text));
      if (found == registers_.end()) die("no register " + std::string(text));
      if (found->second.bytes != bytes)
        die("a register that is wider or narrower than its operand: " + where());
      return found->second.slot;
    }
    if (text.starts_with("0f") || text.starts_with("0d")) {
      std::uint64_t bits = 0;
      std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
      return constant(bits, bytes);
    }
    const char first = text.starts_with('-') && text.size() > 1 ? text[1] : text[0];
    if (first >= '0' && first <= '9') {
      const std::uint64_t value = number_of(text);
      return constant(bytes == 4 ? static_cast<std::uint32_t>(value) : value, bytes);
    }
    if (text == local_ && bytes == 8) return function_.local;
    if (const auto found = variables_.find(std::string(text)); found != variables_.end()) {
      function_.addresses.push_back({take(8), found->second});
      return function_.addresses.back().slot;
    }
    if (void* const variable = module_.variable(std::string(text));
        variable != nullptr && bytes == 8)
      return constant(reinterpret_cast<std::uint64_t>(variable), 8);
    if (bytes == 4) return constant(kShared, 4);  // the block's memory, the only symbol left
    die("no symbol " + std::string(text));
  }

  Slot special(std::string_view text) {
    const std::string_view name = text.substr(0, text.size() - 2);
    const bool x = text.ends_with(".x");
    if (name == "%tid") return slot_of(x ? kTid : kZero);
    if (name == "%ntid") return x ? slot_of(kNtid) : constant(1, 4);
    if (name == "%ctaid") return slot_of(x ? kCtaid : kZero);
    if (name == "%nctaid") return x ? slot_of(kNctaid) : constant(1, 4);
    die("no register " + std::string(text));
  }

  // Operands between commas; of {…} each, without the braces.
  static std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> parts;
    std::size_t start = 0;
    for (std::size_t at = 0; at <= text.size(); ++at) {
      if (at < text.size() && text[at] != ',' && text[at] != '{' && text[at] != '}' &&
          text[at] != '|')
        continue;
      const std::string_view part = trimmed(text.substr(start, at - start));
      if (!part.empty()) parts.push_back(part);
      start = at + 1;
    }
    return parts;
  }

  void statement(std::string_view text) {
    if (text.empty()) return;
    text_ = text;
    if (text.starts_with('.')) return directive(text);
    Instruction made;
    made.line = line_;
    if (text.starts_with('@')) {
      made.guarded = true;
      made.negated = text[1] == '!';
      const std::size_t space = text.find_first_of(" \t");
      made.guard = operand(text.substr(made.negated ? 2 : 1, space - (made.negated ? 2 : 1)), 0);
      text = trimmed(text.substr(space));
    }
    const std::size_t space = std::min(text.find_first_of(" \t\n"), text.size());
    instruction(made, text.substr(0, space), trimmed(text.substr(space)));
    function_.instructions.push_back(made);
  }

  void instruction(Instruction& made, std::string_view name, std::string_view rest) {
    if (name == "bra" || name == "bra.uni") {
      made.kind = Kind::kBranch;
      branches_.emplace_back(function_.instructions.size(), rest);
    } else if (name == "ret" || name == "exit") {
      made.kind = Kind::kReturn;
    } else if (name.starts_with("call")) {
      call(made, rest);
    } else if (name == "bar.sync") {
      if (rest != "0") die("a barrier that is not the first: " + where());
      made.kind = Kind::kBarrier;
    } else if (name == "shfl.sync.down.b32") {
      made.kind = Kind::kShuffle;
      made.latency = 24;
      fill(made, 2, split(rest), {4, 0, 4, 4, 4, 4});
    } else if (name == "ldmatrix.sync.aligned.m8n8.x4.shared.b16" ||
               name == "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16") {
      made.kind = Kind::kMatrices;
      made.turned = name.find(".trans.") != name.npos;
      std::vector<std::string_view> operands = split(rest);
      const std::string_view address = operands.back();
      const std::size_t plus = address.find('+');
      if (plus != address.npos)
        made.offset = static_cast<std::int32_t>(number_of(address.substr(plus + 1)));
      operands.back() = address.substr(1, std::min(plus, address.size() - 1) - 1);
      made.latency = 33;
      fill(made, 4, operands, {4, 4, 4, 4, 4});
    } else if (name == "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32") {
      made.kind = Kind::kMma;
      made.latency = 34;
      fill(made, 4, split(rest), std::vector<int>(Instruction::kMostSlots, 4));
    } else {
      plain(made, name, rest);
    }
  }

  void fill(Instruction& made, std::size_t results, const std::vector<std::string_view>& operands,
            const std::vector<int>& bytes) {
    if (operands.size() != bytes.size()) die("operands that are not known: " + where());
    made.results = static_cast<std::uint8_t>(results);
    made.operands = static_cast<std::uint8_t>(bytes.size() - results);
    for (std::size_t n = 0; n < bytes.size(); ++n) made.slots[n] = operand(operands[n], bytes[n]);
  }

  void plain(Instruction& made, std::string_view name, std::string_view rest) {
    std::string whole(name);
    if (name.starts_with("mov.b") && rest.starts_with('{')) whole = "mov.{} " + whole.substr(4);
    if (name.starts_with("mov.b") && rest.ends_with('}')) whole += " {}";
    const std::vector<std::string_view> parts = split(rest);
    // A conversion or a store may take the low bits of a wider register, and a load may fill one.
    if ((name.starts_with("st.") && name.ends_with("32") && parts[1].starts_with("%rd")) ||
        (name.starts_with("cvt.") && name.ends_with("32") && parts[1].starts_with("%rd")) ||
        (name.starts_with("ld.") && name.ends_with("32") && parts[0].starts_with("%rd")))
      whole += " wide";
    // A parameter at an address that was computed.
    if (name.starts_with("ld.param.") && rest.find("[%") != rest.npos) whole.erase(2, 6);
    const Operation* const operation = find_operation(whole);
    if (operation == nullptr) die("an instruction that is not known: " + where());
    made.run = operation->run;
    made.fma = name == "fma.rn.f32";
    made.binary64 = name.find(".f64") != name.npos && !name.starts_with("mov") &&
                    !name.starts_with("ld") && !name.starts_with("st");
    for (const Sequence& one : kSequences) {
      if (!name.starts_with(one.name)) continue;
      made.issued = one.instructions;
      made.binary64 = one.binary64;
    }
    made.latency = latency_of(name, made);
    made.results = static_cast<std::uint8_t>(operation->results.size());
    made.operands = static_cast<std::uint8_t>(operation->operands.size());
    if (name.starts_with("cp.async")) {
      made.copies = name == "cp.async.commit_group" ? Instruction::Copies::kCommit
                    : name == "cp.async.wait_group" ? Instruction::Copies::kWait
                                                    : Instruction::Copies::kBegin;
      if (made.copies == Instruction::Copies::kWait)
        made.newest = static_cast<int>(number_of(rest));
    }
    std::vector<int> bytes = operation->results;
    bytes.insert(bytes.end(), operation->operands.begin(), operation->operands.end());
    if (parts.size() != bytes.size()) die("operands that are not known: " + where());
    for (std::size_t n = 0; n < parts.size(); ++n) {
      if (!parts[n].starts_with('[')) {
        made.slots[n] = operand(parts[n], bytes[n]);
        continue;
      }
      std::string_view inside = parts[n].substr(1, parts[n].size() - 2);
      const std::size_t plus = inside.find('+');
      if (plus != inside.npos) {
        if (made.offset != 0) die("two offsets: " + where());
        made.offset = static_cast<std::int32_t>(number_of(inside.substr(plus + 1)));
        inside = inside.substr(0, plus);
      }
      if (operation->parameter) {
        const auto variable = variables_.find(std::string(inside));
        if (variable == variables_.end()) die("no parameter " + std::string(inside));
        made.variable = variable->second;
      } else {
        made.slots[n] = operand(inside, bytes[n]);
      }
    }
  }

  // call.uni (result), name, (argument, …)
  void call(Instruction& made, std::string_view rest) {
    made.kind = Kind::kCall;
    Call call;
    std::vector<std::string_view> words;
    for (std::size_t at = 0; at < rest.size();) {
      while (at < rest.size() && !in_name(rest[at])) ++at;
      const std::size_t start = at;
      while (at < rest.size() && in_name(rest[at])) ++at;
      if (at > start) words.push_back(rest.substr(start, at - start));
    }
    std::size_t next = 0;
    if (rest.starts_with('(')) call.result = variables_.at(std::string(words[next++]));
    call.function = &module_.function(std::string(words.at(next++)));
    for (; next < words.size(); ++next)
      call.arguments.push_back(variables_.at(std::string(words[next])));
    made.variable = static_cast<int>(function_.calls.size());
    function_.calls.push_back(std::move(call));
  }

  std::string where() const { return std::string(text_) + " (in " + function_.name + ")"; }

  Module& module_;
  Function& function_;
  int line_ = 0;
  std::string_view text_;  // of the statement
  std::string local_;
  std::map<std::string, Register> registers_;
  std::map<std::string, int> variables_;
  std::map<std::pair<std::uint64_t, int>, Slot> constants_;
  std::map<std::string, std::size_t> labels_;
  std::vector<std::pair<std::size_t, std::string>> branches_;
};

}  // namespace

std::unique_ptr<Function> read_function(Module& module, const std::string& name,
                                        std::string_view head, std::string_view body, int line) {
  auto function = std::make_unique<Function>();
  function->name = name;
  Reader reader(module, *function);
  reader.head(head);
  reader.body(body, line);
  return function;
}

}  // namespace lockstep::test::ptx

#include "lockstep/checkpoint/statement.h"

#include "lockstep/core/error.h"
#include "lockstep/core/text.h"

namespace lockstep::checkpoint {
namespace {

std::string signed_text(const Statement& s) {
  return "lockstep statement 1\nrun " + s.run.hex() + "\nrecipe " + s.recipe.hex() + "\ndata " +
         s.data.hex() + "\nstep " + std::to_string(s.step.value) + "\nparent " + s.parent.hex() +
         "\ncheckpoint " + s.checkpoint.hex() + "\nledger " + s.ledger.hex() + "\nkey " +
         s.key.hex() + "\n";
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  // The value of the next line, which must be "<name> <value>".
  std::string_view value(const std::string& name) {
    ++line_;
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos) refuse("the text is cut off");
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    if (!line.starts_with(name + " ")) refuse("expected '" + name + " '");
    return line.substr(name.size() + 1);
  }
  void hex(const std::string& name, MutableByteView into) {
    const std::string_view digits = value(name);
    if (!parse_hex(digits, into))
      refuse("expected " + std::to_string(2 * into.size()) + " lower-case hexadecimal digits");
  }
  Step step() {
    const std::string_view digits = value("step");
    const auto number = parse_int(digits);
    if (!number || *number < 0 || std::to_string(*number) != digits) refuse("expected a number");
    return Step(*number);
  }
  void end() {
    ++line_;
    if (!rest_.empty()) refuse("something stands after the signature");
  }
  int line() const { return line_; }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(Code::kCorrupt, what, "restore the file from another copy");
  }

  std::string_view rest_;
  int line_ = 0;
};

Statement scan(Scanner& in) {
  Statement statement;
  if (in.value("lockstep") != "statement 1")
    throw Error(Code::kCorrupt, "not a statement of a version known here");
  in.hex("run", statement.run.bytes);
  in.hex("recipe", statement.recipe.bytes);
  in.hex("data", statement.data.bytes);
  statement.step = in.step();
  in.hex("parent", statement.parent.bytes);
  in.hex("checkpoint", statement.checkpoint.bytes);
  in.hex("ledger", statement.ledger.bytes);
  in.hex("key", statement.key.bytes);
  in.hex("signature", statement.signature.bytes);
  in.end();
  return statement;
}

}  // namespace

void sign(Statement& statement, const hash::PrivateKey& key) {
  statement.key = key.public_key();
  statement.signature = key.sign(as_bytes(signed_text(statement)));
}

std::string format_statement(const Statement& statement) {
  return signed_text(statement) + "signature " + to_hex(statement.signature.bytes) + "\n";
}

hash::Digest digest_of(const Statement& statement) {
  return hash::sha256(as_bytes(signed_text(statement)));
}

Statement parse_statement(std::string_view text, const std::string& name) {
  Scanner in(text);
  Statement statement;
  try {
    statement = scan(in);
  } catch (const Error& error) {
    throw error.within(name + ":" + std::to_string(in.line()));
  }
  if (!hash::is_signed(as_bytes(signed_text(statement)), statement.key, statement.signature))
    throw Error(Code::kCorrupt, name + ": its signature is not that of its text and key");
  return statement;
}

}  // namespace lockstep::checkpoint

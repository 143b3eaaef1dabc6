#include "arguments.h"
#include "command.h"
#include "output.h"
#include "tables.h"

namespace lockstep::cli {
namespace {

// The scalar value of the UTF-8 character at the front of `text`, which is removed. Text of this
// program: it is valid.
std::uint32_t take_character(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t n = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  std::uint32_t character = n == 1 ? first : first & (0xffU >> (n + 1));
  for (std::size_t i = 1; i < n; ++i)
    character = character << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
  text.remove_prefix(n);
  return character;
}

// As roff shows it: no request, no escape, no typographic quotes; ASCII.
std::string roff(std::string_view text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  if (text.starts_with('.')) out += "\\&";
  while (!text.empty()) {
    const std::uint32_t c = take_character(text);
    switch (c) {
      case '\\':
        out += "\\(rs";
        break;
      case '-':
        out += "\\-";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '~':
        out += "\\(ti";
        break;
      default:
        if (c < 0x80) {
          out += static_cast<char>(c);
        } else {
          std::string digits;
          for (std::uint32_t rest = c; rest > 0 || digits.size() < 4; rest >>= 4)
            digits.insert(digits.begin(), kDigits[rest & 15]);
          out += "\\[u" + digits + "]";
        }
    }
  }
  return out;
}

std::string bold(const std::string& text) {
  return "\\fB" + roff(text) + "\\fR";
}
std::string italic(const std::string& text) {
  return "\\fI" + roff(text) + "\\fR";
}

std::string item(const std::string& tag, const std::string& what) {
  return ".TP\n" + tag + "\n" + roff(what) + "\n";
}

std::string item(const Argument& argument) {
  std::string tag;
  for (const std::string& name : argument.names)
    tag += (tag.empty() ? "" : ", ") + (argument.positional ? italic(name) : bold(name));
  if (!argument.value.empty()) tag += " " + italic(argument.value);
  return item(tag, argument.what + (argument.preset.empty() ? "" : " [" + argument.preset + "]"));
}

// After a command's options come an example, in a line that begins so, and other lines.
constexpr std::string_view kExample = "Example: ";

std::string footer_of(const Description& command) {
  std::string text;
  for (const std::string& line : command.footer)
    if (!line.starts_with(kExample)) text += ".PP\n" + roff(line) + "\n";
  return text;
}

std::string examples_of(const Description& command) {
  std::string text;
  for (const std::string& line : command.footer)
    if (line.starts_with(kExample)) text += item(bold(line.substr(kExample.size())), command.what);
  return text;
}

std::string section_of(const Description& command) {
  std::string usage = bold("lockstep " + command.name), items;
  for (const Argument& argument : command.arguments) {
    if (argument.positional)
      usage += " " + std::string(argument.required ? "" : "[") + italic(argument.names.front()) +
               (argument.several ? "..." : "") + (argument.required ? "" : "]");
    items += item(argument);
  }
  return ".SS " + usage + " [" + italic("OPTIONS") + "]\n" + roff(command.what) + "\n" + items +
         footer_of(command);
}

constexpr const char* kSeeAlso =
    ".BR torchrun (1),\n.BR srun (1),\n.BR mpirun (1)\n.PP\n"
    "Pages in docs of the source tree, share/lockstep/docs of the wheel: cli.md (this program), "
    "recipes.md (all keys), data.md, running.md, ranks.md, verify.md (what the evidence proves), "
    "glossary.md (words).\n";

std::string page(const Program& program) {
  std::string text =
      ".TH LOCKSTEP 1 \"\" \"lockstep " LOCKSTEP_VERSION
      "\" \"User Commands\"\n"
      ".SH NAME\nlockstep \\- train diffusion models and GANs with bit-exact evidence\n"
      ".SH SYNOPSIS\n.B lockstep\n.I COMMAND\n.RI [ OPTIONS ]\n.SH DESCRIPTION\n" +
      roff(program.self.what) + "\n.SH OPTIONS\n";
  for (const Argument& argument : program.self.arguments) text += item(argument);
  text += ".SH COMMANDS\n";
  for (const Description& command : program.commands) text += section_of(command);
  text += ".SH EXIT STATUS\n";
  for (const ExitCode& one : exit_codes())
    text += item(std::to_string(static_cast<int>(one.code)), one.what);
  text += ".SH ENVIRONMENT\n";
  for (const Listed& one : variables()) text += item(bold(one.name), one.what);
  text += ".SH FILES\nA run\\(aqs folder holds:\n";
  for (const Listed& one : run_files()) text += item(italic(one.name), one.what);
  text += ".SH EXAMPLES\n";
  for (const Description& command : program.commands) text += examples_of(command);
  return text + ".SH SEE ALSO\n" + kSeeAlso;
}

}  // namespace

Run add_man(Command& command) {
  command.footer("Example: lockstep man | man -l -");
  return [command] {
    print_lines(page(program_of(command)));
    return Code::kOk;
  };
}

}  // namespace lockstep::cli

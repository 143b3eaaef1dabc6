// One exception type for everything a user or operator can act on, and the exit codes it maps to.
//
// A *finding* (bits differ, evidence does not hold) that a command was asked to look for is a
// returned value, not an exception. A broken invariant of ours is LOCKSTEP_ASSERT, on in every
// build.
#pragma once

#include <exception>
#include <string>

namespace lockstep {

// What the caller should do differently; the value is the process's exit code (documented in
// docs/cli.md, frozen).
enum class Code : int {
  kOk = 0,
  kDiffer = 1,       // bits differ
  kUsage = 2,        // command line or recipe
  kData = 3,         // the data set
  kEnvironment = 4,  // this machine cannot run this, or machines differ
  kCorrupt = 5,      // evidence is damaged or not to be trusted
  kNetwork = 6,      // peers
  kDiverged = 7,     // training: non-finite values, collapse
  kBug = 70,         // ours
  kPreempted = 75,   // stopped by a signal, state saved
  kCannotCompare = 125
};

// `what()` is one line: what happened, where, what to do. Callers add context with `within`.
class Error : public std::exception {
 public:
  // message: what and where ("recipes/a.toml:3: unknown key 'lrr'").
  // hint: what to do next; may be empty.
  Error(Code code, std::string message, std::string hint = {});

  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  const std::string& hint() const { return hint_; }
  const char* what() const noexcept override { return line_.c_str(); }

  // The same error with "context: " in front of its message.
  Error within(const std::string& context) const;

 private:
  Code code_;
  std::string message_;
  std::string hint_;
  std::string line_;
};

// Throws Error(Code::kBug); used by LOCKSTEP_ASSERT.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line,
                                   const std::string& detail);

}  // namespace lockstep

// An invariant of ours. The second argument, a std::string, says which values broke it.
#define LOCKSTEP_ASSERT(expression, ...)                                                       \
  do {                                                                                         \
    if (!(expression)) [[unlikely]]                                                            \
      ::lockstep::assertion_failed(#expression, __FILE__, __LINE__, std::string{__VA_ARGS__}); \
  } while (false)

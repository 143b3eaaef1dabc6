// lockstep: parse everything, then run one command. Results go to standard output, everything else
// to standard error; an Error is one line and its code the exit code.
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <iostream>
#include <string_view>

#include "command_line.h"
#include "environment.h"
#include "lockstep/core/log.h"
#include "lockstep/core/thread.h"
#include "lockstep/ops/memory.h"
#include "output.h"
#include "startup.h"
#include "torchrun.h"

namespace lockstep::cli {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// Tensors come and go every step: keep their pages instead of giving them back each time. Threads
// have small ones from arenas of their own; with one for all they wait for each other, a small step
// twice as long. Where addresses are few, one arena has all tensors: a thread that finds none for
// its own would take a page for every allocation.
void keep_freed_memory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  rlimit addresses{};
  const bool few = ::getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY;
  if (few) mallopt(M_ARENA_MAX, 1);
  ops::take_memory(!few && !kSanitized);  // sanitizers look at malloc's blocks
}

// Ends the process as an Error does, before the libraries start: nothing of theirs may be used.
[[noreturn]] void refuse_early(int argc, char** argv, std::string_view message,
                               std::string_view hint) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  const bool compares = command == "bisect" || command == "diff";
  const auto say = [](int stream, std::initializer_list<std::string_view> texts) {
    for (const std::string_view text : texts)
      if (::write(stream, text.data(), text.size()) < 0) return;
  };
  say(STDERR_FILENO, {"lockstep: ", message, " (", hint, ")\n"});
  if (wants_json(argc, argv))
    say(STDOUT_FILENO, {R"({"error":{"code":)", compares ? "125" : "4", R"(,"message":")", message,
                        R"(","hint":")", hint, "\"}}\n"});
  ::_exit(static_cast<int>(compares ? Code::kCannotCompare : Code::kEnvironment));
}

// oneMKL, inside LibTorch, ends a process whose current folder is gone, and LibTorch one whose
// memory does not suffice for its tables, both before main and with words of their own.
void check_before_libraries(int argc, char** argv, char** /*environment*/) {
  std::array<char, PATH_MAX> path{};
  if (::syscall(SYS_getcwd, path.data(), path.size()) <= 0)
    refuse_early(argc, argv, "the current folder is gone, or its path is too long",
                 "cd to another one");
  constexpr std::size_t kOfLibraries = std::size_t{96} << 20;
  void* const pages = ::mmap(nullptr, kOfLibraries, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED)
    refuse_early(argc, argv, "there is too little memory or address space to start",
                 "raise the limit: ulimit -v");
  ::munmap(pages, kOfLibraries);
}
[[gnu::section(".preinit_array"),
  gnu::used]] void (*const before_libraries)(int, char**, char**) = check_before_libraries;

int run(int argc, char** argv) {
  CommandLine line;
  const Code code = line.parse(argc, argv)();
  flush_output();
  return static_cast<int>(code);
}

// The end of the process, without the destructors of static objects: LibTorch's take a quarter of
// the time of a short command, and nothing is left to them. Sanitizers report what they found in
// theirs.
int end(int code) {
  if (kSanitized) return code;
  std::fflush(nullptr);  // what a library may have printed
  std::quick_exit(code);
}

// On standard output, after what was printed already.
void print_error(const Error& error, bool json) try {
  if (json && speaks()) print_json(error_json(error.code(), error.message(), error.hint()));
  flush_output();
} catch (const Error&) {  // standard error has it
}

}  // namespace

}  // namespace lockstep::cli

int main(int argc, char** argv) {
  using lockstep::Code;
  lockstep::cli::keep_freed_memory();
  const bool json = lockstep::cli::wants_json(argc, argv);
  const auto failed = [json](Code code, const std::string& message, const std::string& hint = {}) {
    const lockstep::Error error(code, message, hint);
    const std::string line = std::string("lockstep: ") + error.what();
    // One write: ranks share this stream, and their lines must not run into each other.
    lockstep::log::status("");
    std::cerr << line + "\n";
    lockstep::log::to_file(line);
    lockstep::cli::tell_torchrun(line, lockstep::cli::process_environment());
    lockstep::cli::print_error(error, json);
    return lockstep::cli::end(static_cast<int>(code));
  };
  try {
    lockstep::cli::start_up();
    lockstep::log::set_terminal(lockstep::cli::process_environment()("TERM").value_or(""));
    return lockstep::cli::end(lockstep::cli::run(argc, argv));
  } catch (const lockstep::Error& error) {
    return failed(error.code(), error.message(), error.hint());
  } catch (const std::bad_alloc&) {
    const lockstep::Error error = lockstep::cli::lacks_memory();
    return failed(error.code(), error.message(), error.hint());
  } catch (const std::filesystem::filesystem_error& error) {
    return failed(Code::kEnvironment,
                  "cannot look at " + error.path1().string() + ": " + error.code().message());
  } catch (const std::system_error& error) {  // of a library
    return failed(Code::kEnvironment, lockstep::cannot_start_thread(error).what());
  } catch (const std::exception& error) {
    return failed(Code::kBug, std::string("unexpected: ") + error.what() +
                                  " (this is a bug in lockstep, please report it)");
  }
}

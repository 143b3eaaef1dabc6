// Ranks as processes (comm_rank), started, watched and ended by a test.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace lockstep::comm {

struct Ended {
  int code;  // exit status, or 128 + the signal
  std::string out, err;
  double seconds;  // from the start
};

class Process {
 public:
  // The program lies beside the test's. `inherited`: a descriptor that it keeps, or -1. `life`: if
  // it runs for more seconds, the wait for it ends it.
  Process(const std::string& program, const std::vector<std::string>& arguments, int inherited = -1,
          double life = 240);
  ~Process();  // kills it
  Process(Process&& other) noexcept;

  void signal(int number) const;
  // How many of its threads hold a signal back.
  int threads_blocking(int number) const;
  void wait_for_output(const std::string& text);  // on standard output
  Ended wait();

 private:
  bool hear();

  struct Stream {
    int fd = -1;
    std::string text;
  };
  pid_t pid_ = -1;
  Stream out_, err_;
  double started_ = 0, life_ = 0;
};

// `world` ranks that know each other's port and the secret "s"; `common` for all, more(r) for one.
class Ranks {
 public:
  explicit Ranks(const std::string& scenario, int world,
                 const std::vector<std::string>& common = {},
                 const std::vector<std::vector<std::string>>& more = {},
                 const std::string& program = "comm_rank");
  Process& operator[](int rank) { return processes_[static_cast<std::size_t>(rank)]; }
  std::vector<Ended> wait();
  int port() const { return port_; }

 private:
  int port_;
  std::vector<Process> processes_;
};

}  // namespace lockstep::comm

// A program whose libraries are loaded once for many calls: a library for LD_PRELOAD. LibTorch
// takes a third of a second to register what it has, most of a short command's time.
//
// Once all libraries are initialised, and before anything of the program itself has run, it waits
// at the socket WARM_START (SOCK_SEQPACKET, a number). A message is a command line, each argument
// ended by a zero byte, with four files: the folder to be in, and standard input, output and error.
// A child goes on from there as the program would have. The answer is its status, as waitpid gives
// it.
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using Main = int(int, char**, char**);
using Start = int(Main*, int, char**, void (*)(), void (*)(), void (*)(), void*);

struct Request {
  std::array<int, 4> files{-1, -1, -1, -1};
  std::size_t size = 0;  // 0: there is no more
};

std::array<char, 1 << 17> command;  // of the request

Request next_request(int socket) {
  Request request;
  iovec bytes{command.data(), command.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof request.files)> control{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t size = 0;
  do size = ::recvmsg(socket, &message, 0);
  while (size < 0 && errno == EINTR);
  const cmsghdr* const files = size > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (files == nullptr || files->cmsg_len != CMSG_LEN(sizeof request.files)) return request;
  std::memcpy(request.files.data(), CMSG_DATA(files), sizeof request.files);
  request.size = static_cast<std::size_t>(size);
  return request;
}

// Arguments, a null, the environment without what led here, a null: as the kernel lays them out.
std::vector<char*> as_the_kernel(const Request& request) {
  std::vector<char*> words;
  for (std::size_t i = 0; i < request.size; i += std::strlen(command.data() + i) + 1)
    words.push_back(command.data() + i);
  words.push_back(nullptr);
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, "LD_PRELOAD=", 11) != 0 &&
        std::strncmp(*variable, "WARM_START=", 11) != 0)
      words.push_back(*variable);
  }
  words.push_back(nullptr);
  return words;
}

// In the child: true. The process that serves never returns.
bool serve(int socket, Request& request) {
  for (;;) {
    request = next_request(socket);
    if (request.size == 0) ::_exit(0);
    const pid_t child = ::fork();
    if (child == 0) break;
    for (const int file : request.files) ::close(file);
    int status = -1;
    if (child > 0)
      while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
      }
    if (::send(socket, &status, sizeof status, MSG_NOSIGNAL) != sizeof status) ::_exit(1);
  }
  ::close(socket);
  if (::fchdir(request.files[0]) != 0) ::_exit(126);
  for (int i = 1; i < 4; ++i)
    if (::dup2(request.files[static_cast<std::size_t>(i)], i - 1) < 0) ::_exit(126);
  for (const int file : request.files) ::close(file);
  return true;
}

}  // namespace

// What a program's first instructions call (glibc).
extern "C" __attribute__((visibility("default"))) int __libc_start_main(Main* main, int argc,
                                                                        char** argv, void (*init)(),
                                                                        void (*fini)(),
                                                                        void (*loader_fini)(),
                                                                        void* stack_end) {
  static std::vector<char*> words;
  const char* const socket = ::getenv("WARM_START");
  if (Request request; socket != nullptr && serve(std::atoi(socket), request)) {
    words = as_the_kernel(request);
    argv = words.data();
    for (argc = 0; argv[argc] != nullptr;) ++argc;
  }
  const auto start = reinterpret_cast<Start*>(::dlsym(RTLD_NEXT, "__libc_start_main"));
  return start(main, argc, argv, init, fini, loader_fini, stack_end);
}

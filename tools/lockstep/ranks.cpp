#include "ranks.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <iterator>

#include "device.h"
#include "lockstep/comm/gather.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/core/list.h"
#include "lockstep/core/log.h"
#include "lockstep/core/read_descriptor.h"
#include "lockstep/core/text.h"
#include "lockstep/fingerprint/compare.h"
#include "lockstep/hash/hmac.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/gpu_tensors.h"
#include "lockstep/recipe/canonical.h"
#include "lockstep/recipe/semantics.h"
#include "lockstep/train/numerics.h"
#include "lockstep/train/signals.h"
#include "output.h"
#include "startup.h"

namespace lockstep::cli {
namespace {

constexpr std::uint64_t kShortestSecret = 32, kLongestSecret = 4096;

// Closes the descriptor that --ranks handed over: it is not needed any more.
void close_handed_over(const std::string& path) {
  const std::string own = "/proc/self/fd/";
  if (!path.starts_with(own)) return;
  const auto fd = parse_int(std::string_view(path).substr(own.size()));
  if (fd && *fd > STDERR_FILENO) ::close(static_cast<int>(*fd));
}

Bytes read_secret(const comm::Environment& environment) {
  const auto path = environment("LOCKSTEP_SECRET_FILE");
  if (!path || path->empty())
    throw Error(Code::kUsage,
                std::string("several ranks need a secret, and LOCKSTEP_SECRET_FILE is ") +
                    (path ? "empty" : "not set"),
                "make one, (umask 077; head -c 32 /dev/urandom > secret), copy it to every host, "
                "and set the variable to its path");
  // By its path, not by core's file system, which refuses links: --ranks hands over /proc/self/fd.
  const int fd = ::open(path->c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  Bytes secret(kLongestSecret + 1);
  const std::int64_t n =
      fd < 0 || ::fstat(fd, &status) != 0 ? -1 : read_descriptor(fd, secret, train::stop_requested);
  if (fd >= 0) ::close(fd);
  close_handed_over(*path);
  if (n < 0 && train::stop_requested())
    throw Error(Code::kPreempted, "stopped by a signal before the secret was read",
                "nothing was begun");
  if (n < 0)
    throw Error(Code::kUsage, "LOCKSTEP_SECRET_FILE: cannot read " + *path,
                "it must be there on every rank's machine");
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    throw Error(Code::kUsage, *path + ": others may read the secret", "chmod 600 " + *path);
  if (static_cast<std::uint64_t>(n) < kShortestSecret ||
      static_cast<std::uint64_t>(n) > kLongestSecret)
    throw Error(Code::kUsage, *path + ": a secret has 32 to 4096 bytes, not " + std::to_string(n),
                "head -c 32 /dev/urandom > " + *path);
  secret.resize(static_cast<std::size_t>(n));
  return secret;
}

int inherited(const comm::Environment& environment, const char* name) {
  const auto text = environment(name);
  return text ? static_cast<int>(parse_int(*text).value_or(-1)) : -1;
}

// What --ranks wrote for ranks that still wait at the rendezvous: see launch.cpp.
std::string read_notice(int descriptor) {
  std::array<char, 256> text;
  const ssize_t n = descriptor < 0 ? 0 : ::pread(descriptor, text.data(), text.size(), 0);
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0))};
}

// A rank of --ranks: it does not outlive the command that started it, which passes on its signals.
void follow_launcher(const comm::Environment& environment) {
  if (inherited(environment, "LOCKSTEP_PARENT") <= 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigset_t held;  // by the launcher, until the rank can stop
  sigemptyset(&held);
  for (const int signal : train::stop_signals()) sigaddset(&held, signal);
  ::sigprocmask(SIG_UNBLOCK, &held, nullptr);
  if (::getppid() != inherited(environment, "LOCKSTEP_PARENT")) ::raise(SIGTERM);
  // The launcher has told people; the run's log has only this process.
  if (const auto why = environment("LOCKSTEP_RESTART"); why && !why->empty())
    log::to_file("warning: " + *why);
}

// Numbers of GPUs do not tell which ranks have the same one: each may see others. Collective: yes.
void share_gpu(comm::Group& group, const std::string& mine) {
  const auto all = comm::gather_texts(group, mine);
  if (mine.empty()) return;
  std::vector<std::string> sharers;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank] == mine) sharers.push_back(std::to_string(rank));
  ops::share_gpu(static_cast<int>(sharers.size()));
  if (sharers.size() > 1 && sharers.front() == std::to_string(group.rank().value))
    log::warn("ranks " + listed(sharers, " and ") + " compute on one GPU, " + ops::device().uuid() +
              ", one after the other (--device, LOCAL_RANK and CUDA_VISIBLE_DEVICES say which a "
              "rank has)");
}

}  // namespace

void require_lanes(int ranks, const recipe::Recipe& recipe) {
  if (ranks > recipe.batch.lanes)
    throw Error(Code::kUsage,
                counted(ranks, "rank") + ": the recipe has " + counted(recipe.batch.lanes, "lane"),
                "a rank holds at least one; use fewer ranks");
}

double deadline(const comm::Environment& environment) {
  const auto text = environment("LOCKSTEP_DEADLINE");
  if (!text) return comm::Options().deadline;
  const auto seconds = parse_double(*text);
  if (!seconds || !(*seconds >= 1 && *seconds <= 86400))
    throw Error(Code::kUsage,
                "LOCKSTEP_DEADLINE=" + *text + " is not a number of seconds from 1 to 86400");
  return *seconds;
}

std::string transport(const comm::Environment& environment) {
  const std::string name = environment("LOCKSTEP_TRANSPORT").value_or("gloo");
  if (name != "gloo" && name != "nccl")
    throw Error(Code::kUsage,
                "LOCKSTEP_TRANSPORT=" + name + " is not a transport (give gloo or nccl)");
  return name;
}

comm::Options meeting_options(const comm::Identity& identity,
                              const comm::Environment& environment) {
  comm::Options options;
  options.interface = environment("LOCKSTEP_INTERFACE").value_or("");
  options.deadline = deadline(environment);
  options.transport = transport(environment);
  if (identity.world > 1) {
    require_open_files(identity.world);
    options.mac = [secret = read_secret(environment)](ByteView message) {
      return hash::hmac_sha256(secret, message).bytes;
    };
    options.random = hash::random_bytes;
    options.listening_socket = inherited(environment, "LOCKSTEP_LISTENING_SOCKET");
    options.hopeless = [notice = inherited(environment, "LOCKSTEP_NOTICE")]() -> std::string {
      if (train::stop_requested()) return "stopped by a signal before all ranks had met";
      return read_notice(notice);
    };
  }
  return options;
}

// A signal that came while the ranks met ends the command, whatever the others say then.
std::unique_ptr<comm::Group> meet(const comm::Identity& identity, const comm::Options& options) {
  try {
    return comm::connect(identity, options);
  } catch (const Error& error) {
    if (!train::stop_requested()) throw;
    throw Error(Code::kPreempted, error.message(), "nothing was begun");
  }
}

// The recipe key by key, so that a difference names the key.
std::vector<comm::Credential> credentials(const fingerprint::Fingerprint& facts,
                                          const recipe::Recipe* recipe,
                                          const comm::Options& options) {
  std::vector<comm::Credential> list = {
      {"semantics", std::to_string(recipe::kSemantics), false},
      {"numeric self-test", fingerprint::fact(facts, "self_test"), false},
      {"recipe", recipe ? "given" : "not given", false}};
  if (recipe) {
    const auto bits = recipe::keys_of(recipe::canonical_bits(*recipe));
    for (const auto& one : recipe::keys_of(recipe::canonical(*recipe))) {
      const auto& [key, value] = one;
      // These change no bits, but what ranks exchange, and when.
      const bool exchange = key == "run.steps" || key.starts_with("evidence.") ||
                            key.starts_with("monitor.") || key.starts_with("checkpoint.");
      if (exchange || std::ranges::find(bits, one) != bits.end())
        list.push_back({key, value, false});
    }
  }
  // Native numerics tries few shapes, so what its kernels are chosen by must be the same, too: it
  // may not change later either (train/environment.h). First, because it says why hashes differ.
  const bool native = recipe && recipe::is_native(*recipe);
  const bool on_cpu = fingerprint::fact(facts, "device") == "cpu";
  const auto chooses = [&](const std::string& name) {
    return native && (name == "device" || fingerprint::names_native_kernels(name, on_cpu));
  };
  for (const auto& [name, value] : facts)
    if (chooses(name)) list.push_back({name, value, false});
  for (const auto& [name, value] : facts)
    if (name.starts_with("native.")) list.push_back({name, value, false});
  // A different machine is no error as long as it computes the same bits; it is worth knowing.
  for (const char* name : {"isa", "cpu", "glibc", "libtorch", "device", "driver"})
    if (!chooses(name)) list.push_back({name, fingerprint::fact(facts, name), true});
  list.push_back({"transport", options.transport, false});
  return list;
}

Member join(const comm::Identity& identity, const recipe::Recipe& recipe,
            const std::vector<comm::Credential>& command, const std::string& device,
            const comm::Environment& environment) {
  follow_launcher(environment);
  comm::Options options = meeting_options(identity, environment);
  Member member;
  if (identity.world > 1) {
    member.fingerprint = train::fingerprint_for(recipe);
    options.credentials = command;  // first: another command is another recipe, too
    std::ranges::move(credentials(member.fingerprint, &recipe, options),
                      std::back_inserter(options.credentials));
    options.gpu = gpu_of(device, identity.local_rank);
  }
  member.group = meet(identity, options);
  if (identity.world > 1) share_gpu(*member.group, gpu_identity(device, identity.local_rank));
  return member;
}

std::unique_ptr<comm::Group> join_any(const comm::Identity& identity, const std::string& device,
                                      const comm::Environment& environment) {
  follow_launcher(environment);
  comm::Options options = meeting_options(identity, environment);
  if (identity.world > 1) options.gpu = gpu_of(device, identity.local_rank);
  return meet(identity, options);
}

train::Exchanges exchanges_on(const std::string& device, const comm::Environment& environment) {
  return {.rank = Rank(0), .in_device = device != "cpu" && transport(environment) == "nccl"};
}

Code as_rank(const comm::Identity& identity, const std::function<Code()>& part) {
  try {
    return part();
  } catch (const Error& error) {
    if (identity.world == 1) throw;
    throw error.within("rank " + std::to_string(identity.rank.value));
  } catch (const std::bad_alloc&) {
    if (identity.world == 1) throw;
    throw lacks_memory().within("rank " + std::to_string(identity.rank.value));
  }
}

void show(comm::Group& group, const std::function<void()>& on_rank_0) {
  if (group.rank() == Rank(0)) {
    on_rank_0();
    flush_output();
  }
  group.barrier();
}

}  // namespace lockstep::cli

// The exchange of a recipe's gradients between processes, and Gloo's own ring all-reduce of as many
// floats, in turns: bytes that each rank sends, and the time.
//   exchange_bench RECIPE RANKS ROUNDS
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <thread>

#include "gloo_ring.h"
#include "lockstep/comm/connect.h"
#include "lockstep/comm/gather.h"
#include "lockstep/comm/queue.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/text.h"
#include "lockstep/data/dataset.h"
#include "lockstep/hash/hmac.h"
#include "lockstep/lane/exchange.h"
#include "lockstep/numerics/philox.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/memory.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/training.h"

namespace lockstep {
namespace {

using at::Tensor;

// What the kernel has sent over all TCP connections of this process, headers and acknowledgements
// left out.
double bytes_sent() {
  double sum = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = static_cast<int>(parse_int(entry.path().filename().string()).value());
    tcp_info info{};
    socklen_t size = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0)
      sum += static_cast<double>(info.tcpi_bytes_sent);
  }
  return sum;
}

// Of all threads of this process.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Spread {
  double low, median, high;  // 10 %, 50 %, 90 %
};
Spread spread(std::vector<double> values) {
  std::ranges::sort(values);
  const auto at = [&](std::size_t percent) { return values[(values.size() - 1) * percent / 100]; };
  return {at(10), at(50), at(90)};
}

// The gradients of one network, as its backward pass would hand them over.
struct Gradients {
  std::vector<lane::Outbox::Expected> list;
  std::vector<Tensor> partials;
};

class Bench {
 public:
  Bench(const recipe::Recipe& recipe, comm::Group& group, GlooRing& ring)
      : group_(group), queue_(group), ring_(ring), plan_(recipe.batch, group.size()) {
    const auto shape = data::open(recipe.data)->sample_shape();
    const train::Training training = train::make_training(recipe, shape, {.world = group.size()});
    const auto rows = static_cast<std::int64_t>(plan_.subtrees(group.rank()).size());
    const auto rank = static_cast<std::uint32_t>(group.rank().value);
    for (const train::Trained& network : training.trained) {
      Gradients& of_network = networks_.emplace_back();
      for (std::size_t i = network.parameters.size(); i-- > 0;) {
        const std::int64_t floats = network.parameters[i].numel();
        of_network.list.push_back({std::to_string(i), floats});
        Tensor partials = ops::empty({rows, floats});
        ops::device().fill_normal({.key = {static_cast<std::uint32_t>(i), rank}, .micro = 0}, 0, 1,
                                  partials.numel(), ops::write(partials));
        of_network.partials.push_back(partials);
        for (std::int64_t j = 0; j < floats; ++j) {  // Gloo gets this rank's partials as one
          float sum = 0;
          for (std::int64_t row = 0; row < rows; ++row)
            sum += ops::read(partials)[row * floats + j];
          flat_.push_back(sum);
        }
      }
    }
  }

  std::size_t floats() const { return flat_.size(); }
  bool aligned() const {
    for (int r = 0; r < group_.size(); ++r)
      if (plan_.subtrees(Rank(r)).size() != 1) return false;
    return true;
  }

  void ours() {
    whole_.clear();
    for (const Gradients& of_network : networks_) {
      lane::Outbox outbox(plan_, queue_, of_network.list);
      for (std::size_t i = 0; i < of_network.partials.size(); ++i)
        outbox.put(i, of_network.partials[i]);
      for (Tensor& tensor : outbox.finish()) whole_.push_back(std::move(tensor));
    }
  }
  void prepare_ring() { reduced_ = flat_; }
  void ring() { ring_.all_reduce(reduced_.data(), reduced_.size()); }
  // With what it takes to get tensors into one buffer and out of it.
  void ring_of_tensors() {
    std::size_t at = 0;
    for (const Gradients& of_network : networks_)
      for (const Tensor& partials : of_network.partials) {
        const auto floats = static_cast<std::size_t>(partials.size(1));
        std::copy_n(ops::read(partials), floats, reduced_.data() + at);
        at += floats;
      }
    ring();
    at = 0;
    copied_.clear();
    for (const Gradients& of_network : networks_)
      for (const Tensor& partials : of_network.partials) {
        copied_.push_back(ops::empty({partials.size(1)}));
        const auto floats = static_cast<std::size_t>(partials.size(1));
        std::copy_n(reduced_.data() + at, floats, ops::write(copied_.back()));
        at += floats;
      }
  }

  // Both gave about the same sums, or there is nothing to compare.
  void require_same_sums() {
    std::size_t at = 0;
    for (const Tensor& tensor : whole_)
      for (std::int64_t j = 0; j < tensor.numel(); ++j, ++at)
        if (!(std::fabs(ops::read(tensor)[j] - reduced_[at]) < 1e-4F))
          throw Error(Code::kBug, "the exchange and Gloo's all-reduce have different sums");
    LOCKSTEP_ASSERT(at == reduced_.size());
  }

  // Of `body`, all ranks having begun together: seconds of the slowest rank, and of the CPU, a
  // rank.
  struct Cost {
    double seconds = 0, cpu = 0;
  };
  Cost cost(const std::function<void()>& body) {
    group_.barrier();
    const double cpu = cpu_seconds(), start = monotonic_seconds();
    body();
    const Cost mine{monotonic_seconds() - start, cpu_seconds() - cpu};
    Cost all;
    for (const auto& theirs : comm::gather(group_, std::vector{mine})) {
      all.seconds = std::max(all.seconds, theirs[0].seconds);
      all.cpu += theirs[0].cpu / group_.size();
    }
    return all;
  }

  // Bytes that each rank sends for `body`.
  std::vector<double> bytes(const std::function<void()>& body) {
    constexpr int kTimes = 10;
    const auto rest = [] { std::this_thread::sleep_for(std::chrono::milliseconds(100)); };
    group_.barrier();
    rest();
    const double before = bytes_sent();
    for (int i = 0; i < kTimes; ++i) body();
    rest();
    std::vector<double> all;
    for (const auto& theirs : comm::gather(group_, std::vector{(bytes_sent() - before) / kTimes}))
      all.push_back(theirs[0]);
    return all;
  }

  comm::Group& group() { return group_; }
  comm::Queue& queue() { return queue_; }
  GlooRing& gloo() { return ring_; }

 private:
  comm::Group& group_;
  comm::Queue queue_;
  GlooRing& ring_;
  lane::Plan plan_;
  std::vector<Gradients> networks_;
  std::vector<float> flat_, reduced_;
  std::vector<Tensor> whole_, copied_;
};

void print_bytes(const char* what, const std::vector<double>& of_ranks, double ideal) {
  double sum = 0;
  for (const double bytes : of_ranks) sum += bytes;
  const double most = *std::ranges::max_element(of_ranks);
  const double mean = sum / static_cast<double>(of_ranks.size());
  std::printf("%-28s mean %10.0f bytes (%.4f of a ring's), busiest rank %10.0f (%.4f)\n", what,
              mean, mean / ideal, most, most / ideal);
}

void print_times(const char* what, const std::vector<double>& seconds) {
  const Spread s = spread(seconds);
  std::printf("%-28s median %8.3f ms (%.3f to %.3f)\n", what, s.median * 1e3, s.low * 1e3,
              s.high * 1e3);
}

void measure(const std::string& recipe_path, comm::Group& group, GlooRing& ring, int rounds) {
  Bench bench(recipe::load(recipe_path), group, ring);
  const auto gloo = [&] { bench.ring(); };
  const auto ours = [&] { bench.ours(); };
  bench.prepare_ring();
  gloo();
  ours();
  bench.require_same_sums();

  const std::vector<double> our_bytes = bench.bytes(ours), ring_bytes = bench.bytes(gloo);
  // In turns, each once as the first one.
  struct Kind {
    const char* name;
    std::function<void()> body;
    std::vector<double> times, speeds, cpu;
  };
  std::vector<Kind> kinds = {
      {"exchange", ours, {}, {}, {}},
      {"Gloo's ring", gloo, {}, {}, {}},
      {"Gloo's ring, with copies", [&] { bench.ring_of_tensors(); }, {}, {}, {}}};
  for (int round = 0; round < rounds; ++round) {
    bench.prepare_ring();
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      Kind& kind = kinds[(i + static_cast<std::size_t>(round)) % kinds.size()];
      const Bench::Cost cost = bench.cost(kind.body);
      kind.times.push_back(cost.seconds);
      kind.cpu.push_back(cost.cpu);
    }
    for (Kind& kind : kinds) kind.speeds.push_back(kind.times.back() / kinds[0].times.back());
  }

  // Small operations, one at a time, by the hundred.
  constexpr int kOperations = 100;
  std::vector<double> barriers, gathers, queued, ring_barriers;
  const auto small = [&](std::vector<double>& times, const std::function<void()>& operation) {
    const Bench::Cost cost = bench.cost([&] {
      for (int i = 0; i < kOperations; ++i) operation();
    });
    times.push_back(cost.seconds / kOperations);
  };
  const std::vector<std::byte> digest(32);
  for (int round = 0; round < rounds / 4 + 1; ++round) {
    small(barriers, [&] { group.barrier(); });
    small(ring_barriers, [&] { ring.barrier(); });
    small(gathers, [&] { comm::gather(group, digest); });
    small(queued, [&] {
      bench.queue().start([&](comm::Group& in_turn) { comm::gather(in_turn, digest); }).get();
    });
  }
  if (group.rank() != Rank(0)) return;

  const double ranks = group.size(), size = 4.0 * static_cast<double>(bench.floats());
  const double ideal = 2 * (ranks - 1) / ranks * size;
  std::printf("%s: %zu floats, %d ranks, %s blocks of lanes, %d rounds\n", recipe_path.c_str(),
              bench.floats(), group.size(), bench.aligned() ? "aligned" : "odd", rounds);
  print_bytes("exchange sends", our_bytes, ideal);
  print_bytes("Gloo's ring sends", ring_bytes, ideal);
  for (const Kind& kind : kinds) {
    print_times(kind.name, kind.times);
    print_times("  CPU of a rank", kind.cpu);
    if (&kind == &kinds[0]) continue;
    const Spread s = spread(kind.speeds);
    std::printf("  %-26s median %8.3f    (%.3f to %.3f)\n", "speed of the exchange, of its",
                s.median, s.low, s.high);
  }
  print_times("barrier", barriers);
  print_times("Gloo's barrier", ring_barriers);
  print_times("gather of 32 bytes", gathers);
  print_times("the same, in the queue", queued);
}

GlooRing* open_ring(int rank, int world, const std::string& folder) {
  const auto path =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libgloo_ring.so";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (!library) throw Error(Code::kEnvironment, dlerror());
  GlooRing* ring =
      reinterpret_cast<OpenGlooRing>(dlsym(library, kOpenGlooRing))(rank, world, folder.c_str());
  if (!ring) throw Error(Code::kEnvironment, "no ring");
  return ring;
}

int run_rank(int rank, int world, const comm::Listening& door, const std::string& folder,
             const std::string& recipe, int rounds) {
  try {
    comm::Identity identity;
    identity.rank = Rank(rank);
    identity.world = world;
    identity.host = "127.0.0.1";
    identity.port = door.port;
    comm::Options options;
    if (rank == 0) options.listening_socket = door.socket;
    options.mac = [](ByteView message) {
      return hash::hmac_sha256(as_bytes("secret"), message).bytes;
    };
    options.random = hash::random_bytes;
    const auto group = comm::connect(identity, options);
    const std::unique_ptr<GlooRing> ring(open_ring(rank, world, folder));
    measure(recipe, *group, *ring, rounds);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    return 1;
  }
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  lockstep::ops::take_memory(true);  // as the program does
  using namespace lockstep;
  const auto world = argc == 4 ? parse_int(argv[2]) : std::nullopt;
  const auto rounds = argc == 4 ? parse_int(argv[3]) : std::nullopt;
  if (!world || *world < 2 || !rounds || *rounds < 1) {
    std::fprintf(stderr, "usage: exchange_bench RECIPE RANKS ROUNDS\n");
    return 2;
  }
  const comm::Listening door = comm::listen_on("127.0.0.1", 0);
  const auto folder =
      std::filesystem::temp_directory_path() / ("exchange_bench-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  for (int rank = 0; rank < static_cast<int>(*world); ++rank)
    if (fork() == 0) {
      const int code = run_rank(rank, static_cast<int>(*world), door, folder, argv[1],
                                static_cast<int>(*rounds));
      std::fflush(stdout);
      _exit(code);
    }
  int worst = 0, status = 0;
  while (wait(&status) > 0) worst = std::max(worst, WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  std::filesystem::remove_all(folder);
  return worst;
}

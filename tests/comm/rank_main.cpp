// One rank as a process of its own: comm_rank SCENARIO key=value… The tests start several.
#include <dlfcn.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>

#include "exercise.h"
#include "lockstep/comm/connect.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "lockstep/core/text.h"

namespace lockstep::comm {
namespace {

using Settings = std::map<std::string, std::string>;

void bench(Group& group) {
  constexpr int kBarriers = 2000, kMoves = 40;
  constexpr std::size_t kBytes = 10 << 20;
  for (int i = 0; i < 100; ++i) group.barrier();
  double start = monotonic_seconds();
  for (int i = 0; i < kBarriers; ++i) group.barrier();
  const double barrier = (monotonic_seconds() - start) / kBarriers;
  const auto world = static_cast<std::size_t>(group.size());
  std::vector<Bytes> out(world, Bytes(kBytes)), in(world, Bytes(kBytes));
  start = monotonic_seconds();
  for (int i = 0; i < kMoves; ++i)
    group.all_to_all(std::vector<ByteView>(out.begin(), out.end()),
                     std::vector<MutableByteView>(in.begin(), in.end()));
  const double move = (monotonic_seconds() - start) / kMoves;
  std::cout << "barrier " << fixed(barrier * 1e6, 1) << " us, all_to_all of 10 MiB "
            << fixed(move * 1e3, 2) << " ms, " << fixed(kBytes / move / 1e9, 2)
            << " GB/s each way\n";
}

// "size": all_gather of `usual` bytes, but the odd rank has `unusual`.
void out_of_step(Group& group, const std::string& how, std::size_t usual, std::size_t unusual) {
  const bool odd = group.rank() == Rank(1);
  const auto world = static_cast<std::size_t>(group.size());
  if (how == "size") {
    std::vector<Bytes> in(world, Bytes(usual));
    if (odd) in[1].resize(unusual);
    group.all_gather(in[static_cast<std::size_t>(group.rank().value)],
                     std::vector<MutableByteView>(in.begin(), in.end()));
    group.barrier();  // where the odd one hears of it
  } else if (odd) {
    group.barrier();
  } else {
    std::vector<Bytes> in(world, Bytes(9));
    group.all_gather(Bytes(9), std::vector<MutableByteView>(in.begin(), in.end()));
  }
}

void play(Group& group, const std::string& scenario, Settings& settings) {
  const bool odd = settings["odd"] == settings["rank"];
  if (scenario == "operations") {
    std::cout << exercise(group, 20, settings["large"].empty() ? 70000 : 10 << 20) << "\n";
  } else if (scenario == "bench") {
    bench(group);
  } else if (scenario == "memory") {
    std::cout << (group.takes_device_memory() ? "GPUs'\n" : "the host's\n");
  } else if (scenario == "barriers") {
    group.barrier();
    std::cout << "ready\n" << std::flush;
    for (;;) group.barrier();
  } else if (scenario == "large") {
    std::vector<Bytes> out(static_cast<std::size_t>(group.size()), Bytes(10 << 20)), in = out;
    group.barrier();
    std::cout << "ready\n" << std::flush;
    for (;;)
      group.all_to_all(std::vector<ByteView>(out.begin(), out.end()),
                       std::vector<MutableByteView>(in.begin(), in.end()));
  } else if (scenario == "stuck") {
    group.barrier();
    std::cout << "ready\n" << std::flush;
    if (odd) pause();
    group.barrier();
  } else if (scenario == "abort") {
    group.barrier();
    if (odd) {
      std::cout << "ready\n" << std::flush;
      group.abort({Code::kEnvironment, "the disk is full"});
    }
    if (odd) group.abort({Code::kEnvironment, "a later reason"});
    for (;;) group.barrier();
  } else if (scenario == "throw") {
    group.barrier();
    if (odd) throw Error(Code::kDiverged, "the loss is NaN");
    for (;;) group.barrier();
  } else if (scenario == "drop") {
    std::vector<Bytes> out(static_cast<std::size_t>(group.size()), Bytes(10 << 20)), in = out;
    const auto operation =
        group.begin_all_to_all(std::vector<ByteView>(out.begin(), out.end()),
                               std::vector<MutableByteView>(in.begin(), in.end()));
    if (odd) throw Error(Code::kDiverged, "the loss is NaN");
    operation->finish();
    for (;;) group.barrier();
  } else {
    const auto bytes = [&](const char* name) {
      return static_cast<std::size_t>(parse_int(settings[name]).value_or(0));
    };
    out_of_step(group, scenario, bytes("usual"), bytes("unusual"));
  }
}

int run(int count, char** arguments) {
  Settings settings;
  Options options;
  for (int i = 2; i < count; ++i) {
    const std::string argument = arguments[i];
    const std::size_t equals = argument.find('=');
    const std::string key = argument.substr(0, equals), value = argument.substr(equals + 1);
    const std::size_t colon = value.find(':');
    if (key == "agree" || key == "report")
      options.credentials.push_back(
          {value.substr(0, colon), value.substr(colon + 1), key == "report"});
    if (key == "env") setenv(value.substr(0, colon).c_str(), value.substr(colon + 1).c_str(), 1);
    settings[key] = value;
  }
  Identity identity;
  identity.rank = Rank(parse_int(settings["rank"]).value());
  identity.world = static_cast<int>(parse_int(settings["world"]).value());
  identity.local_rank = static_cast<int>(identity.rank.value);
  identity.host = settings["host"].empty() ? "127.0.0.1" : settings["host"];
  identity.port = static_cast<int>(parse_int(settings["port"]).value());
  if (settings.contains("listen"))
    options.listening_socket = static_cast<int>(parse_int(settings["listen"]).value());
  if (settings.contains("hopeless"))  // the content of that file
    options.hopeless = [file = settings["hopeless"]] {
      std::ifstream in(file);
      return std::string(std::istreambuf_iterator<char>(in), {});
    };
  if (settings.contains("transport")) options.transport = settings["transport"];
  options.deadline = parse_double(settings["deadline"]).value_or(20);
  options.handshake = parse_double(settings["handshake"]).value_or(5);
  options.interface = settings["interface"];
  options.gpu = static_cast<int>(parse_int(settings["gpu"]).value_or(-1));
  const std::string secret = settings["secret"];
  // An impostor passes the rendezvous and fails where it meets the others: "pair with" as the data
  // connections are made, "transport" on the transport's own.
  const std::string impostor = settings["impostor"];
  options.mac = [secret, impostor](ByteView message) {
    Mac mac{};
    const std::string_view text(reinterpret_cast<const char*>(message.data()), message.size());
    if (!impostor.empty() && text.find(impostor) != text.npos) return mac;
    HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
         reinterpret_cast<const unsigned char*>(message.data()), message.size(),
         reinterpret_cast<unsigned char*>(mac.data()), nullptr);
    return mac;
  };
  options.random = [](MutableByteView out) {
    if (getrandom(out.data(), out.size(), 0) != static_cast<ssize_t>(out.size())) std::abort();
  };
  if (settings.contains(
          "torch"))  // its Gloo comes first in the global scope, or this proves nothing
    if (!dlsym(RTLD_DEFAULT, "_ZN4gloo7ContextC1Eiii")) {
      std::cerr << "LibTorch's Gloo is not in the global scope\n";
      return 70;
    }
  const auto group = connect(identity, options);
  play(*group, arguments[1], settings);
  return 0;
}

}  // namespace
}  // namespace lockstep::comm

int main(int count, char** arguments) {
  try {
    return lockstep::comm::run(count, arguments);
  } catch (const lockstep::Error& error) {
    std::cerr << error.what() << "\n";
    return static_cast<int>(error.code());
  }
}

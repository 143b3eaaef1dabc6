#include "gloo_ring.h"

#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <cstdio>
#include <exception>

namespace lockstep {
namespace {

class Ring final : public GlooRing {
 public:
  Ring(int rank, int world, const char* folder)
      : context_(std::make_shared<gloo::rendezvous::Context>(rank, world)) {
    gloo::rendezvous::FileStore store(folder);
    auto device = gloo::transport::tcp::CreateDevice("127.0.0.1");
    context_->connectFullMesh(store, device);
  }

  void all_reduce(float* floats, std::size_t count) override {
    gloo::AllreduceOptions options(context_);
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    options.setOutput(floats, count);
    options.setReduceFunction(
        static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
    gloo::allreduce(options);
  }

  void barrier() override {
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
  }

 private:
  std::shared_ptr<gloo::rendezvous::Context> context_;
};

}  // namespace
}  // namespace lockstep

extern "C" __attribute__((visibility("default"))) lockstep::GlooRing* lockstep_open_gloo_ring(
    int rank, int world, const char* folder) {
  try {
    return new lockstep::Ring(rank, world, folder);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "Gloo: %s\n", error.what());
    return nullptr;
  }
}

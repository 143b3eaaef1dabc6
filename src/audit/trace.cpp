#include "lockstep/audit/trace.h"

#include "audit/replay_session.h"
#include "lockstep/comm/single_rank.h"
#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/trace.h"

namespace lockstep::audit {
namespace {

using ops::Tensor;

std::string digest_of(const Tensor& tensor) {
  if (!tensor.defined()) return {};
  std::string shape = "float32";
  for (const std::int64_t size : tensor.sizes()) shape += " " + std::to_string(size);
  hash::Sha256 hash;
  hash.update(as_bytes(shape + "\n"));
  hash.update(ops::HostView(ops::bare(tensor).contiguous()).bytes());
  return hash.finish().hex();
}

std::vector<std::string> digests_of(at::TensorList tensors) {
  std::vector<std::string> digests;
  for (const Tensor& tensor : tensors) digests.push_back(digest_of(tensor));
  return digests;
}

class Listener {
 public:
  Listener(const std::optional<std::size_t>& values_of, TraceResult& result)
      : values_of_(values_of), result_(result) {}

  void operator()(const std::string& op, at::TensorList inputs, at::TensorList outputs) {
    const ops::Where& where = ops::where();
    const bool backward = where.pass == ops::Pass::kBackward;
    if (values_of_ == result_.trace.ops.size()) keep(outputs);
    result_.trace.ops.push_back({.pass = backward ? "backward" : "forward",
                                 .module = where.module,
                                 .of = backward ? where.op : "",
                                 .op = op,
                                 .inputs = digests_of(inputs),
                                 .outputs = digests_of(outputs)});
  }

 private:
  void keep(at::TensorList outputs) {
    for (const Tensor& output : outputs) {
      if (!output.defined()) continue;
      const ops::HostView dense(ops::bare(output).contiguous());
      result_.values.insert(result_.values.end(), dense.floats().begin(), dense.floats().end());
    }
  }

  const std::optional<std::size_t> values_of_;
  TraceResult& result_;
};

TraceResult traced(const TraceOptions& options, comm::Group& group) {
  ReplaySession session(options.folder, options.data, group);
  session.without_witnesses();  // they would compute lanes twice
  TraceResult result;
  Trace& trace = result.trace;
  const auto way = session.go_before(options.step);
  trace.started = way.started;
  trace.states_before = way.before;

  trace.run = session.ledger().header;
  trace.numerics = session.recipe().run.numerics;
  trace.step = options.step;
  trace.environment = fingerprint::take();
  {
    const ops::TraceScope scope(Listener(options.values_of, result));
    const train::StepRecord record = session.step();
    trace.states_before.push_back(record.entry.before.hex());
    trace.state = record.entry.state.hex();
  }
  if (options.values_of && *options.values_of >= trace.ops.size())
    throw Error(Code::kUsage, "there is no operation " + std::to_string(*options.values_of),
                "step " + std::to_string(options.step.value) + " has operations 0 to " +
                    std::to_string(trace.ops.size() - 1));
  const train::Training& training = session.training();
  for (std::size_t i = 0; i < training.state.tensors.size(); ++i)
    trace.tensors.emplace_back(training.state.tensors[i].name, training.agreed->tensors[i].hex());
  return result;
}

}  // namespace

std::string TracedOp::name() const {
  const std::string place = module.empty() ? "the step" : module;
  if (pass == "forward") return place + ": " + op;
  return place + ", backward of " + of + (of == op ? "" : ": " + op);
}

TraceResult trace(const TraceOptions& options) {
  comm::SingleRank group;
  return traced(options, group);
}

}  // namespace lockstep::audit

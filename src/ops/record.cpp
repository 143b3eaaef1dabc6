#include "lockstep/ops/record.h"

#include <ATen/EmptyTensor.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>

#include "lockstep/core/error.h"
#include "lockstep/core/list.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/guard.h"
#include "lockstep/ops/trace.h"
#include "lockstep/ops/view.h"
#include "ops/passes.h"
#include "ops/surroundings.h"

namespace lockstep::ops {
namespace {

using torch::autograd::Edge;
using torch::autograd::Node;

// Whether LibTorch's observer was on in this thread when the engine was called.
thread_local bool observed = true;

// Base of our nodes.
class OpNode : public Node {
 public:
  OpNode() : Node((*thread_sequence())++) {}

  // Notes that a walk met this edge; false if it did before, or cannot say.
  bool meet(std::uint64_t walk, std::uint32_t input, bool& first) {
    first = walk_ != walk;
    if (first) met_ = 0;
    walk_ = walk;
    if (input >= 64 || (met_ >> input & 1) != 0) return false;
    met_ |= std::uint64_t{1} << input;
    return true;
  }

  // What apply returns. The engine would silently sum a gradient of another shape, or convert one
  // of another type.
  torch::autograd::variable_list handed_on(torch::autograd::variable_list gradients) const {
    for (std::size_t i = 0; i < gradients.size() && i < num_outputs(); ++i) {
      const Edge& edge = next_edge(i);
      if (!gradients[i].defined() || !edge.is_valid()) continue;
      LOCKSTEP_ASSERT(
          edge.function->input_metadata(edge.input_nr).is_same_shape(gradients[i]) &&
              gradients[i].scalar_type() == at::kFloat,
          "the gradient of op '" + name() + "' does not fit its input " + std::to_string(i));
      if (auto* node = dynamic_cast<OpNode*>(edge.function.get())) node->hear(gradients[i]);
    }
    return gradients;
  }
  // A gradient that is on its way to this node.
  virtual void hear(const Tensor&) {}
  virtual std::size_t own_hooks() const { return 0; }  // that compute nothing

 private:
  std::uint64_t walk_ = 0, met_ = 0;
};

bool has_hooks(Node& node) {
  const auto* ours = dynamic_cast<const OpNode*>(&node);
  return !node.pre_hooks().empty() || !node.post_hooks().empty() ||
         node.tensor_pre_hooks().size() > (ours != nullptr ? ours->own_hooks() : 0) ||
         !node.retains_grad_hooks().empty();
}

// Whether the engine has nothing to compute behind these outputs: only nodes of ours (or leaves,
// where gradients end), without hooks, and no two gradients arrive at the same place.
bool engine_only_carries(const Tensors& outputs) {
  static std::atomic<std::uint64_t> walks = 0;
  const std::uint64_t walk = ++walks;
  std::vector<OpNode*> open;
  std::vector<const Node*> leaves;
  const auto follow = [&](const Edge& edge) {
    if (!edge.is_valid()) return true;
    if (has_hooks(*edge.function)) return false;
    bool first = false;
    if (auto* node = dynamic_cast<OpNode*>(edge.function.get())) {
      if (!node->meet(walk, edge.input_nr, first)) return false;
      if (first) open.push_back(node);
      return true;
    }
    first = std::find(leaves.begin(), leaves.end(), edge.function.get()) == leaves.end();
    leaves.push_back(edge.function.get());
    return first && edge.function->num_outputs() == 0;
  };
  for (const Tensor& output : outputs) {
    if (!follow(torch::autograd::impl::gradient_edge(output))) return false;
  }
  while (!open.empty()) {
    const OpNode* node = open.back();
    open.pop_back();
    for (const Edge& edge : node->next_edges()) {
      if (!follow(edge)) return false;
    }
  }
  return true;
}

// One recorded op. The engine calls apply with the gradient of the op's only output.
class RecordedNode final : public OpNode {
 public:
  RecordedNode(const char* name, Differentiable differentiable, Backward backward)
      : name_(name), differentiable_(differentiable), backward_(std::move(backward)) {}

  std::string name() const override { return name_; }

  torch::autograd::variable_list apply(torch::autograd::variable_list&& grads) override {
    const SurroundingsScope as_recorded(surroundings_);
    const at::RecordFunctionGuard observer(observed);
    check_guard();
    const BackwardPass pass(module_, name_);
    if (!grads[0].defined()) return torch::autograd::variable_list(num_outputs());
    if (differentiable_ == Differentiable::kOnce && at::GradMode::is_enabled()) {
      throw Error(Code::kBug,
                  module_ + ": op '" + name_ +
                      "' is differentiable once, but gradients of its gradients were asked for",
                  "use twice differentiable ops where a gradient penalty reaches");
    }
    LOCKSTEP_ASSERT(backward_, "op '" + name_ + "' differentiated after its graph was freed");
    std::vector<bool> needed(num_outputs());
    for (std::size_t i = 0; i < needed.size(); ++i) needed[i] = task_should_compute_output(i);
    const Tensor grad = grads[0].contiguous();
    const Tensors gradients = backward_(grad, needed);
    show(name_.c_str(), {grad}, gradients);
    return handed_on(gradients);
  }

  void release_variables() override { backward_ = nullptr; }

 private:
  const std::string name_, module_ = where().module;
  const Surroundings surroundings_ = surroundings();
  Differentiable differentiable_;
  Backward backward_;
};

// The engine keeps the gradients that it was asked for until its end; one that was heard is not
// needed any more.
struct LetGo final : torch::autograd::FunctionPreHook {
  torch::autograd::variable_list operator()(const torch::autograd::variable_list& grads) override {
    return torch::autograd::variable_list(grads.size());
  }
};

// Where a parameter entered: the engine hands over the gradient that arrives here and goes no
// further.
class BorderNode final : public OpNode {
 public:
  explicit BorderNode(std::function<void(const Tensor&)> on_gradient)
      : on_gradient_(std::move(on_gradient)) {
    if (on_gradient_) add_tensor_pre_hook(std::make_unique<LetGo>());
  }
  std::size_t own_hooks() const override { return on_gradient_ ? 1 : 0; }
  std::string name() const override { return "border"; }
  void hear(const Tensor& gradient) override {
    if (on_gradient_) on_gradient_(gradient);
  }
  torch::autograd::variable_list apply(torch::autograd::variable_list&&) override { return {}; }

 private:
  const std::function<void(const Tensor&)> on_gradient_;
};

[[noreturn]] void refuse_two_sums(const std::string& module, const Tensor& partials) {
  throw Error(Code::kBug,
              module + ": two sums over samples meet in the gradient of one use of a parameter (" +
                  shape_text(partials.sizes().slice(1)) +
                  " elements): added before the exchange, they depend on the number of ranks",
              "enter it once a use; under a gradient penalty use activations without curvature, "
              "such as leaky_relu");
}

// Whether a gradient, held by one name here, may be overwritten.
bool nobody_else_holds(const Tensor& x) {
  return !at::GradMode::is_enabled() && x.use_count() == 1 && x.storage().use_count() == 1;
}

// The outputs of a fork share one node, whose apply sees all gradients at once.
class ForkNode final : public OpNode {
 public:
  explicit ForkNode(bool over_border) : over_border_(over_border) {}
  bool over_border() const { return over_border_; }
  std::string name() const override { return "fork"; }
  torch::autograd::variable_list apply(torch::autograd::variable_list&& grads) override {
    const SurroundingsScope as_recorded(surroundings_);
    const at::RecordFunctionGuard observer(observed);
    check_guard();
    const BackwardPass pass(module_, "fork");
    Tensor total;
    for (Tensor& grad : grads) {
      if (!grad.defined()) continue;
      if (!total.defined()) {
        total = std::move(grad);
        continue;
      }
      if (over_border_) refuse_two_sums(module_, grad);
      const bool in_place = nobody_else_holds(total) && total.is_contiguous();
      const Tensor a = total.contiguous(), b = grad.contiguous();
      Tensor sum = in_place ? a : empty(a.sizes());
      ops::device().binary(numerics::Binary::kAdd, sum.numel(), read(a), read(b), write(sum));
      total = record("add", {a, b}, sum, Differentiable::kTwice,
                     [](const Tensor& g, const std::vector<bool>&) -> Tensors {
                       Tensors two = fork(g, 2);
                       return {two[0], two[1]};
                     });
    }
    return handed_on({total});
  }

 private:
  const std::string module_ = where().module;
  const Surroundings surroundings_ = surroundings();
  const bool over_border_;
};

// The parameter as it entered, or a fork of that.
bool came_over_border(const Tensor& x) {
  if (!x.defined() || !x.requires_grad()) return false;
  const Node* node = x.grad_fn().get();
  if (dynamic_cast<const BorderNode*>(node) != nullptr) return true;
  const auto* forked = dynamic_cast<const ForkNode*>(node);
  return forked != nullptr && forked->over_border();
}

// What kernels of this thread's device take.
void require_ours(const Tensor& x) {
  LOCKSTEP_ASSERT(x.defined() && x.scalar_type() == at::kFloat && x.is_contiguous() &&
                  x.device() == tensors_device());
}

bool wants_history(const Tensors& inputs) {
  if (!at::GradMode::is_enabled()) return false;
  for (const Tensor& input : inputs) {
    if (input.defined() && input.requires_grad()) return true;
  }
  return false;
}

}  // namespace

std::uint64_t*& thread_sequence() {
  thread_local std::uint64_t own = 0;
  thread_local std::uint64_t* counted = &own;
  return counted;
}

Tensor record(const char* name, const Tensors& inputs, Tensor output, Differentiable differentiable,
              Backward backward) {
  for (const Tensor& input : inputs) {
    if (!came_over_border(input)) continue;
    throw Error(
        Code::kBug,
        where().module + ": op '" + name +
            "' takes a parameter of the lane graph, but its gradient is no sum over samples: "
            "it would depend on the number of ranks",
        "compute from parameters alone in prepare(), before they enter");
  }
  return record_with_parameters(name, inputs, std::move(output), differentiable,
                                std::move(backward));
}

Tensor record_with_parameters(const char* name, const Tensors& inputs, Tensor output,
                              Differentiable differentiable, Backward backward) {
  check_guard();
  note_op(name);
  show(name, inputs, {output});
  if (!wants_history(inputs)) return output;
  auto node = std::shared_ptr<RecordedNode>(
      new RecordedNode(name, differentiable, std::move(backward)), torch::autograd::deleteNode);
  torch::autograd::edge_list edges;
  edges.reserve(inputs.size());
  for (const Tensor& input : inputs) {
    edges.push_back(input.defined() ? torch::autograd::impl::gradient_edge(input)
                                    : torch::autograd::Edge());
  }
  node->set_next_edges(std::move(edges));
  torch::autograd::set_history(output, node);
  return output;
}

Tensor over_border(const Tensor& partials, std::function<void(const Tensor&)> on_gradient) {
  Tensor entered = bare(partials);
  torch::autograd::set_history(entered,
                               std::shared_ptr<BorderNode>(new BorderNode(std::move(on_gradient)),
                                                           torch::autograd::deleteNode));
  return entered;
}

Tensors fork(const Tensor& x, int uses) {
  if (!wants_history({x})) return Tensors(static_cast<std::size_t>(uses), x);
  auto node =
      std::shared_ptr<ForkNode>(new ForkNode(came_over_border(x)), torch::autograd::deleteNode);
  node->set_next_edges({torch::autograd::impl::gradient_edge(x)});
  Tensors outputs;
  for (int use = 0; use < uses; ++use) {
    outputs.push_back(bare(x));
    torch::autograd::set_history(outputs.back(), node);
  }
  return outputs;
}

Tensors gradients(const Tensors& outputs, const Tensors& grads, const Tensors& inputs,
                  bool create_graph) {
  check_guard();
  for (std::size_t i = 0; i < outputs.size(); ++i)
    LOCKSTEP_ASSERT(grads[i].sizes() == outputs[i].sizes(), "gradients fit their outputs");
  // The observer pauses between our nodes if there is nothing to see: the engine makes a name for
  // each node that it shows.
  const bool outer = std::exchange(observed, at::isRecordFunctionEnabled());
  const EnginePass pass;
  const at::RecordFunctionGuard observer(observed && !engine_only_carries(outputs));
  struct Restore {
    bool value;
    ~Restore() { observed = value; }
  } const restore{outer};
  return torch::autograd::grad(outputs, inputs, grads, /*retain_graph=*/create_graph, create_graph,
                               /*allow_unused=*/true);
}

Tensor bare(const Tensor& x) {
  return x.variable_data();
}

Tensor view(const Tensor& x, at::IntArrayRef sizes, at::IntArrayRef strides) {
  std::int64_t last = x.storage_offset();
  for (std::size_t d = 0; d < sizes.size(); ++d) last += (sizes[d] - 1) * strides[d];
  LOCKSTEP_ASSERT(last < static_cast<std::int64_t>(x.storage().nbytes() / x.itemsize()));
  auto seen = x.unsafeGetTensorImpl()->shallow_copy_and_detach(
      c10::VariableVersion(0), /*allow_tensor_metadata_change=*/true);
  seen->set_sizes_and_strides(sizes, strides);
  return Tensor(std::move(seen));
}

Tensor first_part(const Tensor& x) {
  return view(x, x.sizes().slice(1), x.strides().slice(1));
}

const float* read(const Tensor& x) {
  require_ours(x);
  return x.const_data_ptr<float>();
}

float* write(Tensor& x) {
  require_ours(x);
  return x.mutable_data_ptr<float>();
}

Tensor empty(at::IntArrayRef sizes) {
  return empty_on(tensors_device(), sizes);
}

Tensor empty_on(at::Device place, at::IntArrayRef sizes, at::ScalarType type) {
  try {
    if (place.is_cpu()) return at::detail::empty_cpu(sizes, type);  // without the dispatcher
    return at::detail::empty_generic(
        sizes, c10::GetAllocator(place.type()),
        c10::DispatchKeySet(c10::computeDispatchKey(type, at::kStrided, place)), type,
        std::nullopt);
  } catch (const c10::Error&) {  // LibTorch's one type for everything; here only memory can lack
    throw std::bad_alloc();
  }
}

Tensor filled(at::IntArrayRef sizes, float value) {
  Tensor x = ops::empty(sizes);
  device().fill(x.numel(), value, write(x));
  return x;
}

}  // namespace lockstep::ops

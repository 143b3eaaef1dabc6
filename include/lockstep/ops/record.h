// The door to autograd: every op of ours is one call of `record`.
//
// An op computes its output with our kernels, then records how gradients flow back. A backward
// function that is itself made of recorded ops (kTwice) can be differentiated again; one that calls
// kernels (kOnce) throws Error(kBug) when gradients of gradients would be recorded through it:
// silence would be a zero gradient.
//
// A tensor may have one consumer that is differentiated; one with several goes through `fork`,
// because the engine would add three and more gradients in an order of its own.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace lockstep::ops {

using at::Tensor;
using Tensors = std::vector<Tensor>;

enum class Differentiable { kOnce, kTwice };

// Gets d(loss)/d(output) and which inputs need a gradient; returns one gradient an input (undefined
// where not needed). Must not capture the output itself (a cycle): capture output.detach().
using Backward = std::function<Tensors(const Tensor& grad, const std::vector<bool>& needed)>;

// Returns `output` with history. `output` must be fresh (no history, not a view of an input).
// Without grad mode, or when no input requires a gradient, returns `output` as it is.
// Error(kBug) if an input came over the border: see there.
Tensor record(const char* name, const Tensors& inputs, Tensor output, Differentiable differentiable,
              Backward backward);

// The border of the lane graph: `partials` [P, …] are a parameter's copies, one a partial of the
// rank. Returns them as a tensor that gradients can be asked for.
//
// Its gradient [P, …] must be one sum over samples, made whole by the tree over all lanes: anything
// computed from partials before that, a sum of two of them or a scaling, depends on how many lanes
// a rank has. So what came over the border goes only to ops that say, by `record_with_parameters`,
// that their gradient to it is such a sum; and where two such gradients meet (one tensor forked to
// two layers; curvature under a gradient penalty) the backward pass throws Error(kBug).
// `on_gradient` is called with the gradient as soon as it is known, while the pass goes on; then
// `gradients` does not return it, so that it lives no longer than its listener wants.
Tensor over_border(const Tensor& partials, std::function<void(const Tensor&)> on_gradient = {});
Tensor record_with_parameters(const char* name, const Tensors& inputs, Tensor output,
                              Differentiable differentiable, Backward backward);

// `uses` equal tensors; backward adds their gradients in use order (1st + 2nd + …), undefined ones
// left out. Twice differentiable. What came over the border may have one defined gradient only.
Tensors fork(const Tensor& x, int uses);

// d(sum over i of <outputs[i], grads[i]>) / d(inputs). create_graph: gradients can be
// differentiated again. Inputs that are not reached give undefined tensors.
Tensors gradients(const Tensors& outputs, const Tensors& grads, const Tensors& inputs,
                  bool create_graph);

// The same memory without history. Unlike detach() it does not go through the dispatcher.
Tensor bare(const Tensor& x);
// Addresses of a float32, contiguous tensor of this thread's device (ops/device.h), for its
// kernels. The host does not follow them.
const float* read(const Tensor& x);
float* write(Tensor& x);
Tensor empty(at::IntArrayRef sizes);  // float32, not initialised; std::bad_alloc
Tensor empty_on(at::Device place, at::IntArrayRef sizes, at::ScalarType type = at::kFloat);
Tensor filled(at::IntArrayRef sizes, float value);

}  // namespace lockstep::ops

// The element-wise operations that kernels are told by name, for every device.
#pragma once

namespace lockstep::numerics {

// All functions of one value, X(function, derivative, Function, Derivative): the first two are
// those of scalar.h, the others SIMD's of the same steps (src/numerics/cpu/functions-inl.h).
// Kernels, names and tests follow from this table.
#define LOCKSTEP_UNARY(X)                                    \
  X(exp, exp, Exp, Exp)                                      \
  X(log, log_derivative, Log, LogDerivative)                 \
  X(sin, cos, Sin, Cos)                                      \
  X(cos, cos_derivative, Cos, CosDerivative)                 \
  X(tanh, tanh_derivative, Tanh, TanhDerivative)             \
  X(erf, erf_derivative, Erf, ErfDerivative)                 \
  X(sqrt, sqrt_derivative, Sqrt, SqrtDerivative)             \
  X(rsqrt, rsqrt_derivative, Rsqrt, RsqrtDerivative)         \
  X(negate, negate_derivative, Negate, NegateDerivative)     \
  X(square, square_derivative, Square, SquareDerivative)     \
  X(abs, abs_derivative, Abs, AbsDerivative)                 \
  X(relu, relu_derivative, Relu, ReluDerivative)             \
  X(sigmoid, sigmoid_derivative, Sigmoid, SigmoidDerivative) \
  X(silu, silu_derivative, Silu, SiluDerivative)             \
  X(softplus, sigmoid, Softplus, Sigmoid)                    \
  X(gelu, gelu_derivative, Gelu, GeluDerivative)             \
  X(gelu_tanh, gelu_tanh_derivative, GeluTanh, GeluTanhDerivative)

enum class Unary {
#define LOCKSTEP_ROW(function, derivative, Function, Derivative) k##Function,
  LOCKSTEP_UNARY(LOCKSTEP_ROW)
#undef LOCKSTEP_ROW
};

enum class Binary { kAdd, kSubtract, kMultiply, kDivide };
inline constexpr int kBinaryCount = static_cast<int>(Binary::kDivide) + 1;

}  // namespace lockstep::numerics

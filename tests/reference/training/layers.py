"""Layers with parameters, and their tensors (docs/networks.md, *Layers*).

A layer's `forward(pass_, x)` gives y and `back(dy, gradients, needs_input=True)`, which gives dx. `gradients` is None
where the parameters' gradients are not needed. `down(pass_, x, dy)` is the way back as a function of dy, for R1: dx, and
`up(g, gradients)`, which takes the gradient g to dx and gives that to dy.
"""
from dataclasses import dataclass

import numpy as np

import convolution_arrays
import integer_arrays
import linear_arrays
import norms_arrays as norms

DCGAN_DEVIATION = np.float32(0.02)


@dataclass
class Tensor:
    """Its name, shape and first values: `uniform` in (-scale, scale), `normal` of deviation scale, `constant` scale."""
    name: str
    shape: tuple
    kind: str
    scale: np.float32


def root_scale(n):
    return np.float32(1.0 / float(np.sqrt(np.float64(n))))


class Layer:
    spectral = False

    def parameters(self):
        return []

    def buffers(self):
        return []

    def down(self, pass_, x, dy):
        raise NotImplementedError("R1 through other layers")


class _Weighted(Layer):
    """A weight and usually a bias. `first` names the first values: uniform, zero or dcgan. Of its products there are two
    kinds, with the same three functions: `floats` and `integers`."""

    floats, integers = convolution_arrays, integer_arrays

    def __init__(self, path, shape, fan_in, channels, first, bias, spectral):
        self.weight_name, self.bias_name = path + ".weight", path + ".bias"
        self.shape, self.fan_in, self.channels, self.width = shape, fan_in, channels, channels[1]
        self.first, self.bias, self.spectral, self.path = first, bias, spectral, path

    def parameters(self):
        zero = np.float32(0.0)
        scale = root_scale(self.fan_in)
        weight, bias = {"uniform": (("uniform", scale), ("uniform", scale)), "zero": (("constant", zero),) * 2,
                        "dcgan": (("normal", DCGAN_DEVIATION), ("constant", zero))}[self.first]
        tensors = [Tensor(self.weight_name, self.shape, *weight)]
        return tensors + [Tensor(self.bias_name, (self.width,), *bias)] if self.bias else tensors

    def buffers(self):
        if not self.spectral:
            return []
        rows = int(np.prod(self.shape[:-1]))
        return [Tensor(f"{self.path}.{name}", (n,), "normal", root_scale(n))
                for name, n in (("u", rows), ("v", self.shape[-1]))]

    def _products(self, pass_, small):
        """Integers where the recipe says so and the layer is wide enough. `small`: the sides of the smaller picture."""
        wide = pass_.integer_products and integer_arrays.is_wide(*self.channels, int(np.prod(small)))
        return self.integers if wide else self.floats

    def _with_bias(self, pass_, y):
        return y + pass_.weights[self.bias_name] if self.bias else y

    def _add_bias_gradient(self, pass_, dy, gradients):
        if self.bias:
            gradients.add(self.bias_name, pass_.lanes.column_sums(dy.reshape(-1, dy.shape[-1])))


class Linear(_Weighted):
    floats, integers = linear_arrays.Floats, linear_arrays.Integers

    def __init__(self, path, inputs, outputs, first="uniform", bias=True, spectral=False):
        super().__init__(path, (inputs, outputs), inputs, (inputs, outputs), first, bias, spectral)

    def forward(self, pass_, x):
        w, products = pass_.weights[self.weight_name], self._products(pass_, x.shape[1:-1])
        y = self._with_bias(pass_, products.forward(x, w))

        def back(dy, gradients, needs_input=True):
            if gradients is not None:
                gradients.add(self.weight_name, products.weight_gradient(x, dy, pass_.lanes))
                self._add_bias_gradient(pass_, dy, gradients)
            return products.input_gradient(dy, w) if needs_input else None
        return y, back

    def down(self, pass_, x, dy):
        w, products = pass_.weights[self.weight_name], self._products(pass_, x.shape[1:-1])

        def up(g, gradients):
            gradients.add(self.weight_name, products.weight_gradient(g, dy, pass_.lanes))
            return products.forward(g, w)
        return products.input_gradient(dy, w), up


class Conv(_Weighted):
    def __init__(self, path, inputs, outputs, kernel, stride, first="uniform", bias=True, spectral=False):
        super().__init__(path, (kernel, kernel, inputs, outputs), kernel * kernel * inputs, (inputs, outputs), first, bias,
                         spectral)
        self.stride, self.pad = stride, (kernel - 1) // 2

    def forward(self, pass_, x):
        size = convolution_arrays.output_size(x.shape[1:3], self.shape[:2], self.stride, self.pad)
        w, products = pass_.weights[self.weight_name], self._products(pass_, size)
        y = self._with_bias(pass_, products.forward(x, w, self.stride, self.pad))

        def back(dy, gradients, needs_input=True):
            if gradients is not None:
                gradients.add(self.weight_name,
                              products.weight_gradient(x, dy, w.shape[:2], self.stride, self.pad, pass_.lanes))
                self._add_bias_gradient(pass_, dy, gradients)
            return products.input_gradient(dy, w, self.stride, self.pad, x.shape[1:3]) if needs_input else None
        return y, back

    def down(self, pass_, x, dy):
        w, products = pass_.weights[self.weight_name], self._products(pass_, dy.shape[1:-1])

        def up(g, gradients):
            gradients.add(self.weight_name,
                          products.weight_gradient(g, dy, w.shape[:2], self.stride, self.pad, pass_.lanes))
            return products.forward(g, w, self.stride, self.pad)
        return products.input_gradient(dy, w, self.stride, self.pad, x.shape[1:3]), up


class TransposedConv(_Weighted):
    """No arithmetic of its own: the input gradient of a convolution from `outputs` to `inputs` channels."""

    def __init__(self, path, inputs, outputs, kernel, stride, size, first="uniform", bias=True):
        super().__init__(path, (kernel, kernel, outputs, inputs), kernel * kernel * inputs, (inputs, outputs), first, bias,
                         False)
        self.stride, self.pad, self.size = stride, (kernel - 1) // 2, size

    def forward(self, pass_, x):
        w, products = pass_.weights[self.weight_name], self._products(pass_, x.shape[1:-1])
        y = self._with_bias(pass_, products.input_gradient(x, w, self.stride, self.pad, self.size))

        def back(dy, gradients, needs_input=True):
            if gradients is not None:
                gradients.add(self.weight_name,
                              products.weight_gradient(dy, x, w.shape[:2], self.stride, self.pad, pass_.lanes))
                self._add_bias_gradient(pass_, dy, gradients)
            return products.forward(dy, w, self.stride, self.pad) if needs_input else None
        return y, back


class _Norm(Layer):
    def __init__(self, path, channels):
        self.path, self.channels = path, channels
        self.gamma_name, self.beta_name = path + ".weight", path + ".bias"

    def parameters(self):
        return [Tensor(self.gamma_name, (self.channels,), "constant", np.float32(1.0)),
                Tensor(self.beta_name, (self.channels,), "constant", np.float32(0.0))]

    def _gamma_beta(self, pass_):
        return pass_.weights[self.gamma_name], pass_.weights[self.beta_name]


class BatchNorm(_Norm):
    def buffers(self):
        return [Tensor(self.path + ".running_mean", (self.channels,), "constant", np.float32(0.0)),
                Tensor(self.path + ".running_var", (self.channels,), "constant", np.float32(1.0))]

    def forward(self, pass_, x):
        gamma, beta = self._gamma_beta(pass_)
        rows = x.reshape(-1, self.channels)
        if pass_.by_running:
            mean, var = (pass_.buffers[f"{self.path}.running_{name}"] for name in ("mean", "var"))
            return norms.batch_norm(rows, mean, var, gamma, beta)[0].reshape(x.shape), None
        moments = norms.batch_moments(rows, pass_.lanes)
        if pass_.moves_statistics:
            for name, value in zip(("running_mean", "running_var"), norms.running_values(moments)):
                buffer = f"{self.path}.{name}"
                pass_.buffers[buffer] = norms.moved(pass_.buffers[buffer], value)
        y, xhat, rstd = norms.batch_norm(rows, moments[1], moments[2] / moments[0], gamma, beta)

        def back(dy, gradients, needs_input=True):
            dx, dgamma, dbeta = norms.batch_norm_backward(dy.reshape(rows.shape), xhat, rstd, gamma, moments,
                                                          pass_.lanes)
            if gradients is not None:
                gradients.add(self.gamma_name, dgamma)
                gradients.add(self.beta_name, dbeta)
            return dx.reshape(x.shape)
        return y.reshape(x.shape), back


class GroupNorm(_Norm):
    def __init__(self, path, channels, groups, silu):
        super().__init__(path, channels)
        self.groups, self.silu = groups, silu

    def forward(self, pass_, x):
        gamma, beta = self._gamma_beta(pass_)
        flat = x.reshape(len(x), -1, self.channels)
        y, saved = norms.group_norm(flat, gamma, beta, self.groups, self.silu)

        def back(dy, gradients, needs_input=True):
            dx, dgammas, dbetas = norms.group_norm_backward(dy.reshape(flat.shape), saved, gamma, self.groups,
                                                            self.silu)
            if gradients is not None:
                gradients.add(self.gamma_name, pass_.lanes.sample_sums(dgammas))
                gradients.add(self.beta_name, pass_.lanes.sample_sums(dbetas))
            return dx.reshape(x.shape)
        return y.reshape(x.shape), back

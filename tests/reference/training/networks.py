"""A network: its layers in the order of registration, and a chain of layers and activations."""
import numpy as np

import elementary
from elementary import ONE
from streams import Stream


class Network:
    layers = ()

    def parameters(self):
        return [t for layer in self.layers for t in layer.parameters()]

    def buffers(self):
        return [t for layer in self.layers for t in layer.buffers()]


class LeakyRelu:
    def __init__(self, slope):
        self.slope = slope

    def forward(self, pass_, x):
        return (elementary.leaky_relu(x, self.slope),
                lambda dy, gradients, needs_input=True: elementary.leaky_relu_backward(x, dy, self.slope))

    def down(self, pass_, x, dy):
        return (elementary.leaky_relu_backward(x, dy, self.slope),
                lambda g, gradients: elementary.leaky_relu_backward(x, g, self.slope))


class Dropout:
    """Before a layer: values that are drawn become 0 in training, the others grow."""

    def __init__(self, path, rate):
        self.name, self.rate, self.kept = "dropout/model/" + path, np.float32(rate), np.float32(1 / (1 - rate))

    def forward(self, pass_, x):
        if self.rate == 0 or pass_.draws is None:
            return x, lambda dy, gradients, needs_input=True: dy
        mask = Stream(pass_.seed, self.name).mask(pass_.draws, x[0].size, self.rate, self.kept).reshape(x.shape)
        return x * mask, lambda dy, gradients, needs_input=True: dy * mask


class Tanh:
    def forward(self, pass_, x):
        t = elementary.tanh(x)
        return t, lambda dy, gradients, needs_input=True: dy * (ONE - t * t)


class Silu:
    def forward(self, pass_, x):
        return elementary.silu(x), lambda dy, gradients, needs_input=True: dy * elementary.silu_derivative(x)


class GeluTanh:
    def forward(self, pass_, x):
        return elementary.gelu_tanh(x), lambda dy, gradients, needs_input=True: dy * elementary.gelu_tanh_derivative(x)


class Reshape:
    """Each sample to a shape."""

    def __init__(self, shape):
        self.shape = shape

    def forward(self, pass_, x):
        return (x.reshape(len(x), *self.shape),
                lambda dy, gradients, needs_input=True: dy.reshape(x.shape))

    def down(self, pass_, x, dy):
        return dy.reshape(x.shape), lambda g, gradients: g.reshape(dy.shape)


def run(stages, pass_, x, needs_input=True):
    """The stages one after another, and the way back. The first stage's input gradient may not be needed."""
    backs = []
    for stage in stages:
        x, back = stage.forward(pass_, x)
        backs.append(back)

    def backward(dy, gradients):
        for i in range(len(backs) - 1, -1, -1):
            dy = backs[i](dy, gradients, needs_input or i > 0)
        return dy
    return x, backward


def halved(shape, times):
    return tuple(int(side) >> times for side in shape[:2])


def area(size):
    return int(np.prod(size))

"""The products of a linear layer on arrays [n][…][c]: every position is a row (docs/numerics.md)."""
import integer_arrays
from fused import matmul


def _rows(x):
    return x.reshape(-1, x.shape[-1])


class Floats:
    @staticmethod
    def forward(x, w):
        return matmul(_rows(x), w).reshape(*x.shape[:-1], -1)

    @staticmethod
    def input_gradient(dy, w):
        return matmul(_rows(dy), w.T).reshape(*dy.shape[:-1], -1)

    @staticmethod
    def weight_gradient(x, dy, lanes):
        return lanes.products(_rows(x), _rows(dy))


def _pictures(x):
    """[n][rows][one column][c]."""
    return x.reshape(len(x), -1, 1, x.shape[-1])


class Integers:
    """A convolution of 1x1 taps."""

    @staticmethod
    def forward(x, w):
        return integer_arrays.forward(_pictures(x), w[None, None], 1, 0).reshape(*x.shape[:-1], -1)

    @staticmethod
    def input_gradient(dy, w):
        picture = _pictures(dy)
        return integer_arrays.input_gradient(picture, w[None, None], 1, 0, picture.shape[1:3]).reshape(*dy.shape[:-1], -1)

    @staticmethod
    def weight_gradient(x, dy, lanes):
        return integer_arrays.weight_gradient(_pictures(x), _pictures(dy), (1, 1), 1, 0, lanes)[0, 0]

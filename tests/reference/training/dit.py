"""The diffusion transformer (docs/networks.md, *dit*)."""
import numpy as np

from attention import SelfAttention
from class_layers import with_classes
from elementary import ONE
from fused import chain_products, chain_values
from layers import Layer, Linear
from networks import GeluTanh, Network, Silu, run
from norms_arrays import layer_norm, layer_norm_backward
from schedules import time_embedding

EPS = np.float32(1e-6)


def token_sums(x):
    """Of each sample and channel, over its tokens: [n][c]."""
    return chain_values(x.transpose(1, 0, 2))


def adaptive_layer_norm(x, modulation):
    """x [n][tokens][c] with the shifts and scales of [n][2c]; back gives the gradients to both."""
    shift, scale = np.split(modulation[:, None], 2, axis=-1)
    y, saved = layer_norm(x, ONE + scale, shift, EPS)

    def back(dy):
        dscale = chain_products(dy.transpose(1, 0, 2), saved[0].transpose(1, 0, 2))
        return layer_norm_backward(dy, saved), np.concatenate([token_sums(dy), dscale], axis=-1)
    return y, back


def gated(x, gate, branch):
    return x + gate * branch


def gate_gradient(dy, branch):
    return token_sums(dy * branch)


class Branch(Layer):
    """forward and back also take and return the embedding: back a list, in the order of uses."""

    def __init__(self, path, inside, out, table, middle):
        width, embedding = table["width"], table["embedding"]
        self.modulation = Linear(path + ".modulation", embedding, 2 * width, "zero")
        self.stages = (Linear(path + ".in", width, inside), middle, Linear(path + ".out", out, width))
        self.gate = Linear(path + ".gate", embedding, width, "zero")

    def parameters(self):
        return [t for layer in (self.modulation, self.stages[0], self.stages[2], self.gate) for t in layer.parameters()]

    def forward(self, pass_, x, e):
        modulation, back_modulation = self.modulation.forward(pass_, e)
        normed, back_norm = adaptive_layer_norm(x, modulation)
        h, back_stages = run(self.stages, pass_, normed)
        gate, back_gate = self.gate.forward(pass_, e)

        def back(dy, gradients):
            de_gate = back_gate(gate_gradient(dy, h), gradients)
            dx, dmodulation = back_norm(back_stages(gate[:, None] * dy, gradients))
            return dx + dy, [back_modulation(dmodulation, gradients), de_gate]  # the branch before the sum
        return gated(x, gate[:, None], h), back


def tokens_of(x, p):
    n, height, width, c = x.shape
    return x.reshape(n, height // p, p, width // p, p, c).transpose(0, 1, 3, 2, 4, 5).reshape(n, -1, p * p * c)


def pictures_of(x, p, shape):
    n, height, width, c = shape
    return x.reshape(n, height // p, width // p, p, p, c).transpose(0, 1, 3, 2, 4, 5).reshape(shape)


def positions(rows, columns, width):
    """Of each token, y then x: the embedding of its row, then that of its column."""
    by_row, by_column = ([time_embedding(i, width // 2) for i in range(n)] for n in (rows, columns))
    return np.array([by_row[y] + by_column[x] for y in range(rows) for x in range(columns)]).astype(np.float32)


class Dit(Network):
    def __init__(self, table, shape, classes):
        width, embedding, p = table["width"], table["embedding"], table["patch"]
        values, hidden = p * p * shape[2], table["mlp_ratio"] * width
        self.embedding_width, self.patch = width, p
        self.positions = positions(shape[0] // p, shape[1] // p, width)
        self.time1, self.time2 = Linear("time1", width, embedding), Linear("time2", embedding, embedding)
        self.told = with_classes(classes, embedding)
        self.input = Linear("input", values, width)
        self.branches = []
        for i in range(table["depth"]):
            attention = SelfAttention(width, table["heads"])
            self.branches += [Branch(f"block{i}.attention", 3 * width, width, table, attention),
                              Branch(f"block{i}.mlp", hidden, hidden, table, GeluTanh())]
        self.modulation = Linear("output_modulation", embedding, 2 * width, "zero")
        self.output = Linear("output", width, values, "zero")
        self.layers = [self.time1, self.time2, *(stage.classes for stage in self.told), self.input, *self.branches,
                       self.modulation, self.output]

    def forward(self, pass_, x, times):
        """`times`: their embedding, [n][width]."""
        e, back_e = run((self.time1, Silu(), self.time2, *self.told, Silu()), pass_, times, needs_input=False)
        h, back_input = self.input.forward(pass_, tokens_of(x, self.patch))
        h, backs = h + self.positions, []
        for branch in self.branches:
            h, back_branch = branch.forward(pass_, h, e)
            backs.append(back_branch)
        modulation, back_modulation = self.modulation.forward(pass_, e)
        h, back_norm = adaptive_layer_norm(h, modulation)
        y, back_output = self.output.forward(pass_, h)

        def back(dy, gradients):
            dh, dmodulation = back_norm(back_output(tokens_of(dy, self.patch), gradients))
            uses = [back_modulation(dmodulation, gradients)]  # the last first; each branch has two
            for back_branch in reversed(backs):
                dh, of_branch = back_branch(dh, gradients)
                uses += reversed(of_branch)
            back_input(dh, gradients, needs_input=False)
            back_e(sum_of_uses(uses[::-1]), gradients)
        return pictures_of(y, self.patch, x.shape), back


def sum_of_uses(gradients):
    """In the order in which the forward pass used the embedding."""
    total = gradients[0]
    for gradient in gradients[1:]:
        total = total + gradient
    return total

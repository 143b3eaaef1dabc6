"""The batch's fixed slices: sums over samples are formed inside each lane, then in the tree over lanes."""
from dataclasses import dataclass, field

import numpy as np

from fused import chain_products, chain_values, outer_chain
from trees import tree_sum


@dataclass
class Lanes:
    count: int
    per_lane: int

    def rows(self, x):
        """Rows [batch * n][c], lane-major, as [rows of a lane][lane][c], the order of a chain inside each lane."""
        return np.ascontiguousarray(x.reshape(self.count, -1, x.shape[-1]).transpose(1, 0, 2))

    def column_sums(self, x):
        return tree_sum(chain_values(self.rows(x)))

    def products(self, x, dy):
        """[in][out]: every column of x with every column of dy."""
        return tree_sum(outer_chain(self.rows(x), self.rows(dy)))

    def sample_sums(self, x):
        """[batch][c]: sample 0's value, then + sample 1's, …; then the tree. Nothing is added to a lane's first."""
        samples = x.reshape(self.count, self.per_lane, -1)
        total = samples[:, 0]
        for i in range(1, self.per_lane):
            total = total + samples[:, i]
        return tree_sum(total)

    def mean_loss(self, losses):
        """The mean of the losses of all samples."""
        return self.column_sums(losses.reshape(-1, 1))[0] * self.share()

    def share(self):
        """float(1 / B): each sample's part of the loss, and the gradient at the start of its backward pass."""
        return np.float32(1.0 / (self.count * self.per_lane))


@dataclass
class Pass:
    """What one forward pass through a network uses."""
    lanes: Lanes | None  # None in sampling: no layer looks at other samples
    weights: dict  # the parameters as used: after division under spectral norm
    buffers: dict = field(default_factory=dict)
    moves_statistics: bool = False
    condition: object = None  # [batch][classes], where there are classes
    by_running: bool = False  # in sampling: batch norm by running statistics
    integer_products: bool = False  # of layers that are wide enough
    seed: int = 0  # of dropout
    draws: object = None  # of the samples, for dropout; None in sampling


class Gradients(dict):
    """Gradients summed over lanes, by parameter name. `add` adds one more use, in the order of uses."""

    def add(self, name, value):
        self[name] = value if name not in self else self[name] + value


def summed(passes):
    """The gradients of several passes, parameter by parameter; not every pass uses every parameter."""
    total = Gradients()
    for gradients in passes:
        for name, value in gradients.items():
            total.add(name, value)
    return total

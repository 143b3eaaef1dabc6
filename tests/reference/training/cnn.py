"""The classifying network (docs/networks.md, *cnn*)."""
from gan_networks import Staged
from layers import Conv, GroupNorm, Linear
from networks import Reshape, Silu, area


def cnn(table, shape, classes):
    stages, size, width = [], tuple(shape[:2]), int(shape[2])
    for i, c in enumerate(table["channels"]):
        stride = 1 if i == 0 else 2
        size = tuple((int(side) + stride - 1) // stride for side in size)
        stages += [Conv(f"conv{i}", width, c, 3, stride), GroupNorm(f"norm{i}", c, table["groups"], silu=True)]
        width = c
    row = area(size) * width
    return Staged(stages + [Reshape((row,)), Linear("features", row, table["features"]), Silu(),
                            Linear("output", table["features"], classes)])

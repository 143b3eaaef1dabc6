"""The U-Net of diffusion models (docs/networks.md, *unet*)."""
import numpy as np

from attention import Attention
from class_layers import with_classes
from fused import chain_values
from layers import Conv, GroupNorm, Layer, Linear
from networks import Dropout, Network, Silu, run


class Residual(Layer):
    """forward and back also take and return the time embedding."""

    def __init__(self, path, inputs, outputs, embedding, groups, dropout):
        self.norm1 = GroupNorm(path + ".norm1", inputs, groups, silu=True)
        self.conv1 = Conv(path + ".conv1", inputs, outputs, 3, 1)
        self.time = Linear(path + ".time", embedding, outputs)
        self.norm2 = GroupNorm(path + ".norm2", outputs, groups, silu=True)
        self.dropout = Dropout(path + ".dropout", dropout)
        self.conv2 = Conv(path + ".conv2", outputs, outputs, 3, 1, "zero")
        self.skip = Linear(path + ".skip", inputs, outputs) if inputs != outputs else None

    def parameters(self):
        layers = (self.norm1, self.conv1, self.time, self.norm2, self.conv2, self.skip)
        return [t for layer in layers if layer for t in layer.parameters()]

    def forward(self, pass_, x, embedding):
        h, back_first = run((self.norm1, self.conv1), pass_, x)
        t, back_time = self.time.forward(pass_, embedding)
        h, back_second = run((self.norm2, self.dropout, self.conv2), pass_, h + t[:, None, None])
        shortcut, back_skip = self.skip.forward(pass_, x) if self.skip else (x, lambda dy, gradients: dy)

        def back(dy, gradients):
            dh = back_second(dy, gradients)
            positions = dh.reshape(len(dh), -1, dh.shape[-1]).transpose(1, 0, 2)
            dembedding = back_time(chain_values(positions), gradients)
            branch = back_first(dh, gradients)
            return branch + back_skip(dy, gradients), dembedding  # the residual branch before the shortcut
        return shortcut + h, back


class Stage(Layer):
    """A residual block and, on some levels, attention."""

    def __init__(self, path, inputs, outputs, table, level):
        self.residual = Residual(path + ".residual", inputs, outputs, table["embedding"], table["groups"],
                                 table["dropout"])
        self.attention = (Attention(path + ".attention", outputs, table["heads"], table["groups"])
                          if level in table["attention_levels"] else None)

    def parameters(self):
        return self.residual.parameters() + (self.attention.parameters() if self.attention else [])

    def forward(self, pass_, x, embedding):
        h, back_residual = self.residual.forward(pass_, x, embedding)
        if not self.attention:
            return h, back_residual
        y, back_attention = self.attention.forward(pass_, h)
        return y, lambda dy, gradients: back_residual(back_attention(dy, gradients), gradients)


def upsampled(x, size):
    """The nearest pixel; backward, one chain per pixel, not cut into blocks."""
    ys = np.arange(size[0]) * x.shape[1] // size[0]
    xs = np.arange(size[1]) * x.shape[2] // size[1]

    def back(dy):
        dx = np.zeros_like(x)
        for oy, iy in enumerate(ys):
            for ox, ix in enumerate(xs):
                dx[:, iy, ix] += dy[:, oy, ox]
        return dx
    return x[:, ys][:, :, xs], back


class Unet(Network):
    def __init__(self, table, shape, classes):
        c, width = table["channels"], table["embedding"]
        levels = range(len(c))
        self.embedding_width = c[0]
        self.time1, self.time2 = Linear("time1", c[0], width), Linear("time2", width, width)
        self.told = with_classes(classes, width)
        self.input = Conv("input", shape[2], c[0], 3, 1)
        kept, h = [c[0]], c[0]
        self.down = []  # (stages, resample or None)
        for i in levels:
            stages = []
            for j in range(table["blocks"]):
                stages.append(Stage(f"down{i}.block{j}", h, c[i], table, i))
                h = c[i]
                kept.append(h)
            resample = Conv(f"down{i}.resample", h, h, 3, 2) if i < levels[-1] else None
            kept += [h] if resample else []
            self.down.append((stages, resample))
        self.middle1 = Residual("middle1", h, h, width, table["groups"], table["dropout"])
        self.middle_attention = Attention("middle_attention", h, table["heads"], table["groups"])
        self.middle2 = Residual("middle2", h, h, width, table["groups"], table["dropout"])
        self.up = []
        for i in reversed(levels):
            stages = []
            for j in range(table["blocks"] + 1):
                stages.append(Stage(f"up{i}.block{j}", h + kept.pop(), c[i], table, i))
                h = c[i]
            self.up.append((stages, Conv(f"up{i}.resample", h, h, 3, 1) if i > 0 else None))
        self.output_norm = GroupNorm("output_norm", h, table["groups"], silu=True)
        self.output = Conv("output", h, shape[2], 3, 1, "zero")
        self.layers = [self.time1, self.time2, *(stage.classes for stage in self.told), self.input,
                       *self._stages(self.down), self.middle1, self.middle_attention, self.middle2,
                       *self._stages(self.up), self.output_norm, self.output]

    @staticmethod
    def _stages(levels):
        return [layer for stages, resample in levels for layer in (*stages, resample) if layer]

    def forward(self, pass_, x, times):
        """`times`: their embedding, [n][c[0]]."""
        e, back_e = run((self.time1, Silu(), self.time2, *self.told, Silu()), pass_, times, needs_input=False)
        h, back_input = self.input.forward(pass_, x)
        tape = Tape(pass_, e)
        tape.keep(h)
        for stages, resample in self.down:
            for stage in stages:
                h = tape.keep(tape.timed(stage, h))
            if resample:
                h = tape.keep(tape.plain(resample, h))
        h = tape.timed(self.middle1, h)
        h = tape.plain(self.middle_attention, h)
        h = tape.timed(self.middle2, h)
        for stages, resample in self.up:
            for stage in stages:
                h = tape.timed(stage, tape.joined(h))
            if resample:
                h = tape.plain(resample, tape.upsampled(h))
        y, back_output = run((self.output_norm, self.output), pass_, h)

        def back(dy, gradients):
            dh, de = tape.back(back_output(dy, gradients), gradients)
            back_input(dh, gradients, needs_input=False)
            back_e(de, gradients)
        return y, back


class Tape:
    """What the backward pass must undo, last first; tensors kept on the way down, and their gradients."""

    def __init__(self, pass_, embedding):
        self.pass_, self.embedding = pass_, embedding
        self.entries, self.kept = [], []

    def keep(self, h):
        self.kept.append(h)
        self.entries.append(lambda dh, run: dh + run.kept.pop())  # the continuing branch before the kept one
        return h

    def joined(self, h):
        """h's channels first, then those of the last tensor kept."""
        width = h.shape[-1]

        def back(dh, run):
            run.kept.append(dh[..., width:])
            return dh[..., :width]
        self.entries.append(back)
        return np.concatenate([h, self.kept.pop()], axis=-1)

    def timed(self, layer, h):
        y, layer_back = layer.forward(self.pass_, h, self.embedding)

        def back(dh, run):
            dh, de = layer_back(dh, run.gradients)
            run.embedding.append(de)
            return dh
        self.entries.append(back)
        return y

    def plain(self, layer, h):
        y, layer_back = layer.forward(self.pass_, h)
        self.entries.append(lambda dh, run: layer_back(dh, run.gradients))
        return y

    def upsampled(self, h):
        y, resample_back = upsampled(h, self.kept[-1].shape[1:3])
        self.entries.append(lambda dh, run: resample_back(dh))
        return y

    def back(self, dh, gradients):
        run = Backward(gradients)
        for entry in reversed(self.entries):
            dh = entry(dh, run)
        total = None
        for de in reversed(run.embedding):  # in the order in which the forward pass used it
            total = de if total is None else total + de
        return dh, total


class Backward:
    """One backward walk along a tape."""

    def __init__(self, gradients):
        self.gradients = gradients
        self.kept, self.embedding = [], []

"""Convolution and its gradients, for a layout [n][y][x][channel] and weights [ky][kx][in][out]."""
import floats
from chains import dot, partials


class Image:
    """A pixel's channels; zeros outside."""

    def __init__(self, tensor):
        self.values = tensor.values
        self.n, self.height, self.width, self.channels = tensor.shape
        self.outside = [0.0] * self.channels

    def pixel(self, n, y, x):
        if not (0 <= y < self.height and 0 <= x < self.width):
            return self.outside
        first = ((n * self.height + y) * self.width + x) * self.channels
        return self.values[first:first + self.channels]


def forward(x, w, bias, stride, pad, sum_of=dot):
    """`sum_of(u, v)`: the sum of products, here and below."""
    image = Image(x)
    kh, kw, _, out_channels = w.shape
    out = []
    columns = [w.values[co::out_channels] for co in range(out_channels)]
    for n in range(image.n):
        for oy in range((image.height + 2 * pad - kh) // stride + 1):
            for ox in range((image.width + 2 * pad - kw) // stride + 1):
                patch = []
                for ky in range(kh):
                    for kx in range(kw):
                        patch += image.pixel(n, oy * stride + ky - pad, ox * stride + kx - pad)
                sums = [sum_of(patch, column) for column in columns]
                out += _biased(sums, bias)
    return out


def input_gradient(dy, w, bias, stride, pad, size, sum_of=dot):
    image = Image(dy)
    kh, kw, in_channels, out_channels = w.shape
    out = []
    for n in range(image.n):
        for y in range(size[0]):
            for x in range(size[1]):
                taps = [(ky, kx) for ky in range(kh) for kx in range(kw)
                        if (y + pad - ky) % stride == 0 and (x + pad - kx) % stride == 0]
                patch = []
                for ky, kx in taps:
                    patch += image.pixel(n, (y + pad - ky) // stride, (x + pad - kx) // stride)
                sums = []
                for ci in range(in_channels):
                    weights = []
                    for ky, kx in taps:
                        first = ((ky * kw + kx) * in_channels + ci) * out_channels
                        weights += w.values[first:first + out_channels]
                    sums.append(sum_of(patch, weights))
                out += _biased(sums, bias)
    return out


def weight_gradient(x, dy, stride, pad, kernel, samples_per_lane, lanes_of_partials, sum_of=dot):
    image, gradient = Image(x), Image(dy)
    lanes = []
    for lane in range(sum(lanes_of_partials)):
        positions = [(n, oy, ox)
                     for n in range(lane * samples_per_lane, (lane + 1) * samples_per_lane)
                     for oy in range(gradient.height) for ox in range(gradient.width)]
        dys = list(zip(*(gradient.pixel(*position) for position in positions)))
        out = []
        for ky in range(kernel[0]):
            for kx in range(kernel[1]):
                xs = zip(*(image.pixel(n, oy * stride + ky - pad, ox * stride + kx - pad)
                           for n, oy, ox in positions))
                out += [sum_of(u, v) for u in xs for v in dys]
        lanes.append(out)
    return partials(lanes, lanes_of_partials)


def _biased(values, bias):
    if bias is None:
        return values
    return [floats.add(v, b) for v, b in zip(values, bias.values)]

"""Convolution and its gradients on binary32 arrays [n][y][x][channel], weights [ky][kx][in][out] (numerics.md)."""
import numpy as np

from fused import outer_chain


def output_size(size, kernel, stride, pad):
    return tuple((s + 2 * pad - k) // stride + 1 for s, k in zip(size, kernel))


def _window(x, first, step, size):
    """Pixels first, first + step, … in both directions, `size` of them; +0 outside."""
    outside = [(max(0, -f), max(0, f + (n - 1) * step - side + 1)) for f, n, side in zip(first, size, x.shape[1:3])]
    padded = np.zeros((len(x), *(s + sum(o) for s, o in zip(x.shape[1:3], outside)), x.shape[3]), np.float32)
    (top, _), (left, _) = outside
    padded[:, top:top + x.shape[1], left:left + x.shape[2]] = x
    ys, xs = (slice(f + o[0], f + o[0] + (n - 1) * step + 1, step) for f, n, o in zip(first, size, outside))
    return padded[:, ys, xs]


def _patches(x, kernel, stride, pad, size):
    """[ky kx ci][n oy ox]: the input under each output."""
    taps = [_window(x, (ky - pad, kx - pad), stride, size).transpose(3, 0, 1, 2)
            for ky in range(kernel[0]) for kx in range(kernel[1])]
    return np.stack(taps).reshape(len(taps) * x.shape[3], -1)


def forward(x, w, stride, pad):
    kernel, outputs = w.shape[:2], w.shape[3]
    size = output_size(x.shape[1:3], kernel, stride, pad)
    patches = _patches(x, kernel, stride, pad, size)
    y = outer_chain(w.reshape(-1, 1, outputs), patches[:, None])[0]  # [co][positions]
    return np.ascontiguousarray(y.reshape(outputs, len(x), *size).transpose(1, 2, 3, 0))


def _taps(offset, kernel, stride, pad):
    """The ky in the chain, for input positions y with y mod stride = offset."""
    return [k for k in range(kernel) if (offset + pad - k) % stride == 0]


def input_gradient(dy, w, stride, pad, size):
    """Positions with the same remainder modulo the stride have the same taps; each remainder is one product."""
    kh, kw, inputs, outputs = w.shape
    dx = np.zeros((len(dy), *size, inputs), np.float32)
    for a in range(stride):
        for b in range(stride):
            some = len(range(a, size[0], stride)), len(range(b, size[1], stride))
            taps = [(ky, kx) for ky in _taps(a, kh, stride, pad) for kx in _taps(b, kw, stride, pad)]
            if not taps or not all(some):
                continue
            under = np.stack([_window(dy, ((a + pad - ky) // stride, (b + pad - kx) // stride), 1, some)
                              .transpose(3, 0, 1, 2) for ky, kx in taps]).reshape(len(taps) * outputs, 1, -1)
            weights = np.stack([w[ky, kx].T for ky, kx in taps]).reshape(-1, 1, inputs)  # (ky, kx, co), ci
            part = outer_chain(weights, under)[0].reshape(inputs, len(dy), *some)
            dx[:, a::stride, b::stride] = part.transpose(1, 2, 3, 0)
    return dx


def weight_gradient(x, dy, kernel, stride, pad, lanes):
    patches = _patches(x, kernel, stride, pad, dy.shape[1:3])
    dw = lanes.products(patches.T, dy.reshape(-1, dy.shape[3]))
    return dw.reshape(*kernel, x.shape[3], dy.shape[3])

"""The tensors of every kind of network and their first values, after docs/networks.md."""
import math
from collections import namedtuple

import philox
from floats import mul, round32

# kind: param or buffer. start: ("constant", value), ("uniform", bound) or ("normal", deviation).
Tensor = namedtuple("Tensor", "kind path shape start")

ZERO, DCGAN = "zero", "dcgan"
_DCGAN_DEVIATION = round32(0.02)


def inverse_root(n):
    return round32(1.0 / math.sqrt(n))


def fan_in(inputs, outputs):
    """The size that sets the bound of a layer's first values."""
    return inputs


def _weighted(path, shape, inputs, outputs, mark, bias):
    """A layer with a weight and usually a bias; inputs: k k in."""
    uniform = ("uniform", inverse_root(fan_in(inputs, outputs)))
    zero = ("constant", 0.0)
    weight = {None: uniform, ZERO: zero, DCGAN: ("normal", _DCGAN_DEVIATION)}[mark]
    layer = [Tensor("param", f"{path}.weight", shape, weight)]
    if bias:
        layer.append(Tensor("param", f"{path}.bias", [outputs], zero if mark else uniform))
    return layer


def linear(path, inputs, outputs, mark=None, bias=True):
    return _weighted(path, [inputs, outputs], inputs, outputs, mark, bias)


def conv(path, inputs, outputs, k, mark=None, bias=True):
    return _weighted(path, [k, k, inputs, outputs], k * k * inputs, outputs, mark, bias)


def transposed_conv(path, inputs, outputs, k, mark=None, bias=True):
    return _weighted(path, [k, k, outputs, inputs], k * k * inputs, outputs, mark, bias)


def group_norm(path, c):
    return [Tensor("param", f"{path}.weight", [c], ("constant", 1.0)),
            Tensor("param", f"{path}.bias", [c], ("constant", 0.0))]


def batch_norm(path, c):
    return group_norm(path, c) + [Tensor("buffer", f"{path}.running_mean", [c], ("constant", 0.0)),
                                  Tensor("buffer", f"{path}.running_var", [c], ("constant", 1.0))]


def spectral(layer):
    """A linear layer or convolution with u and v."""
    path, shape = layer[0].path.removesuffix(".weight"), layer[0].shape
    rows = math.prod(shape[:-1])
    return layer + [Tensor("buffer", f"{path}.u", [rows], ("normal", inverse_root(rows))),
                    Tensor("buffer", f"{path}.v", shape[-1:], ("normal", inverse_root(shape[-1])))]


def _classes(p, width, mark=None, made=list):
    """The layer that is told the class of a sample, if there are classes."""
    return made(linear("classes", p["classes"], width, mark, bias=False)) if p.get("classes") else []


def _residual(path, inputs, outputs, embedding):
    return (group_norm(f"{path}.norm1", inputs) + conv(f"{path}.conv1", inputs, outputs, 3) +
            linear(f"{path}.time", embedding, outputs) + group_norm(f"{path}.norm2", outputs) +
            conv(f"{path}.conv2", outputs, outputs, 3, ZERO) +
            (linear(f"{path}.skip", inputs, outputs) if inputs != outputs else []))


def _attention(path, c):
    return group_norm(f"{path}.norm", c) + linear(f"{path}.qkv", c, 3 * c) + linear(f"{path}.out", c, c, ZERO)


def unet(p, sample_shape):
    c, embedding = p["channels"], p["embedding"]
    last = len(c) - 1

    def stage(path, inputs, level):
        attention = _attention(f"{path}.attention", c[level]) if level in p["attention_levels"] else []
        return _residual(f"{path}.residual", inputs, c[level], embedding) + attention

    layers = linear("time1", c[0], embedding) + linear("time2", embedding, embedding) + _classes(p, embedding)
    layers += conv("input", sample_shape[2], c[0], 3)
    h, kept = c[0], [c[0]]
    for i, width in enumerate(c):
        for b in range(p["blocks"]):
            layers += stage(f"down{i}.block{b}", h, i)
            h = width
            kept.append(h)
        if i != last:
            layers += conv(f"down{i}.resample", h, h, 3)
            kept.append(h)
    layers += _residual("middle1", h, h, embedding) + _attention("middle_attention", h)
    layers += _residual("middle2", h, h, embedding)
    for i in range(last, -1, -1):
        for b in range(p["blocks"] + 1):
            layers += stage(f"up{i}.block{b}", h + kept.pop(), i)
            h = c[i]
        if i != 0:
            layers += conv(f"up{i}.resample", h, h, 3)
    return layers + group_norm("output_norm", c[0]) + conv("output", c[0], sample_shape[2], 3, ZERO)


def _branch(path, inside, out, p):
    width, embedding = p["width"], p["embedding"]
    return (linear(f"{path}.modulation", embedding, 2 * width, ZERO) + linear(f"{path}.in", width, inside) +
            linear(f"{path}.out", out, width) + linear(f"{path}.gate", embedding, width, ZERO))


def dit(p, sample_shape):
    width, embedding, values = p["width"], p["embedding"], p["patch"] ** 2 * sample_shape[2]
    hidden = p["mlp_ratio"] * width
    layers = linear("time1", width, embedding) + linear("time2", embedding, embedding) + _classes(p, embedding)
    layers += linear("input", values, width)
    for i in range(p["depth"]):
        layers += _branch(f"block{i}.attention", 3 * width, width, p) + _branch(f"block{i}.mlp", hidden, hidden, p)
    return layers + linear("output_modulation", embedding, 2 * width, ZERO) + linear("output", width, values, ZERO)


def _positions(sample_shape, halvings):
    height, width, _ = sample_shape
    return (height >> halvings) * (width >> halvings)


def mlp_generator(p, sample_shape):
    layers, width = [], p["latent"]
    for i in range(p["layers"]):
        layers += linear(f"hidden{i}", width, p["hidden"])
        layers += batch_norm(f"norm{i}", p["hidden"]) if p.get("norm", "batch") == "batch" else []
        width = p["hidden"]
    return layers + linear("output", width, math.prod(sample_shape)) + _classes(p, p["hidden"])


def mlp_discriminator(p, sample_shape):
    layers, width = [], math.prod(sample_shape)
    for i in range(p["layers"]):
        layers += spectral(linear(f"hidden{i}", width, p["hidden"]))
        width = p["hidden"]
    return layers + spectral(linear("output", width, 1)) + _classes(p, width, made=spectral)


def _projected(p, width):
    return linear("project", p["latent"], width, DCGAN, bias=False) + batch_norm("project_norm", p["channels"][-1])


def dcgan_generator(p, sample_shape):
    c, levels = p["channels"], len(p["channels"])
    width = _positions(sample_shape, levels) * c[-1]
    layers = _projected(p, width)
    for i in range(levels - 1, 0, -1):
        layers += transposed_conv(f"up{i}", c[i], c[i - 1], 4, DCGAN, bias=False) + batch_norm(f"norm{i}", c[i - 1])
    return layers + transposed_conv("up0", c[0], sample_shape[2], 4, DCGAN) + _classes(p, width, DCGAN)


def sngan_generator(p, sample_shape):
    c, levels = p["channels"], len(p["channels"])
    width = _positions(sample_shape, levels - 1) * c[-1]
    layers = _projected(p, width)
    for i in range(levels - 2, -1, -1):
        layers += transposed_conv(f"up{i}", c[i + 1], c[i], 4, DCGAN, bias=False) + batch_norm(f"norm{i}", c[i])
    return layers + conv("output", c[0], sample_shape[2], 3, DCGAN) + _classes(p, width, DCGAN)


def dcgan_discriminator(p, sample_shape):
    layers, h = [], sample_shape[2]
    for i, width in enumerate(p["channels"]):
        layers += conv(f"down{i}", h, width, 4, DCGAN, bias=i == 0)
        if i > 0:
            layers += batch_norm(f"norm{i}", width)
        h = width
    row = _positions(sample_shape, len(p["channels"])) * h
    return layers + linear("output", row, 1, DCGAN) + _classes(p, row, DCGAN)


def sngan_discriminator(p, sample_shape):
    layers, h, last = [], sample_shape[2], len(p["channels"]) - 1
    for i, width in enumerate(p["channels"]):
        layers += spectral(conv(f"conv{i}", h, width, 3))
        if i != last:
            layers += spectral(conv(f"down{i}", width, width, 4))
        h = width
    row = _positions(sample_shape, last) * h
    return layers + spectral(linear("output", row, 1)) + _classes(p, row, made=spectral)


def cnn(p, sample_shape):
    layers, (height, width, h) = [], sample_shape
    for i, c in enumerate(p["channels"]):
        if i > 0:
            height, width = (height + 1) // 2, (width + 1) // 2
        layers += conv(f"conv{i}", h, c, 3) + group_norm(f"norm{i}", c)
        h = c
    return layers + linear("features", height * width * h, p["features"]) + linear("output", p["features"], p["classes"])


KINDS = {
    "unet": unet, "dit": dit, "mlp-generator": mlp_generator, "mlp-discriminator": mlp_discriminator,
    "dcgan-generator": dcgan_generator, "dcgan-discriminator": dcgan_discriminator,
    "sngan-generator": sngan_generator, "sngan-discriminator": sngan_discriminator, "cnn": cnn,
}


def first_values(tensor, seed, role):
    how, value = tensor.start
    count = math.prod(tensor.shape)
    if how == "constant":
        return [value] * count
    key = philox.stream_key(seed, f"init/{role}/{tensor.path}")
    if how == "normal":
        return [mul(n, value) for n in philox.normal(key, 0, 0, count)]
    drawn = (philox.uniform(bits) for bits in philox.bits(key, 0, 0, count))
    return [mul(u + u - 1.0, value) for u in drawn]


def network(kind, options, sample_shape):
    """Its tensors in the order of the state: parameters, then buffers."""
    tensors = KINDS[kind](options, sample_shape)
    return [t for t in tensors if t.kind == "param"] + [t for t in tensors if t.kind == "buffer"]

"""The networks of docs/networks.md as plain PyTorch. Layers have the names that they have there, so that weights written by
`lockstep export` are loaded by name:

    from lockstep import networks
    model = networks.load("exported", "model")            # of a folder that `lockstep export RUN exported/` made
    noise = model(x, t)                                   # x: [n, channels, height, width], t: [n]
    noise = model(x, t, y)                                # y: the samples' classes, where there are classes

Classes are labels [n], integers, or rows [n, classes] as docs/networks.md has them: 1 at a sample's class, zeros without
one.

They compute what Lockstep's networks do but for rounding. First values have the distributions of that page, by PyTorch's random
numbers.
Needs torch, and to load, safetensors."""
import json
import math
import pathlib

import torch
import torch.nn.functional as F
from torch import nn


def dcgan(layer):
    nn.init.normal_(layer.weight, std=0.02)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer


def zero(layer):
    for values in layer.parameters():
        nn.init.zeros_(values)
    return layer


class Residual(nn.Module):
    def __init__(self, channels_in, channels_out, embedding, groups, dropout=0.0):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.norm1 = nn.GroupNorm(groups, channels_in)
        self.conv1 = nn.Conv2d(channels_in, channels_out, 3, padding=1)
        self.time = nn.Linear(embedding, channels_out)
        self.norm2 = nn.GroupNorm(groups, channels_out)
        self.conv2 = zero(nn.Conv2d(channels_out, channels_out, 3, padding=1))
        if channels_in != channels_out:
            self.skip = nn.Conv2d(channels_in, channels_out, 1)

    def forward(self, x, e):
        h = self.conv1(F.silu(self.norm1(x))) + self.time(e)[:, :, None, None]
        h = self.conv2(self.dropout(F.silu(self.norm2(h))))
        return h + (self.skip(x) if hasattr(self, "skip") else x)


class Attention(nn.Module):
    def __init__(self, channels, heads, groups):
        super().__init__()
        self.heads = heads
        self.norm = nn.GroupNorm(groups, channels)
        self.qkv = nn.Linear(channels, 3 * channels)
        self.out = zero(nn.Linear(channels, channels))

    def forward(self, x):
        n, c, height, width = x.shape
        tokens = self.norm(x).flatten(2).transpose(1, 2)
        q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in self.qkv(tokens).chunk(3, dim=2))
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        return x + self.out(mixed).transpose(1, 2).unflatten(2, (height, width))


class Stage(nn.Module):
    def __init__(self, channels_in, channels_out, recipe, attention):
        super().__init__()
        self.residual = Residual(channels_in, channels_out, recipe["embedding"], recipe["groups"], recipe.get("dropout", 0.0))
        if attention:
            self.attention = Attention(channels_out, recipe["heads"], recipe["groups"])

    def forward(self, x, e):
        h = self.residual(x, e)
        return self.attention(h) if hasattr(self, "attention") else h


class Level(nn.Module):
    """block0, block1, … and, where there is one, resample."""

    def __init__(self, stages, resample):
        super().__init__()
        self.count = len(stages)
        for i, stage in enumerate(stages):
            setattr(self, f"block{i}", stage)
        if resample is not None:
            self.resample = resample

    def stages(self):
        return [getattr(self, f"block{i}") for i in range(self.count)]


def sinusoidal(t, width, dtype):
    """[n] as [n][width]: cosines, then sines."""
    half = width // 2
    angles = t.float()[:, None] * torch.exp(torch.arange(half, device=t.device) * (-math.log(10000.0) / half))
    return torch.cat([angles.cos(), angles.sin()], dim=1).to(dtype)


def embedded(network, x, t, y):
    """[n][embedding]. t: [n], or one for all; y: classes, or None."""
    times = torch.as_tensor(t, device=x.device).expand(len(x))
    e = network.time2(F.silu(network.time1(sinusoidal(times, network.width, network.time1.weight.dtype))))
    return F.silu(e if y is None else e + network.classes(rows_of(y, network.classes)))


def rows_of(y, layer):
    """Labels as rows of zeros and a one; rows stay."""
    if y.dim() == 1 and not y.is_floating_point():
        y = F.one_hot(y.long(), layer.in_features)
    return y.to(layer.weight.dtype)


def tokens_of(x):
    """[n, channels, height, width] as rows [n, height * width * channels], the order of Lockstep's pictures."""
    return x.permute(0, 2, 3, 1).flatten(1)


class UNet(nn.Module):
    def __init__(self, recipe, colours=1, classes=0):
        super().__init__()
        channels, blocks = recipe["channels"], recipe["blocks"]
        self.width, self.levels, last = channels[0], len(channels), len(channels) - 1
        self.time1 = nn.Linear(channels[0], recipe["embedding"])
        self.time2 = nn.Linear(recipe["embedding"], recipe["embedding"])
        if classes:
            self.classes = nn.Linear(classes, recipe["embedding"], bias=False)
        self.input = nn.Conv2d(colours, channels[0], 3, padding=1)
        now, kept = channels[0], [channels[0]]
        for i, c in enumerate(channels):
            stages = []
            for _ in range(blocks):
                stages.append(Stage(now, c, recipe, i in recipe["attention_levels"]))
                now = c
                kept.append(c)
            resample = nn.Conv2d(c, c, 3, stride=2, padding=1) if i != last else None
            if resample is not None:
                kept.append(c)
            setattr(self, f"down{i}", Level(stages, resample))
        self.middle1 = Residual(now, now, recipe["embedding"], recipe["groups"], recipe.get("dropout", 0.0))
        self.middle_attention = Attention(now, recipe["heads"], recipe["groups"])
        self.middle2 = Residual(now, now, recipe["embedding"], recipe["groups"], recipe.get("dropout", 0.0))
        for i in range(last, -1, -1):
            stages = []
            for _ in range(blocks + 1):
                stages.append(Stage(now + kept.pop(), channels[i], recipe, i in recipe["attention_levels"]))
                now = channels[i]
            setattr(self, f"up{i}", Level(stages, nn.Conv2d(now, now, 3, padding=1) if i else None))
        self.output_norm = nn.GroupNorm(recipe["groups"], now)
        self.output = zero(nn.Conv2d(now, colours, 3, padding=1))

    def forward(self, x, t, y=None):
        """t: [n] or one for all, as the process tells it; y: classes, see above."""
        e = embedded(self, x, t, y)
        h = self.input(x)
        kept = [h]
        for i in range(self.levels):
            level = getattr(self, f"down{i}")
            for stage in level.stages():
                h = stage(h, e)
                kept.append(h)
            if hasattr(level, "resample"):
                h = level.resample(h)
                kept.append(h)
        h = self.middle2(self.middle_attention(self.middle1(h, e)), e)
        for i in reversed(range(self.levels)):
            level = getattr(self, f"up{i}")
            for stage in level.stages():
                h = stage(torch.cat([h, kept.pop()], dim=1), e)
            if hasattr(level, "resample"):
                h = level.resample(F.interpolate(h, size=kept[-1].shape[2:], mode="nearest"))
        return self.output(F.silu(self.output_norm(h)))


def modulated(x, modulation):
    """Layer norm whose shift and scale are each sample's own."""
    shift, scale = modulation[:, None].chunk(2, dim=2)
    return F.layer_norm(x, x.shape[-1:], eps=1e-6) * (1 + scale) + shift


class Branch(nn.Module):
    def __init__(self, inside, out, recipe):
        super().__init__()
        width, embedding = recipe["width"], recipe["embedding"]
        self.modulation = zero(nn.Linear(embedding, 2 * width))
        setattr(self, "in", nn.Linear(width, inside))
        self.out = nn.Linear(out, width)
        self.gate = zero(nn.Linear(embedding, width))

    def forward(self, x, e):
        h = getattr(self, "in")(modulated(x, self.modulation(e)))
        return x + self.gate(e)[:, None] * self.out(self.middle(h))


class AttentionBranch(Branch):
    def __init__(self, recipe):
        super().__init__(3 * recipe["width"], recipe["width"], recipe)
        self.heads = recipe["heads"]

    def middle(self, h):
        q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in h.chunk(3, dim=2))
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


class MlpBranch(Branch):
    def __init__(self, recipe):
        hidden = recipe["mlp_ratio"] * recipe["width"]
        super().__init__(hidden, hidden, recipe)

    def middle(self, h):
        return F.gelu(h, approximate="tanh")


class DitBlock(nn.Module):
    def __init__(self, recipe):
        super().__init__()
        self.attention, self.mlp = AttentionBranch(recipe), MlpBranch(recipe)

    def forward(self, x, e):
        return self.mlp(self.attention(x, e), e)


class Dit(nn.Module):
    def __init__(self, recipe, colours=1, classes=0):
        super().__init__()
        self.width, embedding, self.patch, self.depth = (recipe[key] for key in ("width", "embedding", "patch", "depth"))
        values = self.patch ** 2 * colours
        self.time1, self.time2 = nn.Linear(self.width, embedding), nn.Linear(embedding, embedding)
        if classes:
            self.classes = nn.Linear(classes, embedding, bias=False)
        self.input = nn.Linear(values, self.width)
        for i in range(self.depth):
            setattr(self, f"block{i}", DitBlock(recipe))
        self.output_modulation = zero(nn.Linear(embedding, 2 * self.width))
        self.output = zero(nn.Linear(self.width, values))

    def forward(self, x, t, y=None):
        n, c, height, width = x.shape
        rows, columns, p = height // self.patch, width // self.patch, self.patch
        e = embedded(self, x, t, y)
        tokens = x.view(n, c, rows, p, columns, p).permute(0, 2, 4, 3, 5, 1).reshape(n, rows * columns, -1)
        by_row, by_column = (sinusoidal(torch.arange(count, device=x.device), self.width // 2, x.dtype) for count in (rows, columns))
        places = torch.cat([by_row.repeat_interleave(columns, dim=0), by_column.repeat(rows, 1)], dim=1)
        h = self.input(tokens) + places
        for i in range(self.depth):
            h = getattr(self, f"block{i}")(h, e)
        h = self.output(modulated(h, self.output_modulation(e)))
        return h.view(n, rows, columns, p, p, c).permute(0, 5, 1, 3, 2, 4).reshape(x.shape)


def sides(levels, side):
    """28, 14, 7, …: halved, rounded down."""
    found = [side]
    for _ in range(levels):
        found.append(found[-1] // 2)
    return found


def require_classes(network, y):
    """A generator with classes has learnt nothing of pictures without one."""
    if y is None and hasattr(network, "classes"):
        raise ValueError(f"this generator has {network.classes.in_features} classes: give y, a class for each latent")


class ConvGenerator(nn.Module):
    """Of DCGAN and SNGAN: SNGAN has a transposed convolution less, and makes the picture by a convolution of 3x3."""

    def __init__(self, recipe, height=28, width=28, colours=1, classes=0):
        super().__init__()
        channels, self.sngan = recipe["channels"], recipe["kind"] == "sngan-generator"
        self.levels, self.channels = len(channels), channels[-1]
        self.sizes = list(zip(sides(self.levels - self.sngan, height), sides(self.levels - self.sngan, width)))
        features = math.prod(self.sizes[-1]) * channels[-1]
        self.project = dcgan(nn.Linear(recipe["latent"], features, bias=False))
        if classes:
            self.classes = dcgan(nn.Linear(classes, features, bias=False))
        self.project_norm = nn.BatchNorm2d(channels[-1])
        for i in range(self.levels - 1, 0, -1):
            setattr(self, f"up{i - self.sngan}", dcgan(nn.ConvTranspose2d(channels[i], channels[i - 1], 4, 2, 1, bias=False)))
            setattr(self, f"norm{i - self.sngan}", nn.BatchNorm2d(channels[i - 1]))
        if self.sngan:
            self.output = dcgan(nn.Conv2d(channels[0], colours, 3, padding=1))
        else:
            self.up0 = dcgan(nn.ConvTranspose2d(channels[0], colours, 4, 2, 1))

    def forward(self, z, y=None):
        require_classes(self, y)
        h = self.project(z) if y is None else self.project(z) + self.classes(rows_of(y, self.classes))
        h = h.view(len(z), *self.sizes[-1], self.channels).permute(0, 3, 1, 2)
        h = F.relu(self.project_norm(h))
        for i in range(self.levels - 1 - self.sngan, -1 if self.sngan else 0, -1):
            h = F.relu(getattr(self, f"norm{i}")(getattr(self, f"up{i}")(h, self.sizes[i])))
        return torch.tanh(self.output(h) if self.sngan else self.up0(h, self.sizes[0]))


def judged(network, row, y):
    """The logit; with classes that of a projection discriminator (Miyato & Koyama 2018)."""
    logit = network.output(row).flatten()
    return logit if y is None else logit + (row * network.classes(rows_of(y, network.classes))).sum(1)


class DcganDiscriminator(nn.Module):
    def __init__(self, recipe, height=28, width=28, colours=1, classes=0):
        super().__init__()
        channels = recipe["channels"]
        self.levels, self.normed = len(channels), recipe.get("norm", "batch") == "batch"
        self.down0 = dcgan(nn.Conv2d(colours, channels[0], 4, 2, 1))
        for i in range(1, self.levels):
            setattr(self, f"down{i}", dcgan(nn.Conv2d(channels[i - 1], channels[i], 4, 2, 1, bias=not self.normed)))
            if self.normed:
                setattr(self, f"norm{i}", nn.BatchNorm2d(channels[i]))
        features = sides(self.levels, height)[-1] * sides(self.levels, width)[-1] * channels[-1]
        self.output = dcgan(nn.Linear(features, 1))
        if classes:
            self.classes = dcgan(nn.Linear(classes, features, bias=False))

    def forward(self, x, y=None):
        h = F.leaky_relu(self.down0(x), 0.2)
        for i in range(1, self.levels):
            h = getattr(self, f"down{i}")(h)
            h = F.leaky_relu(getattr(self, f"norm{i}")(h) if self.normed else h, 0.2)
        return judged(self, tokens_of(h), y)


class Spectral:
    """A layer whose weight is divided by its largest singular value, as u and v know it: docs/numerics.md, *Spectral norm*. In
    fp32 whatever autocast says, since ours stays float beside integer products."""

    def norm_spectrally(self):
        rows = self.weight.shape[0]
        for name, length in (("u", self.weight.numel() // rows), ("v", rows)):
            self.register_buffer(name, torch.randn(length) / math.sqrt(length))

    def iterate(self):
        """The power iteration before the passes of a step that trains this layer."""
        with torch.no_grad(), torch.autocast(self.weight.device.type, enabled=False):
            matrix = self.weight.flatten(1)  # [out][all else]: transposed, beside ours
            v = F.normalize(matrix @ self.u, dim=0)
            self.u, self.v = F.normalize(v @ matrix, dim=0), v

    def normed(self):
        with torch.autocast(self.weight.device.type, enabled=False):
            return self.weight / ((self.weight.flatten(1).t() @ self.v) @ self.u)


class SpectralConv2d(Spectral, nn.Conv2d):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.norm_spectrally()

    def forward(self, x):
        return F.conv2d(x, self.normed(), self.bias, self.stride, self.padding)


class SpectralLinear(Spectral, nn.Linear):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.norm_spectrally()

    def forward(self, x):
        return F.linear(x, self.normed(), self.bias)


def weighted(recipe):
    """The convolutions and the linear layers of a discriminator: with spectral norm, or as they are."""
    return (SpectralConv2d, SpectralLinear) if recipe.get("norm", "spectral") == "spectral" else (nn.Conv2d, nn.Linear)


class SnganDiscriminator(nn.Module):
    def __init__(self, recipe, height=28, width=28, colours=1, classes=0):
        super().__init__()
        conv, linear = weighted(recipe)
        now, self.levels = colours, len(recipe["channels"])
        for i, channels in enumerate(recipe["channels"]):
            setattr(self, f"conv{i}", conv(now, channels, 3, 1, 1))
            if i + 1 < self.levels:
                setattr(self, f"down{i}", conv(channels, channels, 4, 2, 1))
            now = channels
        features = sides(self.levels - 1, height)[-1] * sides(self.levels - 1, width)[-1] * now
        self.output = linear(features, 1)
        if classes:
            self.classes = linear(classes, features, False)

    def forward(self, x, y=None):
        h = x
        for i in range(self.levels):
            h = F.leaky_relu(getattr(self, f"conv{i}")(h), 0.1)
            if i + 1 < self.levels:
                h = F.leaky_relu(getattr(self, f"down{i}")(h), 0.1)
        return judged(self, tokens_of(h), y)


class MlpGenerator(nn.Module):
    def __init__(self, recipe, sample_shape=(2,), classes=0):
        super().__init__()
        self.shape, self.count, now = sample_shape, recipe["layers"], recipe["latent"]
        self.normed = recipe.get("norm", "batch") == "batch"
        for i in range(self.count):
            setattr(self, f"hidden{i}", nn.Linear(now, recipe["hidden"]))
            if self.normed:
                setattr(self, f"norm{i}", nn.BatchNorm1d(recipe["hidden"]))
            now = recipe["hidden"]
        self.output = nn.Linear(now, math.prod(sample_shape))
        if classes:
            self.classes = nn.Linear(classes, recipe["hidden"], bias=False)

    def forward(self, z, y=None):
        require_classes(self, y)
        h = z
        for i in range(self.count):
            h = getattr(self, f"hidden{i}")(h)
            if i == 0 and y is not None:
                h = h + self.classes(rows_of(y, self.classes))
            h = F.relu(getattr(self, f"norm{i}")(h) if self.normed else h)
        return self.output(h).view(len(z), *self.shape)


class MlpDiscriminator(nn.Module):
    def __init__(self, recipe, sample_shape=(2,), classes=0):
        super().__init__()
        _, linear = weighted(recipe)
        self.count, now = recipe["layers"], math.prod(sample_shape)
        for i in range(self.count):
            setattr(self, f"hidden{i}", linear(now, recipe["hidden"]))
            now = recipe["hidden"]
        self.output = linear(now, 1)
        if classes:
            self.classes = linear(classes, now, False)

    def forward(self, x, y=None):
        h = x.flatten(1)
        for i in range(self.count):
            h = F.leaky_relu(getattr(self, f"hidden{i}")(h), 0.2)
        return judged(self, h, y)


class Cnn(nn.Module):
    def __init__(self, recipe, height=28, width=28, colours=1, classes=10):
        super().__init__()
        self.levels, now = len(recipe["channels"]), colours
        for i, channels in enumerate(recipe["channels"]):
            stride = 1 if i == 0 else 2
            height, width = (height - 1) // stride + 1, (width - 1) // stride + 1
            setattr(self, f"conv{i}", nn.Conv2d(now, channels, 3, stride, 1))
            setattr(self, f"norm{i}", nn.GroupNorm(recipe["groups"], channels))
            now = channels
        self.features = nn.Linear(height * width * now, recipe["features"])
        self.output = nn.Linear(recipe["features"], classes)

    def activations(self, x):
        """Those before the last layer, which `lockstep eval` compares."""
        for i in range(self.levels):
            x = F.silu(getattr(self, f"norm{i}")(getattr(self, f"conv{i}")(x)))
        return F.silu(self.features(tokens_of(x)))

    def forward(self, x):
        return self.output(self.activations(x))


KINDS = {"unet": UNet, "dit": Dit, "dcgan-generator": ConvGenerator, "sngan-generator": ConvGenerator,
         "dcgan-discriminator": DcganDiscriminator, "sngan-discriminator": SnganDiscriminator,
         "mlp-generator": MlpGenerator, "mlp-discriminator": MlpDiscriminator, "cnn": Cnn}


class Config(dict):
    """A config.json that knows which of its keys were asked for."""

    def __init__(self, keys):
        super().__init__(keys)
        self.asked = {"kind", "role", "sample_shape", "classes", "objective"}

    def __getitem__(self, key):
        self.asked.add(key)
        return super().__getitem__(key)

    def get(self, key, default=None):
        self.asked.add(key)
        return super().get(key, default)


def make(config):
    """The network that a config.json of `lockstep export` describes. ValueError if it says what no network here knows."""
    if config["kind"] not in KINDS:
        raise ValueError(f"there is no network {config['kind']!r}: use the networks.py of the program that exported it")
    kind, shape, classes, config = KINDS[config["kind"]], config["sample_shape"], config["classes"], Config(config)
    if kind in (UNet, Dit):
        network = kind(config, shape[2], classes)
    elif kind in (MlpGenerator, MlpDiscriminator):
        network = kind(config, shape, classes)
    else:
        network = kind(config, *shape, classes)
    if unknown := sorted(set(config) - config.asked):
        raise ValueError(f"{config['kind']}: unknown {', '.join(unknown)}: use the networks.py of the program that exported it")
    return network


def load(folder, role="model"):
    """The network of this role, with its weights, ready to be asked (eval)."""
    from safetensors.torch import load_file
    home = pathlib.Path(folder) / role
    if pathlib.Path(folder).is_file():
        raise ValueError(f"{folder} has weights and no configuration: `lockstep export RUN folder/` writes both")
    if not home.is_dir():
        raise ValueError(f"{folder} has no folder {role!r}: give a folder that `lockstep export` made")
    model = make(json.loads((home / "config.json").read_text()))
    weights = load_file(home / "diffusion_pytorch_model.safetensors")
    for name, tensor in model.state_dict().items():  # a linear layer at every position is a convolution of 1x1 here
        if tensor.dim() == 4 and name in weights and weights[name].dim() == 2:
            weights[name] = weights[name][:, :, None, None]
    missing, unknown = model.load_state_dict(weights, strict=False)
    missing = [name for name in missing if not name.endswith("num_batches_tracked")]  # a count that PyTorch keeps
    if missing or unknown:
        raise ValueError(f"{home}: tensors missing: {missing}, unknown: {unknown}")
    return model.eval()

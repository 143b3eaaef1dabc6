"""Samples of the stream of pictures from a checkpoint (docs/training.md, *Pictures*; docs/numerics.md, *Schedules*)."""
import tomllib

import h5py
import numpy as np

import elementary
import schedules
from denoise import combine, embedded
from flow import TOLD
from fused import fma
from labels import condition_rows
from lanes import Pass
from recipe import Recipe
from schedules import Level, levels
from streams import Stream
from trainer import KINDS


class Checkpoint:
    """A file's recipe, and the networks with the tensors that samples are made of."""

    def __init__(self, path, **asked):
        """`asked`: keys of [objective] instead of the recipe's."""
        with h5py.File(path) as file:
            self.recipe = recipe = Recipe(tomllib.loads(bytes(file["recipe"][...]).decode()))
            assert recipe.id(int(file.attrs["semantics"])) == _text(file.attrs["recipe"]), "the recipe's id"
            self.shape = tuple(file["sample_shape"][...].tolist())
            role = self.role = recipe.roles[0]
            self.network = KINDS[recipe[role]["kind"]](recipe[role], self.shape, recipe.classes)
            averaged = recipe[role + ".optimizer"]["ema_decay"] != 0.0
            self.weights = self._tensors(file, kind_of_weights(averaged), self.network.parameters())
            self.buffers = self._tensors(file, "buffer", self.network.buffers())
        recipe["objective"].update(asked)

    def _tensors(self, file, kind, tensors):
        values = {t.name: file[f"state/{self.role}/{kind}/{t.name}"][...] for t in tensors}
        assert all(values[t.name].shape == t.shape and values[t.name].dtype == np.float32 for t in tensors)
        return values

    def pass_of(self, condition):
        return Pass(None, self.weights, self.buffers, condition=condition, by_running=True,
                    integer_products=self.recipe.integer_products)


def _text(value):
    return value.decode() if isinstance(value, bytes) else value


def kind_of_weights(averaged):
    return "ema" if averaged else "param"


def classes_of(numbers, classes):
    return [i % classes for i in numbers]


def guided(scale, told, untold):
    """From the outputs under the samples' conditions and under conditions of zeros."""
    return combine(np.float32(scale), told, np.float32(1.0 - scale), untold)


def next_micro(t):
    """Of the noise of ancestral sampling."""
    return t


def clamped(x):
    one = elementary.ONE
    return np.where(x < -one, -one, np.where(x > one, one, x))


def _diffusion(recipe, numbers, shape):
    """Of each step: the time that the network is told, and x from the network's outputs and x."""
    table = recipe["objective"]
    noise = Stream(recipe.seed, "ddpm/sample-noise")
    schedule = schedules.noise_schedule(table["schedule"], table["timesteps"])
    for t, *scalars in schedules.sampler(table["sampler"], *schedule, table["prediction"], table.get("sampler_steps")):
        p, q, g, h, n = map(np.float32, scalars)

        def step(output, x):
            x0 = combine(p, x, q, output)
            x = combine(g, x0 if recipe["data"]["kind"] in ("fields", "signals") else clamped(x0), h, x)
            if n == 0.0:
                return x
            return fma(n, noise.normal(numbers, int(np.prod(shape)), next_micro(t)).reshape(x.shape), x)
        yield t, step


def euler(h, slope, x):
    return fma(h, slope, x)


def heun(h, slope, following, x):
    return fma(np.float32(0.5) * h, slope + following, x)


def _flow(recipe, numbers, shape):
    """Euler's steps from noise at time 1 to samples at time 0, or pairs of steps that are Heun's; `numbers` and `shape`
    are not needed: no noise is added."""
    table = recipe["objective"]
    steps, told = table["sampler_steps"], lambda t: float(TOLD * np.float32(t))
    for i in range(steps):
        t, following = (steps - i) / steps, (steps - i - 1) / steps
        h = np.float32(following - t)
        if table["sampler"] == "euler" or i + 1 == steps:
            yield told(t), lambda velocity, x: euler(h, velocity, x)
            continue
        before = []
        yield told(t), lambda velocity, x: before.extend((velocity, x)) or euler(h, velocity, x)
        yield told(following), lambda velocity, _: heun(h, before[0], velocity, before[1])


def _edm(recipe, numbers, shape):
    """As _flow, along noise levels; what the network is given is scaled."""
    table = recipe["objective"]
    steps = levels(table, table["sampler_steps"])

    def asked(s):
        level = Level(np.float32(s), table["sigma_data"])
        p, q = (np.float32(x) for x in level.slope())
        return level.told(), np.float32(level.scale()), lambda x, output: combine(p, x, q, output)
    for i, (s, following) in enumerate(zip(steps, steps[1:])):
        h = np.float32(following - s)
        told, scale, slope = asked(s)
        if table["sampler"] == "euler" or i + 2 == len(steps):
            yield told, lambda output, x: euler(h, slope(x, output), x), scale
            continue
        before = []
        yield told, lambda output, x: before.extend((slope(x, output), x)) or euler(h, before[0], x), scale
        told, scale, slope = asked(following)
        yield told, lambda output, x: heun(h, before[0], slope(x, output), before[1]), scale


STEPS = {"ddpm": _diffusion, "flow": _flow, "edm": _edm}


def _denoised(checkpoint, numbers, condition):
    recipe, network = checkpoint.recipe, checkpoint.network
    kind, guidance = (recipe["objective"][key] for key in ("kind", "guidance"))
    start = Stream(recipe.seed, f"{kind}/sample-start")
    x = start.normal(numbers, int(np.prod(checkpoint.shape))).reshape(len(numbers), *checkpoint.shape)
    x = x * np.float32(recipe["objective"].get("sigma_max", 1.0))
    for told, step, *scale in STEPS[kind](recipe, numbers, checkpoint.shape):
        given = x * scale[0] if scale else x
        times = np.repeat(embedded(network, [told]), len(x), axis=0)
        output, _ = network.forward(checkpoint.pass_of(condition), given, times)
        if guidance != 1.0:
            untold, _ = network.forward(checkpoint.pass_of(np.zeros_like(condition)), given, times)
            output = guided(guidance, output, untold)
        x = step(output, x)
    return x


def _generated(checkpoint, numbers, condition):
    latents = Stream(checkpoint.recipe.seed, "gan/sample-latent").normal(numbers, checkpoint.recipe["generator"]["latent"])
    return checkpoint.network.forward(checkpoint.pass_of(condition), latents)[0]


def samples(checkpoint, numbers, label=None):
    """Samples by number, binary32; all of one class if it is given."""
    classes = checkpoint.recipe.classes
    labels = classes_of(numbers, classes) if label is None and classes else [label] * len(numbers)
    condition = condition_rows(labels, classes) if classes else None
    kind = checkpoint.recipe["objective"]["kind"]
    return (_denoised if kind in STEPS else _generated)(checkpoint, numbers, condition)


def to_bytes(x):
    one = elementary.ONE
    c = np.where(~(x > -one), -one, np.where(x > one, one, x))
    return np.minimum(fma(c, np.float32(127.5), np.float32(128.0)), np.float32(255.0)).astype(np.uint8)

"""Gradients of whole phases against finite differences: the reference's own code, in binary64 without its roundings.

    test_gradients.py RECIPES    the folder of the golden recipes; prints the largest error of each recipe
"""
import os
import re
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
np.float32 = np.float64  # before the modules that compute are read: they make no other type

import elementary
import fused

elementary.exp, elementary.log, elementary.sin, elementary.cos, elementary.tanh = np.exp, np.log, np.sin, np.cos, np.tanh
fused.fma = lambda a, b, c: a * b + c
fused.outer_chain = lambda u, v: np.matmul(u.transpose(1, 2, 0), v.transpose(1, 0, 2))
fused.matmul = np.matmul
fused.chain_products = lambda u, v: (u * v).sum(axis=0)
fused.chain_values = lambda u: u.sum(axis=0)

import classifier
import denoise
import gan
import integer_arrays
import spectral
from changed import started
from data import batch

integer_arrays.rounded = lambda groups: (groups, None)  # its derivative is one by definition
integer_arrays.scaled = lambda sums, *exponents: sums

STEP, BOUND = 1e-8, 1e-4
# Golden recipes, and in some what makes them conditional, or of another objective.
FLOW = [('kind = "ddpm"', 'kind = "flow"'), ('sampler = "ancestral"', 'sampler = "euler"')]
MIN_SNR = [('sampler = "ancestral"', 'sampler = "ancestral"\nweighting = "min-snr"\nmin_snr_gamma = 0.3')]
RECIPES = [("class-gan", []), ("class-ddpm", []), ("class-ddpm", FLOW), ("class-ddpm", MIN_SNR), ("r1-gan", []), ("edm", []), ("wgan", []),
           ("dit", []), ("classifier", []),
           ("integer-sngan", []), ("integer-ddpm", []),
           ("toy-gan", [('kind = "mixture"', 'kind = "mixture"\nclasses = 9')]),
           ("dcgan", [('kind = "images"', 'kind = "images"\nclasses = 10')])]


def kept_vectors(network, parameters, buffers, own_phase):
    """Spectral norm's gradient takes u and v as constants."""
    return spectral.Prepared(network, parameters, buffers, False)


gan.Prepared = denoise.Prepared = classifier.Prepared = kept_vectors


def move_away(trainer, random):
    """From the zeros of the first values, and to vectors of spectral norm that fit the weights."""
    for name, role in trainer.state.roles.items():
        for tensor, value in role.parameters.items():
            role.parameters[tensor] = value + 0.05 * random.standard_normal(value.shape)
        for _ in range(5):
            spectral.Prepared(trainer.networks[name], role.parameters, role.buffers, True)


def without_backward(trainer, phase):
    """The same losses. A discriminator's penalties are made by its backward pass."""
    if phase == "discriminator":
        return trainer.objective.phase

    def phase_(*arguments):
        forwards = [(network, network.forward) for network in trainer.networks.values()]
        for network, forward in forwards:
            network.forward = lambda *words, forward=forward, **more: (forward(*words, **more)[0], lambda *_: None)
        try:
            return trainer.objective.phase(*arguments)
        finally:
            for network, _ in forwards:
                del network.forward
    return phase_


def check(trainer, random):
    """Of each phase and each part of its network, such as `classes`: the error of the derivative in one direction,
    divided by the gradient's norm."""
    move_away(trainer, random)
    taken, state, errors = batch(trainer.recipe, trainer.data, 0), trainer.state, {}
    for phase in trainer.objective.phases:
        role = state.roles[trainer.objective.role_of(phase)]
        center = role.parameters
        loss, gradients = trainer.objective.phase(phase, state, taken)
        again = without_backward(trainer, phase)
        assert again(phase, state, taken)[0] == loss
        for part in dict.fromkeys(name.split(".")[0] for name in center):
            direction = {name: random.standard_normal(value.shape) for name, value in center.items()
                         if name.split(".")[0] == part}
            losses = []
            for step in (STEP, -STEP):
                role.parameters = center | {name: center[name] + step * d for name, d in direction.items()}
                losses.append(again(phase, state, taken)[0])
            role.parameters = center
            slope = (losses[0] - losses[1]) / (2.0 * STEP)
            norm = np.sqrt(sum((gradients[name] ** 2).sum() for name in direction))
            errors[phase, part] = abs(slope - sum((gradients[name] * d).sum() for name, d in direction.items())) / norm
    return errors


def fewer_lanes(folder, name):
    """Two lanes, of two samples or three; or four: what a gradient is does not depend on how many there are."""
    with open(os.path.join(folder, name + ".toml"), encoding="utf-8") as file:
        batch = re.search(r"^lanes = \d+\nsamples_per_lane = (\d+)$", file.read(), re.MULTILINE)
    return [(batch[0], f"lanes = {4 if batch[1] == '1' else 2}\nsamples_per_lane = {batch[1]}")]


def main():
    wrong = 0
    for name, changes in RECIPES:
        trainer = started(sys.argv[1], name, *fewer_lanes(sys.argv[1], name), *changes)
        errors = check(trainer, np.random.default_rng(1))
        at, largest = max(errors.items(), key=lambda item: item[1])
        kind = trainer.recipe["objective"]["kind"]
        print(f"{name}, {kind}: {len(errors)} derivatives, largest error {largest:.1e} at {' '.join(at)}", flush=True)
        wrong += not largest < BOUND
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

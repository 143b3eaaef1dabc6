"""Conditions: labels, label dropout, and networks that must be the unconditional ones where the layer `classes` gives 0.

    test_classes.py RECIPES    the folder of the golden recipes; prints what is wrong
"""
import importlib.util
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import denoise
import gan
import lanes
import spectral
from changed import started
from data import Mixture, batch
from elementary import ONE
from fused import chain_products
from hashes import sha256
from labels import condition_rows, labelled_hash
from streams import Stream

AWAY = np.float32(0.01)


def check_labels():
    rows = condition_rows([2, 0], 3)
    assert rows.dtype == np.float32 and rows.tolist() == [[0, 0, 1], [1, 0, 0]]
    content, labels = bytes(range(32)), np.array([7, 1, 300])
    stored = b"".join(int(label).to_bytes(4, "little") for label in labels)
    root = sha256(b"\2", (65536).to_bytes(8, "little"), (12).to_bytes(8, "little"), sha256(b"\0", stored))
    assert labelled_hash(content.hex(), labels) == sha256(b"lockstep labels 1\n", content, root).hex()
    assert labelled_hash(content.hex(), None) == sha256(b"lockstep labels 1\n", content).hex()
    mixture = Mixture({"modes": 8, "radius": 1.0, "stddev": 0.01, "count": 100, "seed": 3})
    points, angles = mixture.samples(np.arange(100)), mixture.labels(np.arange(100)) * (np.pi / 4)
    assert np.abs(points - np.stack([np.cos(angles), np.sin(angles)], axis=1)).max() < 0.1


def check_refusals(folder):
    """Labels beyond the classes, of pictures and of toys."""
    for name, *change in (("class-ddpm", "classes = 10", "classes = 9"), ("class-gan", "classes = 3", "classes = 2")):
        try:
            started(folder, name, change)
        except ValueError as error:
            print(f"{name}: {error}")
        else:
            raise AssertionError(f"{name} takes labels beyond its classes")


def check_dropout(folder):
    """A sample loses its class where u is below the share: not where it is the share."""
    trainer = started(folder, "class-ddpm")
    objective, taken = trainer.objective, batch(trainer.recipe, trainer.data, 5)
    u = Stream(trainer.recipe.seed, "ddpm/label-dropout").uniform(taken.draws, 1)[:, 0]
    for share in (*np.sort(u), np.float32(1.0)):
        objective.label_dropout = share
        lost = ~objective.condition(taken).any(axis=1)
        assert (lost == (u < share)).all() and lost.sum() == (np.sort(u) < share).sum()
    objective.label_dropout = np.float32(0.0)
    assert (objective.condition(taken) == taken.condition).all() and (taken.condition.sum(axis=1) == 1).all()


def silent(network, parameters, buffers, own_phase):
    """The layer `classes` gives 0, after spectral norm if it has one."""
    prepared = spectral.Prepared(network, parameters, buffers, own_phase)
    if "classes.weight" in prepared.weights:
        prepared.weights["classes.weight"] = np.zeros_like(prepared.weights["classes.weight"])
    return prepared


def check_tensors(trainer):
    """Names, shapes and first values, as the list of tensors in ../networks.py has them."""
    path = os.path.join(os.path.dirname(HERE), "networks.py")  # training/ has another networks.py
    listed = importlib.util.module_from_spec(spec := importlib.util.spec_from_file_location("listed", path))
    spec.loader.exec_module(listed)
    for role, network in trainer.networks.items():
        table = trainer.recipe[role]
        ours = [(t.name, list(t.shape), (t.kind, t.scale)) for t in network.parameters() + network.buffers()]
        theirs = listed.network(table["kind"], table | {"classes": trainer.recipe.classes}, trainer.data.shape)
        assert ours == [(t.path, t.shape, t.start) for t in theirs], (trainer.recipe.id(1), role)


def check_penalty(trainer):
    """R1's way down is the backward pass: the same dD/dx, to the bit."""
    network, role = trainer.networks["discriminator"], trainer.state.roles["discriminator"]
    taken = batch(trainer.recipe, trainer.data, 0)
    prepared = spectral.Prepared(network, role.parameters, role.buffers, True)
    pass_ = lanes.Pass(trainer.lanes, prepared.weights, condition=taken.condition,
                       integer_products=trainer.recipe.integer_products)
    logits, back = network.forward(pass_, taken.samples)
    rows = back(np.ones_like(logits), None).reshape(len(logits), -1)
    penalty, _ = gan.penalised(network, pass_, taken.samples, gan.r1(ONE, ONE))
    assert (penalty[:, 0] == chain_products(rows.T, rows.T)).all()


def check_silent(folder, name, told_changes, plain_changes):
    """Losses and gradients with and without classes are equal, except for the signs of zeros."""
    told, plain = started(folder, name, *told_changes), started(folder, name, *plain_changes)
    check_tensors(told)
    check_tensors(plain)
    for role in plain.state.roles:  # away from the zeros that some first values are
        for tensor, value in plain.state.roles[role].parameters.items():
            told.state.roles[role].parameters[tensor] = plain.state.roles[role].parameters[tensor] = value + AWAY
    for phase in told.objective.phases:
        losses, gradients = zip(*(trainer.objective.phase(phase, trainer.state, batch(trainer.recipe, trainer.data, 0))
                                  for trainer in (told, plain)))
        assert losses[0] == losses[1], (name, phase)
        assert set(gradients[0]) == set(gradients[1]) | {"classes.weight"}
        assert all((gradients[0][tensor] == value).all() for tensor, value in gradients[1].items()), (name, phase)
        assert gradients[0]["classes.weight"].any()


def main():
    folder = sys.argv[1]
    check_labels()
    check_refusals(folder)
    check_dropout(folder)
    for name in ("class-gan", "integer-sngan"):
        check_penalty(started(folder, name))
    gan.Prepared = denoise.Prepared = silent
    check_silent(folder, "class-gan", [], [("classes = 3", "classes = 0")])
    check_silent(folder, "class-ddpm", [], [("classes = 10", "classes = 0"), ("label_dropout = 0.2", ""), ("guidance = 2.5", "")])
    for name, kind in (("toy-gan", "mixture"), ("dcgan", "images")):
        check_silent(folder, name, [(f'kind = "{kind}"', f'kind = "{kind}"\nclasses = 10')], [])
    print("as they must be")


if __name__ == "__main__":
    main()

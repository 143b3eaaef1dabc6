"""The ledger's lines and their chain (docs/ledger.md)."""
import hashlib

import numpy as np

from recipe import shortest

ZERO = bytes(32)


def loss_text(loss):
    if not np.isfinite(loss):
        return '"nan"' if loss != loss else '"inf"' if loss > 0 else '"-inf"'
    return shortest(float(loss), str(np.float32(loss)))


def chained(previous, body):
    """The line whose text up to the chain is `body`, and its chain."""
    chain = hashlib.sha256(previous + body.encode()).digest()
    return f'{body},"chain":"{chain.hex()}"}}', chain


def header(recipe_id, data_hash, semantics):
    body = f'{{"lockstep":"ledger","version":1,"recipe":"{recipe_id}","data":"{data_hash}","semantics":{semantics}'
    return chained(ZERO, body)


def line(previous, step, samples, losses, validation, before, state, commit, evaluation=()):
    loss = ",".join(f'"{phase}":{loss_text(value)}' for phase, value in losses)
    body = f'{{"step":{step},"samples":{samples},"loss":{{{loss}}}'
    if validation is not None:
        body += f',"validation":{loss_text(validation)}'
    if evaluation:
        body += ',"evaluation":{' + ",".join(f'"{key}":{shortest(value, repr(value))}' for key, value in evaluation) + "}"
    body += f',"before":"{before}","state":"{state}"'
    if commit is not None:
        body += f',"commit":"{commit}"'
    return chained(previous, body)

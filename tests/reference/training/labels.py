"""Labels of samples, their content hash, and the rows of a condition (docs/training.md, *Data*)."""
import numpy as np

from digests import hash_tree
from hashes import sha256


def labelled_hash(content, labels):
    """The content hash of data with labels from that without; `labels` of all samples if they are stored, else None."""
    stored = b"" if labels is None else hash_tree(labels.astype("<u4").tobytes())
    return sha256(b"lockstep labels 1\n", bytes.fromhex(content), stored).hex()


def condition_rows(labels, classes):
    """[samples][classes]: 1 at a sample's label, else 0."""
    return (np.asarray(labels)[:, None] == np.arange(classes)).astype(np.float32)

"""The one shape of every tree: n things split at the largest power of two below n, left first."""


def left_part(n):
    return 1 << ((n - 1).bit_length() - 1)


def tree(things, join):
    """things[0 … n-1] joined in the tree; one thing is itself."""
    if len(things) == 1:
        return things[0]
    p = left_part(len(things))
    return join(tree(things[:p], join), tree(things[p:], join))


def tree_sum(values):
    """Over the first dimension of a binary32 array, element by element."""
    return tree(values, lambda a, b: a + b)

"""Blocked chains, the tree, lanes; operations that need nothing else."""
import floats

BLOCK = 512


def _blocked(length, block_value):
    result = 0.0
    for first in range(0, length, BLOCK):
        value = block_value(first, min(length, first + BLOCK))
        result = value if first == 0 else floats.add(result, value)
    return result


def dot(u, v):
    """The blocked chain of u*v."""
    assert len(u) == len(v)
    fma = floats.fma

    def block(first, end):
        acc = 0.0
        for k in range(first, end):
            acc = fma(u[k], v[k], acc)
        return acc
    return _blocked(len(u), block)


def total(u):
    """The blocked chain of u."""
    add = floats.add

    def block(first, end):
        acc = 0.0
        for k in range(first, end):
            acc = add(acc, u[k])
        return acc
    return _blocked(len(u), block)


def left_part(n):
    """The largest power of two below n."""
    return 1 << ((n - 1).bit_length() - 1)


def tree(things, join):
    if len(things) == 1:
        return things[0]
    p = left_part(len(things))
    return join(tree(things[:p], join), tree(things[p:], join))


def tree_sum(rows):
    """Element by element."""
    return tree(rows, lambda a, b: [floats.add(x, y) for x, y in zip(a, b)])


def maximal_subtrees(total_things, first, count):
    """(first, count) of the maximal nodes of the whole tree inside a block, from left to right."""
    found = []

    def walk(start, size):
        if start >= first + count or start + size <= first:
            return
        if start >= first and start + size <= first + count:
            found.append((start, size))
            return
        p = left_part(size)
        walk(start, p)
        walk(start + p, size - p)
    walk(0, total_things)
    return found


def rows(values, width):
    return [values[i:i + width] for i in range(0, len(values), width)]


def columns(values, width):
    return [values[i::width] for i in range(width)]


def partials(lanes, lanes_of_partials):
    """The tree over the lanes of each partial, one after another."""
    assert len(lanes) == sum(lanes_of_partials)
    out, first = [], 0
    for count in lanes_of_partials:
        out += tree_sum(lanes[first:first + count])
        first += count
    return out


def lane_blocks(values, width, rows_per_lane):
    """The values of each lane, for rows of one width."""
    return rows(values, width * rows_per_lane)


def column_sums(values, width):
    return [total(column) for column in columns(values, width)]


def column_dots(a, b, width):
    return [dot(u, v) for u, v in zip(columns(a, width), columns(b, width))]


def products(a, b, width_a, width_b):
    """Every column of a with every column of b."""
    columns_b = columns(b, width_b)
    return [dot(u, v) for u in columns(a, width_a) for v in columns_b]

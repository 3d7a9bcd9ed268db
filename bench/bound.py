"""The set-entropy bound: the bits that it takes to say which rows a set has, among all that its columns allow.

README.md says what it is and what it is not.
"""

import math

EXACT = 1 << 12  # below, the number itself is taken


def log2_binomial(total, chosen):
    """log2 of the number of ways to choose `chosen` of `total`, which may be an integer of any size."""
    chosen = min(chosen, total - chosen)
    if total < EXACT or chosen == 0:
        return math.log2(math.comb(total, chosen))
    # lgamma(total + 1) - lgamma(rest + 1) by Stirling's series, subtracted on paper: as numbers both may be far larger than their
    # difference.
    rest = total - chosen
    nats = chosen * math.log(total) - math.lgamma(chosen + 1)
    # Beyond, what follows is less than what a float can tell, and `total` may be too large for one.
    if total < chosen << 60:
        nats += (1 / total - 1 / rest) / 12 - (rest + 0.5) * math.log1p(-chosen / total) - chosen
    return nats / math.log(2)


def determines(one, other):
    """Whether rows that agree in column `one` agree in the other."""
    known = {}
    return all(known.setdefault(code, determined) == determined for code, determined in zip(one, other))


def kept_columns(columns):
    """The numbers of the columns that no other column determines; of those that determine each other, of the first."""
    counts = [len(set(column)) for column in columns]
    kept = []
    # A column that determines another has at least as many values, so it comes earlier. It is enough to ask those
    # that are kept, for what determines a dropped column's dropper determines the column.
    for number in sorted(range(len(columns)), key=lambda number: -counts[number]):
        if not kept or counts[number] > 1 and not any(determines(columns[other], columns[number]) for other in kept):
            kept.append(number)
    return sorted(kept)


def set_entropy(keysets):
    """The sum over keysets, each a list of columns of equal length whose rows are distinct, in bits."""
    bits = 0.0
    for columns in keysets:
        total = math.prod(len(set(columns[number])) for number in kept_columns(columns))
        bits += log2_binomial(total, len(columns[0]))
    return bits

"""Decodes the blocks of zstd frames, written from RFC 8878 for `decoder.py`: packed sections of ARCHIVE.md.

`decode` takes the bytes after the header of a frame and returns its content. Damage raises `Damaged`. Bits are read
from slices of a few bytes, so the cost per byte is constant, and some 1,000 times that of the C library.
"""

MAX_BLOCK_LEN = 1 << 17
RAW, RLE, COMPRESSED = 0, 1, 2

# Literal lengths, offsets and match lengths: greatest accuracy, predefined accuracy and distribution.
ONES = [1] * 100
LENGTHS = (9, 6, [4, 3] + [2] * 11 + [1, 1, 1] + [2] * 9 + [3, 2] + ONES[:5] + [-1] * 4)
OFFSETS = (8, 5, ONES[:6] + [2, 2, 2] + ONES[:15] + [-1] * 5)
MATCHES = (9, 6, [1, 4, 3] + [2] * 6 + ONES[:37] + [-1] * 7)
# Base and number of further bits of each code.
LENGTH_CODES = [(n, 0) for n in range(16)] + [(16, 1), (18, 1), (20, 1), (22, 1), (24, 2), (28, 2), (32, 3), (40, 3),
                                              (48, 4)] + [(1 << n, n) for n in range(6, 17)]
MATCH_CODES = [(n + 3, 0) for n in range(32)] + [(35, 1), (37, 1), (39, 1), (41, 1), (43, 2), (47, 2), (51, 3), (59, 3),
                                                 (67, 4), (83, 4), (99, 5)] + [((1 << n) + 3, n) for n in range(7, 17)]


class Damaged(Exception):
    """A frame that cannot be decoded."""


def must(condition, reason):
    if not condition:
        raise Damaged(reason)


def bits_at(data, start, size):
    """The `size` bits from bit `start` on; bits outside of the data are zero."""
    if start < 0:
        return bits_at(data, 0, max(size + start, 0)) << min(-start, size)
    load = int.from_bytes(data[start // 8:(start + size + 7) // 8], "little")
    return load >> start % 8 & (1 << size) - 1


class Backward:
    """A bit stream that is read from its end: the highest bit that is set in its last byte stands before it."""

    def __init__(self, data):
        must(data and data[-1], "a bit stream without a last bit")
        self.data = data
        self.left = 8 * len(data) - 9 + data[-1].bit_length()

    def take(self, size):
        self.left -= size
        return bits_at(self.data, self.left, size)


def read_distribution(data, max_accuracy, max_symbol):
    """The accuracy and the distribution of an FSE table, and how many bytes they take."""
    accuracy, at = bits_at(data, 0, 4) + 5, 4
    must(accuracy <= max_accuracy, "accuracy %d" % accuracy)
    left, counts = 1 << accuracy, []
    while left > 0:
        must(len(counts) <= max_symbol, "too many symbols")
        size = (left + 1).bit_length()
        value, low = bits_at(data, at, size), (1 << size - 1) - 1
        threshold = (1 << size) - 1 - (left + 1)
        at += size
        if value & low < threshold:
            value, at = value & low, at - 1
        elif value > low:
            value -= threshold
        counts.append(value - 1)
        left -= abs(value - 1)
        repeat = 3 if value == 1 else 0
        while repeat == 3:
            repeat, at = bits_at(data, at, 2), at + 2
            counts += [0] * repeat
    must(left == 0 and len(counts) <= max_symbol + 1, "a distribution of another sum")
    used = (at + 7) // 8
    must(used <= len(data), "a distribution without an end")
    return accuracy, counts, used


def fse_table(accuracy, counts):
    """Symbol, further bits and base of each state."""
    size = 1 << accuracy
    symbols, following, high = [0] * size, {}, size
    for symbol, count in enumerate(counts):
        if count == -1:
            high -= 1
            symbols[high], following[symbol] = symbol, 1
    at = 0
    for symbol, count in enumerate(counts):
        if count > 0:
            following[symbol] = count
            for _ in range(count):
                symbols[at] = symbol
                at = at + (size >> 1) + (size >> 3) + 3 & size - 1
                while at >= high:
                    at = at + (size >> 1) + (size >> 3) + 3 & size - 1
    must(at == 0, "a distribution that does not fill its table")
    table = []
    for symbol in symbols:
        state = following[symbol]
        following[symbol] += 1
        bits = accuracy - state.bit_length() + 1
        table.append((symbol, bits, (state << bits) - size))
    return accuracy, table


def read_weights(data):
    """The weights of the Huffman symbols but the last, and how many bytes they take."""
    must(data, "no Huffman table")
    if data[0] >= 128:
        count = data[0] - 127
        used = 1 + (count + 1) // 2
        must(used <= len(data), "weights without an end")
        return [data[1 + n // 2] >> (4 if n % 2 == 0 else 0) & 15 for n in range(count)], used
    used = 1 + data[0]
    must(used <= len(data), "weights without an end")
    accuracy, counts, table_len = read_distribution(data[1:used], 6, 255)
    accuracy, table = fse_table(accuracy, counts)
    stream, weights = Backward(data[1 + table_len:used]), []
    states = [stream.take(accuracy), stream.take(accuracy)]
    must(stream.left >= 0, "weights without states")
    turn = 0
    while True:
        must(len(weights) < 254, "too many weights")
        symbol, bits, base = table[states[turn]]
        weights.append(symbol)
        states[turn] = base + stream.take(bits)
        turn = 1 - turn
        if stream.left < 0:
            weights.append(table[states[turn]][0])
            return weights, used


def huffman_table(weights):
    """The greatest length of a code, and symbol and length for each number of that many bits."""
    total = sum(1 << weight - 1 for weight in weights if weight)
    must(total > 0, "weights of zero")
    longest = total.bit_length()
    must(longest <= 11, "codes of %d bits" % longest)
    rest = (1 << longest) - total
    must(rest & rest - 1 == 0, "weights that do not make a tree")
    weights = weights + [rest.bit_length()]
    must(max(weights) <= longest, "a weight of more than all bits")
    table = []
    for weight in range(1, longest + 1):
        for symbol, other in enumerate(weights):
            if other == weight:
                table += [(symbol, longest + 1 - weight)] * (1 << weight - 1)
    must(len(table) == 1 << longest and weights.count(1) >= 2 and weights.count(1) % 2 == 0, "an incomplete tree")
    return longest, table


def huffman_stream(table, data, length):
    longest, table = table
    stream, content = Backward(data), bytearray()
    while len(content) < length:
        must(stream.left > 0, "a stream that ends too early")
        symbol, bits = table[bits_at(stream.data, stream.left - longest, longest)]
        stream.left -= bits
        content.append(symbol)
    must(stream.left == 0, "a stream that goes on")
    return content


class Decoder:
    """What blocks of a frame hand on."""

    def __init__(self, limit):
        self.content, self.limit = bytearray(), limit
        self.huffman = None
        self.tables = [None, None, None]
        self.offsets = [1, 4, 8]

    def compressed(self, block, max_len):
        literals, at = self.literals(block, max_len)
        start = len(self.content)
        self.sequences(block[at:], literals, start + max_len)

    def literals(self, block, max_len):
        """The literals of a block, and where its sequences start."""
        must(block, "an empty block")
        kind, form = block[0] & 3, block[0] >> 2 & 3
        if kind in (RAW, RLE):
            header_len, shift = ((1, 3), (2, 4), (1, 3), (3, 4))[form]
            length = int.from_bytes(block[:header_len], "little") >> shift
            end = header_len + (length if kind == RAW else 1)
            must(end <= len(block) and length <= max_len, "literals without an end")
            content = block[header_len:end]
            return (content if kind == RAW else content * length), end
        header_len, bits = ((3, 10), (3, 10), (4, 14), (5, 18))[form]
        header = int.from_bytes(block[:header_len], "little") >> 4
        length, stored = header & (1 << bits) - 1, header >> bits
        end = header_len + stored
        must(end <= len(block) and length <= max_len, "literals without an end")
        data = block[header_len:end]
        if kind == COMPRESSED:
            weights, used = read_weights(data)
            self.huffman, data = huffman_table(weights), data[used:]
        must(self.huffman is not None, "no Huffman table to repeat")
        if form == 0:
            return huffman_stream(self.huffman, data, length), end
        must(len(data) >= 6 and length >= 6, "no room for four streams")
        lens = [int.from_bytes(data[n:n + 2], "little") for n in (0, 2, 4)]
        lens.append(len(data) - 6 - sum(lens))
        must(lens[3] > 0, "no room for four streams")
        at, content, part = 6, bytearray(), (length + 3) // 4
        must(length >= 3 * part, "parts of more than all literals")
        for n, size in enumerate(lens):
            content += huffman_stream(self.huffman, data[at:at + size], part if n < 3 else length - 3 * part)
            at += size
        return content, end

    def sequences(self, data, literals, most):
        must(data, "no sequences")
        count, at = data[0], 1
        if count >= 128:
            must(len(data) >= 3, "sequences without an end")
            count, at = ((count - 128 << 8) + data[1], 2) if count < 255 else (data[1] + (data[2] << 8) + 0x7F00, 3)
        if count == 0:
            must(at == len(data), "bytes after the literals")
            self.append(literals, most)
            return
        must(at < len(data) and data[at] & 3 == 0, "reserved bits of the sequences")
        modes, at = data[at], at + 1
        for n, (max_accuracy, accuracy, counts) in enumerate((LENGTHS, OFFSETS, MATCHES)):
            at = self.read_table(n, modes >> 6 - 2 * n & 3, data, at, max_accuracy, accuracy, counts)
        stream, used = Backward(data[at:]), 0
        states = [stream.take(accuracy) for accuracy, _ in self.tables]
        for number in range(count):
            must(stream.left >= 0, "a stream that ends too early")
            (length, offset, match) = (table[state] for (_, table), state in zip(self.tables, states))
            value = (1 << offset[0]) + stream.take(offset[0])
            base, bits = MATCH_CODES[match[0]]
            match_len = base + stream.take(bits)
            base, bits = LENGTH_CODES[length[0]]
            literal_len = base + stream.take(bits)
            if number + 1 < count:
                for n in (0, 2, 1):
                    _, bits, base = (length, offset, match)[n]
                    states[n] = base + stream.take(bits)
            must(used + literal_len <= len(literals), "more literals than there are")
            self.append(literals[used:used + literal_len], most)
            used += literal_len
            self.copy(self.offset(value, literal_len), match_len, most)
        must(stream.left == 0, "a stream of another length")
        self.append(literals[used:], most)

    def read_table(self, n, mode, data, at, max_accuracy, accuracy, counts):
        """Reads one of the three tables, and returns where the next begins."""
        if mode == 0:
            self.tables[n] = fse_table(accuracy, counts)
        elif mode == 1:
            must(at < len(data) and data[at] < len(counts) + (3 if n == 1 else 0), "no symbol to repeat")
            self.tables[n], at = (0, [(data[at], 0, 0)]), at + 1
        elif mode == 2:
            accuracy, counts, used = read_distribution(data[at:], max_accuracy, len(counts) - 1 + (3 if n == 1 else 0))
            self.tables[n], at = fse_table(accuracy, counts), at + used
        must(self.tables[n] is not None, "no table to repeat")
        return at

    def offset(self, value, literal_len):
        if value > 3:
            offset, place = value - 3, 2
        else:
            place = value - 1 + (literal_len == 0)
            offset = self.offsets[place] if place < 3 else self.offsets[0] - 1
            place = min(place, 2)
        del self.offsets[place]
        self.offsets.insert(0, offset)
        return offset

    def append(self, content, most):
        must(len(self.content) + len(content) <= min(most, self.limit), "more content than there may be")
        self.content += content

    def copy(self, offset, length, most):
        must(0 < offset <= len(self.content), "a match before the content")
        must(len(self.content) + length <= min(most, self.limit), "more content than there may be")
        while length > 0:  # what was copied may be copied again
            start = len(self.content) - offset
            piece = self.content[start:start + length]
            self.content += piece
            length -= len(piece)


def decode(blocks, max_block_len, limit):
    """The content of a frame, from its blocks, which must end where the bytes do. At most `limit` bytes are held."""
    decoder, at, is_last = Decoder(limit), 0, False
    while not is_last:
        header = int.from_bytes(blocks[at:at + 3], "little")
        is_last, kind, length = header & 1 == 1, header >> 1 & 3, header >> 3
        at += 3
        stored = 1 if kind == RLE else length
        must(kind <= COMPRESSED and length <= max_block_len and at + stored <= len(blocks), "a block out of bounds")
        block, at = blocks[at:at + stored], at + stored
        if kind == COMPRESSED:
            decoder.compressed(block, max_block_len)
        else:
            decoder.append(block * (length if kind == RLE else 1), len(decoder.content) + max_block_len)
    must(at == len(blocks), "bytes after the last block")
    return bytes(decoder.content)

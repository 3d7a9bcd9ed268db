package main

// The blocks of a zstd frame, written from RFC 8878 for the packed arenas of section 6. Damage is a reason in words.

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
)

const (
	maxBlockLen = 1 << 17

	blockRaw        = 0
	blockRLE        = 1
	blockCompressed = 2
)

// fseState is a state of an FSE table: its symbol, and how the next state follows from further bits.
type fseState struct {
	symbol byte
	bits   int
	base   int
}

// fseTable has 2^accuracy states.
type fseTable struct {
	accuracy int
	states   []fseState
}

// codeRange says what a code stands for: base plus some further bits.
type codeRange struct {
	base uint64
	bits int
}

// fseKind describes one of the three tables of sequences: the greatest accuracy, the number of symbols, the predefined
// accuracy and distribution.
type fseKind struct {
	maxAccuracy, symbols, accuracy int
	counts                         []int
}

var (
	fseKinds = [3]fseKind{
		{9, 36, 6, runs(4, 1, 3, 1, 2, 11, 1, 3, 2, 9, 3, 1, 2, 1, 1, 5, -1, 4)},
		{8, 32, 5, runs(1, 6, 2, 3, 1, 15, -1, 5)},
		{9, 53, 6, runs(1, 1, 4, 1, 3, 1, 2, 6, 1, 37, -1, 7)},
	}
	lengthCodes = codes(0, 16, []codeRange{{16, 1}, {18, 1}, {20, 1}, {22, 1}, {24, 2}, {28, 2}, {32, 3}, {40, 3},
		{48, 4}}, 0, 6)
	matchCodes = codes(3, 32, []codeRange{{35, 1}, {37, 1}, {39, 1}, {41, 1}, {43, 2}, {47, 2}, {51, 3}, {59, 3},
		{67, 4}, {83, 4}, {99, 5}}, 3, 7)
)

// runs expands pairs of a value and how often it stands there.
func runs(pairs ...int) (all []int) {
	for i := 0; i < len(pairs); i += 2 {
		for n := 0; n < pairs[i+1]; n++ {
			all = append(all, pairs[i])
		}
	}
	return all
}

// codes returns single numbers from base on, then middle, then 2^n plus offset with n bits, up to n = 16.
func codes(base uint64, single int, middle []codeRange, offset uint64, from int) (all []codeRange) {
	for n := 0; n < single; n++ {
		all = append(all, codeRange{base + uint64(n), 0})
	}
	all = append(all, middle...)
	for n := from; n <= 16; n++ {
		all = append(all, codeRange{1<<n + offset, n})
	}
	return all
}

// bitsAt returns size bits from bit start on, at most 56. Bits outside of the data are zero.
func bitsAt(data []byte, start, size int) uint64 {
	if start < 0 {
		if size+start <= 0 {
			return 0
		}
		return bitsAt(data, 0, size+start) << -start
	}
	var load uint64
	for i := 0; i < 8 && start/8+i < len(data); i++ {
		load |= uint64(data[start/8+i]) << (8 * i)
	}
	return load >> (start % 8) & (1<<size - 1)
}

// backward is a bit stream that is read from its end. The highest bit set in its last byte stands before it.
type backward struct {
	data []byte
	left int
}

func newBackward(data []byte) (backward, error) {
	if len(data) == 0 || data[len(data)-1] == 0 {
		return backward{}, errors.New("a bit stream without a last bit")
	}
	return backward{data, 8*len(data) - 9 + bits.Len8(data[len(data)-1])}, nil
}

func (s *backward) take(size int) uint64 {
	s.left -= size
	return bitsAt(s.data, s.left, size)
}

// readDistribution returns the accuracy and the distribution of an FSE table, and how many bytes they take.
func readDistribution(data []byte, maxAccuracy, symbols int) (accuracy int, counts []int, used int, err error) {
	accuracy = int(bitsAt(data, 0, 4)) + 5
	if accuracy > maxAccuracy {
		return 0, nil, 0, fmt.Errorf("accuracy %d", accuracy)
	}
	at, left := 4, 1<<accuracy
	for left > 0 {
		if len(counts) >= symbols {
			return 0, nil, 0, errors.New("too many symbols")
		}
		size := bits.Len(uint(left + 1))
		value, low := int(bitsAt(data, at, size)), 1<<(size-1)-1
		threshold := 1<<size - 1 - (left + 1)
		at += size
		if value&low < threshold {
			value, at = value&low, at-1
		} else if value > low {
			value -= threshold
		}
		counts = append(counts, value-1)
		left -= max(value-1, 1-value)
		for repeat := 3; value == 1 && repeat == 3; at += 2 {
			repeat = int(bitsAt(data, at, 2))
			counts = append(counts, make([]int, repeat)...)
			if len(counts) > symbols {
				break
			}
		}
	}
	used = (at + 7) / 8
	if left != 0 || len(counts) > symbols || used > len(data) {
		return 0, nil, 0, errors.New("a distribution of another sum or without an end")
	}
	return accuracy, counts, used, nil
}

func newFseTable(accuracy int, counts []int) (fseTable, error) {
	size := 1 << accuracy
	states, following, high, at := make([]fseState, size), make([]int, len(counts)), size, 0
	for symbol, count := range counts {
		if count == -1 {
			high--
			states[high].symbol, following[symbol] = byte(symbol), 1
		}
	}
	for symbol, count := range counts {
		for n := 0; n < count; n++ {
			following[symbol] = count
			states[at].symbol = byte(symbol)
			for at = (at + size>>1 + size>>3 + 3) & (size - 1); at >= high; {
				at = (at + size>>1 + size>>3 + 3) & (size - 1)
			}
		}
	}
	if at != 0 {
		return fseTable{}, errors.New("a distribution that does not fill its table")
	}
	for i := range states {
		state := &states[i]
		next := following[state.symbol]
		following[state.symbol]++
		state.bits = accuracy - bits.Len(uint(next)) + 1
		state.base = next<<state.bits - size
	}
	return fseTable{accuracy, states}, nil
}

// readWeights returns the weights of all Huffman symbols but the last, and how many bytes they take.
func readWeights(data []byte) (weights []byte, used int, err error) {
	if len(data) == 0 {
		return nil, 0, errors.New("no Huffman table")
	}
	if data[0] >= 128 {
		count := int(data[0]) - 127
		used = 1 + (count+1)/2
		for n := 0; n < count && used <= len(data); n++ {
			weights = append(weights, data[1+n/2]>>(4-4*(n%2))&15)
		}
	} else {
		used = 1 + int(data[0])
	}
	if used > len(data) {
		return nil, 0, errors.New("weights without an end")
	}
	if data[0] >= 128 {
		return weights, used, nil
	}
	accuracy, counts, tableLen, err := readDistribution(data[1:used], 6, 256)
	if err != nil {
		return nil, 0, err
	}
	table, err := newFseTable(accuracy, counts)
	if err != nil {
		return nil, 0, err
	}
	stream, err := newBackward(data[1+tableLen : used])
	if err != nil {
		return nil, 0, err
	}
	states := [2]int{int(stream.take(accuracy)), int(stream.take(accuracy))}
	if stream.left < 0 {
		return nil, 0, errors.New("weights without states")
	}
	for turn := 0; ; turn = 1 - turn {
		if len(weights) >= 254 {
			return nil, 0, errors.New("too many weights")
		}
		state := table.states[states[turn]]
		weights = append(weights, state.symbol)
		states[turn] = state.base + int(stream.take(state.bits))
		if stream.left < 0 {
			return append(weights, table.states[states[1-turn]].symbol), used, nil
		}
	}
}

// huffmanTable has a symbol and the bits of its code for each number of that many bits.
type huffmanTable struct {
	longest int
	symbols []fseState
}

func newHuffmanTable(weights []byte) (*huffmanTable, error) {
	total, ones := 0, 0
	for _, weight := range weights {
		if weight > 11 {
			return nil, errors.New("a code of too many bits")
		}
		total += 1 << weight >> 1
	}
	longest := bits.Len(uint(total))
	rest := 1<<longest - total
	if total == 0 || longest > 11 || rest&(rest-1) != 0 {
		return nil, errors.New("weights that do not make a tree")
	}
	weights = append(weights, byte(bits.Len(uint(rest))))
	table := &huffmanTable{longest: longest}
	for weight := 1; weight <= longest; weight++ {
		for symbol, other := range weights {
			for n := 0; int(other) == weight && n < 1<<(weight-1); n++ {
				table.symbols = append(table.symbols, fseState{symbol: byte(symbol), bits: longest + 1 - weight})
			}
			if weight == 1 && other == 1 {
				ones++
			}
		}
	}
	if len(table.symbols) != 1<<longest || ones < 2 || ones%2 != 0 {
		return nil, errors.New("an incomplete tree")
	}
	return table, nil
}

func (t *huffmanTable) decode(data []byte, length int) ([]byte, error) {
	stream, err := newBackward(data)
	if err != nil {
		return nil, err
	}
	var content []byte
	for len(content) < length {
		if stream.left <= 0 {
			return nil, errors.New("a stream that ends too early")
		}
		symbol := t.symbols[bitsAt(stream.data, stream.left-t.longest, t.longest)]
		stream.left -= symbol.bits
		content = append(content, symbol.symbol)
	}
	if stream.left != 0 {
		return nil, errors.New("a stream of another length")
	}
	return content, nil
}

// zstdDecoder is what the blocks of a frame hand on.
type zstdDecoder struct {
	content []byte
	limit   int // of the content, in bytes
	most    int // of the content up to the end of the block
	huffman *huffmanTable
	tables  [3]fseTable
	offsets [3]int
}

// decodeBlocks returns the content of a frame from its blocks, which must end where the bytes do. It holds at most limit
// bytes.
func decodeBlocks(data []byte, maxLen, limit int) ([]byte, error) {
	d := zstdDecoder{limit: limit, offsets: [3]int{1, 4, 8}}
	for isLast := false; !isLast; {
		if len(data) < 3 {
			return nil, errors.New("a frame without a last block")
		}
		header := int(data[0]) | int(data[1])<<8 | int(data[2])<<16
		kind, length := header>>1&3, header>>3
		isLast, data = header&1 == 1, data[3:]
		stored := length
		if kind == blockRLE {
			stored = 1
		}
		if kind > blockCompressed || length > maxLen || stored > len(data) {
			return nil, errors.New("a block out of bounds")
		}
		block := data[:stored]
		data = data[stored:]
		d.most = min(len(d.content)+maxLen, limit)
		var err error
		switch kind {
		case blockCompressed:
			err = d.compressed(block, maxLen)
		case blockRaw:
			err = d.append(block)
		case blockRLE:
			for n := 0; n < length && err == nil; n++ {
				err = d.append(block)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	if len(data) > 0 {
		return nil, errors.New("bytes after the last block")
	}
	return d.content, nil
}

func (d *zstdDecoder) append(content []byte) error {
	if len(d.content)+len(content) > d.most {
		return errors.New("more content than there may be")
	}
	d.content = append(d.content, content...)
	return nil
}

func (d *zstdDecoder) compressed(block []byte, maxLen int) error {
	literals, sequences, err := d.literals(block, maxLen)
	if err != nil {
		return err
	}
	return d.sequences(sequences, literals)
}

// literals returns the literals of a block, and the bytes after them.
func (d *zstdDecoder) literals(block []byte, maxLen int) (content, rest []byte, err error) {
	short := errors.New("literals without an end")
	if len(block) == 0 {
		return nil, nil, errors.New("an empty block")
	}
	kind, form := block[0]&3, block[0]>>2&3
	if kind <= blockRLE {
		headerLen, shift := [4]int{1, 2, 1, 3}[form], [4]int{3, 4, 3, 4}[form]
		length := int(bitsAt(block, shift, 8*headerLen-shift))
		stored := length
		if kind == blockRLE {
			stored = 1
		}
		if headerLen+stored > len(block) || length > maxLen {
			return nil, nil, short
		}
		content, rest = block[headerLen:headerLen+stored], block[headerLen+stored:]
		if kind == blockRLE {
			content = bytes.Repeat(content, length)
		}
		return content, rest, nil
	}
	headerLen, size := [4]int{3, 3, 4, 5}[form], [4]int{10, 10, 14, 18}[form]
	length, stored := int(bitsAt(block, 4, size)), int(bitsAt(block, 4+size, size))
	if headerLen+stored > len(block) || length > maxLen {
		return nil, nil, short
	}
	data, rest := block[headerLen:headerLen+stored], block[headerLen+stored:]
	if kind == blockCompressed {
		weights, used, err := readWeights(data)
		if err != nil {
			return nil, nil, err
		}
		if d.huffman, err = newHuffmanTable(weights); err != nil {
			return nil, nil, err
		}
		data = data[used:]
	}
	if d.huffman == nil {
		return nil, nil, errors.New("no Huffman table to repeat")
	}
	if form == 0 {
		content, err = d.huffman.decode(data, length)
		return content, rest, err
	}
	part := (length + 3) / 4
	if len(data) < 6 || length < 6 || length < 3*part {
		return nil, nil, errors.New("no room for four streams")
	}
	streams := data[6:]
	for n := 0; n < 4; n++ {
		streamLen, partLen := len(streams), length-3*part
		if n < 3 {
			streamLen, partLen = int(le.Uint16(data[2*n:])), part
		}
		if streamLen > len(streams) {
			return nil, nil, errors.New("no room for four streams")
		}
		decoded, err := d.huffman.decode(streams[:streamLen], partLen)
		if err != nil {
			return nil, nil, err
		}
		content, streams = append(content, decoded...), streams[streamLen:]
	}
	return content, rest, nil
}

func (d *zstdDecoder) sequences(data, literals []byte) error {
	short := errors.New("sequences without an end")
	if len(data) == 0 {
		return short
	}
	count, used := int(data[0]), 1
	switch {
	case count >= 128 && len(data) < 3:
		return short
	case count == 255:
		count, used = int(data[1])+int(data[2])<<8+0x7F00, 3
	case count >= 128:
		count, used = (count-128)<<8+int(data[1]), 2
	}
	data = data[used:]
	if count == 0 {
		if len(data) > 0 {
			return errors.New("bytes after the literals")
		}
		return d.append(literals)
	}
	if len(data) == 0 || data[0]&3 != 0 {
		return errors.New("reserved bits of the sequences")
	}
	modes := data[0]
	data = data[1:]
	var err error
	for n := range d.tables {
		if data, err = d.readTable(n, modes>>(6-2*n)&3, data); err != nil {
			return err
		}
	}
	stream, err := newBackward(data)
	if err != nil {
		return err
	}
	var states [3]int
	for n, table := range d.tables {
		states[n] = int(stream.take(table.accuracy))
	}
	for number := 0; number < count; number++ {
		if stream.left < 0 {
			return errors.New("a stream that ends too early")
		}
		var of [3]fseState
		for n, table := range d.tables {
			of[n] = table.states[states[n]]
		}
		value := 1<<of[1].symbol + int(stream.take(int(of[1].symbol)))
		match, length := matchCodes[of[2].symbol], lengthCodes[of[0].symbol]
		matchLen := int(match.base + stream.take(match.bits))
		literalLen := int(length.base + stream.take(length.bits))
		for _, n := range []int{0, 2, 1} {
			if number+1 < count {
				states[n] = of[n].base + int(stream.take(of[n].bits))
			}
		}
		if literalLen > len(literals) {
			return errors.New("more literals than there are")
		}
		if err = d.append(literals[:literalLen]); err != nil {
			return err
		}
		literals = literals[literalLen:]
		if err = d.copy(d.offset(value, literalLen), matchLen); err != nil {
			return err
		}
	}
	if stream.left != 0 {
		return errors.New("a stream of another length")
	}
	return d.append(literals)
}

// readTable reads one of the three tables and returns the bytes after it.
func (d *zstdDecoder) readTable(n int, mode byte, data []byte) (rest []byte, err error) {
	kind := fseKinds[n]
	switch mode {
	case 0:
		d.tables[n], err = newFseTable(kind.accuracy, kind.counts)
	case 1:
		if len(data) == 0 || int(data[0]) >= kind.symbols {
			return nil, errors.New("no symbol to repeat")
		}
		d.tables[n], data = fseTable{0, []fseState{{symbol: data[0]}}}, data[1:]
	case 2:
		accuracy, counts, used, err := readDistribution(data, kind.maxAccuracy, kind.symbols)
		if err != nil {
			return nil, err
		}
		if d.tables[n], err = newFseTable(accuracy, counts); err != nil {
			return nil, err
		}
		data = data[used:]
	}
	if d.tables[n].states == nil {
		return nil, errors.New("no table to repeat")
	}
	return data, err
}

// offset returns the offset of a match, and notes it.
func (d *zstdDecoder) offset(value, literalLen int) int {
	offset, place := value-3, 2
	if value <= 3 {
		place = value - 1
		if literalLen == 0 {
			place++
		}
		if offset = d.offsets[0] - 1; place < 3 {
			offset = d.offsets[place]
		}
		place = min(place, 2)
	}
	copy(d.offsets[1:place+1], d.offsets[:place])
	d.offsets[0] = offset
	return offset
}

// copy appends a match, byte by byte: what was copied may be copied again.
func (d *zstdDecoder) copy(offset, length int) error {
	if offset <= 0 || offset > len(d.content) || len(d.content)+length > d.most {
		return errors.New("a match out of bounds")
	}
	for ; length > 0; length-- {
		d.content = append(d.content, d.content[len(d.content)-offset])
	}
	return nil
}

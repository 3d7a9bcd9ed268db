package main

// Section 10: metric metadata.

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

const metricsHeaderLen = 16

// Fields of a METRIC record.
const metricName, metricType, metricTemporality, metricMonotonic, metricUnit, metricDescription = 0, 1, 2, 3, 4, 5

var (
	typeWords = []string{"unknown", "gauge", "sum", "histogram", "exponential-histogram", "summary", "gauge-histogram",
		"info", "state-set"}
	temporalityWords = []string{"unspecified", "delta", "cumulative"}
	monotonicWords   = []string{"not-monotonic", "monotonic"}
)

// metrics gives access to the metric metadata in place.
type metrics struct {
	data        []byte
	rows, texts records
	bytes       []byte // of the texts
}

// readMetrics reads the head of the section.
func (b *block) readMetrics(data []byte) (m metrics, ok bool) {
	if !b.must(len(data) >= metricsHeaderLen, "metric-header", "%d bytes do not hold it", len(data)) {
		return m, false
	}
	m.data = data
	m.rows = records{data, metricsHeaderLen, uint64(le.Uint32(data)), data[8:14]}
	m.texts = records{data, 0, uint64(le.Uint32(data[4:])), data[14:15]}
	if !b.must(m.rows.count > 0 && within(m.rows.widths, 32, 32, 32, 32, 32, 32) && within(m.texts.widths, 48) &&
		m.rows.bounded() && m.texts.bounded(), "metric-header", "%d rows of %d bits, %d texts of %d bits",
		m.rows.count, m.rows.widths, m.texts.count, m.texts.widths) {
		return m, false
	}
	m.texts.start = m.rows.end()
	at := m.texts.end() + closingLen
	if !b.must(at <= uint64(len(data)), "metric-length", "%d bytes, texts start at %d", len(data), at) {
		return m, false
	}
	m.bytes = data[at:]
	end := uint64(0)
	if m.texts.count > 0 {
		end = m.texts.get(m.texts.count-1, 0)
	}
	return m, b.must(end == uint64(len(m.bytes)), "metric-length", "%d bytes of texts, should be %d", len(m.bytes), end)
}

// metricText returns the text that a field of a row says: 0 is the empty text.
func (b *block) metricText(m *metrics, n uint64) []byte {
	if n == 0 || !b.must(n <= m.texts.count, "metric-values", "text %d of %d", n, m.texts.count) {
		return nil
	}
	from, to := uint64(0), m.texts.get(n-1, 0)
	if n > 1 {
		from = m.texts.get(n-2, 0)
	}
	if !b.must(from < to && to-from <= maxMetricTextLen && to <= uint64(len(m.bytes)), "metric-text-ends",
		"text %d is [%d, %d) of %d bytes", n-1, from, to, len(m.bytes)) {
		return nil
	}
	return m.bytes[from:to]
}

// checkMetrics checks the rules of class R.
func (b *block) checkMetrics(m *metrics) {
	var before []byte
	for n := uint64(1); n <= m.texts.count && b.err == nil; n++ {
		text := b.metricText(m, n)
		b.must(bytes.Compare(before, text) < 0, "metric-text-order", "text %d %q stands after %q", n-1, text, before)
		b.must(utf8.Valid(text), "metric-text-utf8", "text %d %q", n-1, text)
		before = text
	}
	rowBefore, row := make([]uint64, 6), make([]uint64, 6)
	for r := uint64(0); r < m.rows.count && b.err == nil; r++ {
		for f := range row {
			row[f] = m.rows.get(r, f)
		}
		b.must(row[metricName] > 0 && row[metricType] < uint64(len(typeWords)) &&
			row[metricTemporality] < uint64(len(temporalityWords)) &&
			row[metricMonotonic] < uint64(len(monotonicWords)) &&
			max(row[metricName], row[metricUnit], row[metricDescription]) <= m.texts.count, "metric-values",
			"row %d is %d, there are %d texts", r, row, m.texts.count)
		b.must(slices.Compare(rowBefore, row) < 0, "metric-order", "row %d is %d, after %d", r, row, rowBefore)
		rowBefore, row = row, rowBefore
	}
}

// checkMetricForm checks the rules of class C.
func (b *block) checkMetricForm(m *metrics) {
	b.must(m.rows.tight() && m.texts.tight(), "metric-widths", "row_widths %d, text_widths %d", m.rows.widths,
		m.texts.widths)
	end := m.texts.end()
	b.must(m.data[15] == 0 && zeroAfter(m.data, m.rows.endBit()) && zeroAfter(m.data, m.texts.endBit()) &&
		allZero(m.data[end:end+closingLen]), "metric-padding", "reserved or unused bits are not zero")
	used := newBitset(m.texts.count + 1)
	used.add(0)
	for r := uint64(0); r < m.rows.count; r++ {
		for _, f := range []int{metricName, metricUnit, metricDescription} {
			used.add(m.rows.get(r, f))
		}
	}
	i := used.missing(m.texts.count + 1)
	b.must(i == m.texts.count+1, "metric-text-used", "text %d is not used", i-1)
}

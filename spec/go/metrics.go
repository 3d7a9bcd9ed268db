package main

// METRICS.md: metric metadata.

import "slices"

const (
	metricsHeaderLen = 16
	maxMetricTextLen = 65535
)

// Fields of a METRIC record.
const metricName, metricType, metricTemporality, metricMonotonic, metricUnit, metricDescription = 0, 1, 2, 3, 4, 5

// metricWords are the words for the numbers of some fields.
var metricWords = map[int][]string{
	metricType: {"unknown", "gauge", "sum", "histogram", "exponential-histogram", "summary", "gauge-histogram", "info",
		"state-set"},
	metricTemporality: {"unspecified", "delta", "cumulative"},
	metricMonotonic:   {"not-monotonic", "monotonic"},
}

// metrics gives access to the metric metadata in place.
type metrics struct {
	data        []byte
	rows, texts records
	bytes       []byte // of the texts
}

// readMetrics reads the section, if there is one. Only an archive can have a packed one. It checks the rules of class R.
func (b *block) readMetrics() {
	data, plain := b.section(kindMetrics)
	packed, isPacked := b.section(kindPackedMetrics)
	isPacked = isPacked && b.Incompat&isArchive != 0
	for _, s := range b.sections {
		must(s.Kind != kindMetrics || s.ID == 0, "metric-header", "the section has id %d", s.ID)
		must(!isPacked || s.Kind != kindPackedMetrics || s.ID == 0 && !plain, "packed-header", "packed metrics, id %d", s.ID)
	}
	if isPacked {
		data = unpack(packed)
	} else if !plain {
		return
	}
	must(len(data) >= metricsHeaderLen, "metric-header", "%d bytes do not hold it", len(data))
	m := &metrics{data: data}
	b.metrics = m
	m.rows = records{data, 8 * metricsHeaderLen, uint64(le.Uint32(data)), data[8:14]}
	m.rows.mustFit("metric-header", 32, 32, 32, 32, 32, 32)
	must(m.rows.count > 0, "metric-header", "no rows")
	m.texts = records{data, 8 * wholeBytes(m.rows.end()), uint64(le.Uint32(data[4:])), data[14:15]}
	m.texts.mustFit("metric-header", 48)
	at, end := wholeBytes(m.texts.end())+closingLen, uint64(0)
	must(at <= uint64(len(data)), "metric-length", "%d bytes, texts start at %d", len(data), at)
	m.bytes = data[at:]
	if m.texts.count > 0 {
		end = m.texts.get(m.texts.count-1, 0)
	}
	must(end == uint64(len(m.bytes)), "metric-length", "%d bytes of texts, should be %d", len(m.bytes), end)
	mustBeTexts("metric-text-order", "metric-text-utf8", m.texts.count, func(i uint64) []byte { return m.text(i + 1) })
	before, row := make([]uint64, 6), make([]uint64, 6)
	for r := uint64(0); r < m.rows.count; r++ {
		for f := range row {
			row[f] = m.rows.get(r, f)
		}
		must(row[metricName] > 0 && max(row[metricName], row[metricUnit], row[metricDescription]) <= m.texts.count,
			"metric-values", "row %d is %d, there are %d texts", r, row, m.texts.count)
		must(slices.Compare(before, row) < 0, "metric-order", "row %d is %d, after %d", r, row, before)
		before, row = row, before
	}
}

// text returns the text that a field of a row says: 0 is the empty text.
func (m *metrics) text(n uint64) []byte {
	if n == 0 {
		return nil
	}
	from, to := uint64(0), m.texts.get(n-1, 0)
	if n > 1 {
		from = m.texts.get(n-2, 0)
	}
	must(from < to && to-from <= maxMetricTextLen && to <= uint64(len(m.bytes)), "metric-text-ends",
		"text %d is [%d, %d) of %d bytes", n-1, from, to, len(m.bytes))
	return m.bytes[from:to]
}

// word returns a field of row r as the dump shows it.
func (m *metrics) word(r uint64, f int) string {
	n := m.rows.get(r, f)
	if metricWords[f] == nil {
		return quote(string(m.text(n)))
	}
	return word(metricWords[f], n)
}

// checkMetricForm checks the rules of class C.
func (b *block) checkMetricForm() {
	m := b.metrics
	if m == nil {
		return
	}
	m.rows.mustBeTight("metric-widths")
	m.texts.mustBeTight("metric-widths")
	must(m.data[15] == 0, "metric-padding", "reserved is not zero")
	mustPad("metric-padding", m.data, m.rows.end(), m.texts.end())
	used := make([]bool, m.texts.count+1)
	used[0] = true
	for r := uint64(0); r < m.rows.count; r++ {
		for _, f := range []int{metricName, metricUnit, metricDescription} {
			used[m.rows.get(r, f)] = true
		}
	}
	mustBeUsed(used, "metric-text-used", "text that counts from 1,")
}

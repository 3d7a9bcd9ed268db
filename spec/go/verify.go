package main

// Section 15: reading and verifying.

// openToRead opens a block for lookups. It checks the chunks, and of the sections all but their rows, lists, anchors
// and symbols. All its rules are of class R. What a lookup yields holds if b.err is nil then.
func openToRead(file []byte) (*block, error) {
	b, err := open(file)
	if err != nil {
		return b, err
	}
	b.checkChunks()
	_ = b.err == nil && b.readCatalogue() && b.readSymbols() && b.readMeta() && b.readTables() && b.readKeysets()
	return b, b.err
}

// verifyReading checks all rules of class R. It returns the metric metadata, nil if there is none.
func verifyReading(file []byte) (b *block, m *metrics, err error) {
	if b, err = openToRead(file); err != nil {
		return b, nil, err
	}
	b.checkChecks()
	if data, found := b.section(kindMetrics); found {
		section, ok := b.readMetrics(data)
		if m = &section; ok {
			b.checkMetrics(m)
		}
	}
	for _, check := range []func(){b.checkSymbols, b.checkRows, b.checkPools, b.checkKeysets, b.checkMeta} {
		if b.err == nil {
			check()
		}
	}
	return b, m, b.err
}

// verify checks all rules, or if the block has unknown bits in ro_compat, those of class R. It returns these bits.
func verify(file []byte) (unknown uint32, err error) {
	b, m, err := verifyReading(file)
	if err != nil || b.RoCompat != 0 {
		return b.RoCompat, err
	}
	b.checkCatalogueForm()
	b.checkSymbolForm()
	b.checkMetaForm()
	b.checkTableForm()
	b.checkPoolForm()
	if m != nil {
		b.checkMetricForm(m)
	}
	return 0, b.err
}

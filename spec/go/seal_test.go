package main

import (
	"hash/crc32"
	"math"
)

// seal makes the id and all checksums of a file right, as far as its header and directory allow.
func seal(file []byte) {
	if len(file) < headerLen {
		return
	}
	b := &block{file: file}
	decode(file, &b.header)
	end := headerLen + uint64(b.SectionCount)*entryLen
	if b.SectionCount > 0 && end <= uint64(len(file)) {
		b.sections = make([]section, b.SectionCount)
		decode(file[headerLen:end], b.sections)
		sound := true
		b.sectionsEnd = end
		for _, s := range b.sections {
			sound = sound && s.Offset == b.sectionsEnd && s.Length <= uint64(len(file))-b.sectionsEnd
			if sound {
				b.sectionsEnd += s.Length
			}
		}
		if b.frontEnd = min(end+b.sections[0].Length, uint64(len(file))); b.frontEnd < end {
			b.frontEnd = uint64(len(file))
		}
		if sound {
			if b.sections[0].Length >= 120 {
				decode(file[end:], &b.metaHeader)
			}
			b.ID = b.blockID()
			copy(file[24:], b.ID[:])
		}
		checks := file[b.sectionsEnd:]
		for n := uint64(0); n < b.chunks() && 4*n+4 <= uint64(len(checks)); n++ {
			le.PutUint32(checks[4*n:], b.chunkChecksum(n))
		}
		le.PutUint32(file[52:], b.crc(file[headerLen:b.frontEnd]))
		le.PutUint32(file[56:], b.crc(le.AppendUint64(nil, math.MaxUint64), checks))
	}
	sealHeader(file)
}

func sealHeader(file []byte) { le.PutUint32(file[60:], crc32.ChecksumIEEE(file[:60])) }

// sealIdentity makes the fingerprint right too, if nothing else is wrong.
func sealIdentity(file []byte) {
	seal(file)
	if b, err := read(file); err != nil && err.(*ruleError).rule == "fingerprint" {
		fingerprint, start := b.fingerprint(), headerLen+len(b.sections)*entryLen
		le.PutUint64(file[start+16:], fingerprint[0])
		le.PutUint64(file[start+24:], fingerprint[1])
		seal(file)
	}
}

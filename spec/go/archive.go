package main

// ARCHIVE.md: packed sections.

const (
	maxPackedWindow = 8388608
	maxPackedRatio  = 256
	freePackedLen   = 1048576
	maxPackedLen    = 1<<48 - 1
	packedHeaderLen = 8
)

// unpack returns the content of a packed section.
func unpack(data []byte) []byte {
	must(len(data) >= packedHeaderLen, "packed-header", "%d bytes do not hold it", len(data))
	contentLen, frame := le.Uint64(data), data[packedHeaderLen:]
	most := min(maxPackedLen, max(freePackedLen, maxPackedRatio*uint64(len(frame))))
	must(contentLen <= most, "packed-header", "content of %d bytes, at most %d", contentLen, most)
	blocks, window := readFrameHeader(frame, contentLen)
	// One byte more is an error too.
	content, err := decodeBlocks(blocks, int(min(window, maxBlockLen)), int(contentLen)+1)
	must(err == nil, "packed-frame", "%v", err)
	must(uint64(len(content)) == contentLen, "packed-length", "%d bytes, should be %d", len(content), contentLen)
	return content
}

// readFrameHeader returns the bytes after the header of a frame, and its window.
func readFrameHeader(frame []byte, contentLen uint64) (blocks []byte, window uint64) {
	must(len(frame) >= 6 && string(frame[:4]) == "\x28\xB5\x2F\xFD", "packed-frame", "not a frame")
	descriptor, at := frame[4], 5
	isSingle := descriptor&32 != 0
	if !isSingle {
		window = 1 << (10 + frame[at]>>3)
		window += window / 8 * uint64(frame[at]&7)
		at++
	}
	size := 1 << (descriptor >> 6)
	if size == 1 && !isSingle {
		size = 0
	}
	must(descriptor&31 == 0 && len(frame) >= at+size, "packed-frame", "features %#x", descriptor&31)
	if size > 0 {
		var stated [8]byte
		copy(stated[:], frame[at:at+size])
		frameLen := le.Uint64(stated[:])
		if size == 2 {
			frameLen += 256
		}
		if isSingle {
			window = frameLen
		}
		must(frameLen == contentLen, "packed-length", "%d bytes, should be %d", frameLen, contentLen)
	}
	must(window <= maxPackedWindow, "packed-frame", "a window of %d bytes", window)
	return frame[at+size:], window
}

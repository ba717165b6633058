package mpa

// A second implementation of markers (RFC 5044 section 4.3). It works byte by byte, and shares
// nothing with the first one.

// markedStream puts FPDUs and markers into a stream.
type markedStream struct {
	base  int // position of the first byte of out
	out   []byte
	start int            // position of the FPDU's length
	flips map[int]uint32 // bits of markers to flip, by position
	found []int          // positions of markers
	most  int            // the largest pointer
}

func (s *markedStream) pos() int { return s.base + len(s.out) }

// marker puts one if it is due.
func (s *markedStream) marker(pointer int) {
	if s.pos()%512 != 0 {
		return
	}
	s.found = append(s.found, s.pos())
	s.most = max(s.most, pointer)
	word := uint32(pointer)&0xffff ^ s.flips[s.pos()]
	s.out = append(s.out, byte(word>>24), byte(word>>16), byte(word>>8), byte(word))
}

// put puts a byte.
func (s *markedStream) put(c byte) {
	s.marker(s.pos() - s.start)
	s.out = append(s.out, c)
}

// fpdu puts the FPDU of a ULPDU. Pointers that do not fit in 16 bits are truncated.
func (s *markedStream) fpdu(ulpdu []byte, crc bool) {
	begin := len(s.out)
	s.marker(0)
	s.start = s.pos()
	s.put(byte(len(ulpdu) / 256))
	s.put(byte(len(ulpdu) % 256))
	for _, c := range ulpdu {
		s.put(c)
	}
	for n := 2 + len(ulpdu); n%4 != 0; n++ {
		s.put(0)
	}
	s.marker(s.pos() - s.start)
	sum := uint32(0)
	if crc {
		sum = crc32c(s.out[begin:])
	}
	for range 4 {
		s.put(byte(sum))
		sum >>= 8
	}
}

// markedOf returns ULPDUs of the sizes, and the stream of their FPDUs from position base on.
func markedOf(base int, crc bool, sizes ...int) (ulpdus [][]byte, s *markedStream) {
	s = &markedStream{base: base}
	for i, n := range sizes {
		ulpdus = append(ulpdus, text(n, i))
		s.fpdu(ulpdus[i], crc)
	}
	return ulpdus, s
}

// unmarkedStream takes the FPDUs out of a stream.
type unmarkedStream struct {
	crc     bool
	pos     int // position of the next byte
	start   int // position of the FPDU's length
	marker  int // the part of a marker received so far, as a number
	wrong   bool
	covered []byte // the part of the FPDU received so far, with its markers
	fpdu    []byte // the FPDU without markers
	ulpdus  [][]byte
	err     error
}

// take takes a byte. After an error it ignores bytes.
func (s *unmarkedStream) take(c byte) {
	if s.err != nil {
		return
	}
	s.covered = append(s.covered, c)
	at := s.pos
	s.pos++
	if at%512 < 4 {
		s.marker = s.marker<<8 + int(c)
		if at%512 == 3 {
			s.point(at - 3)
		}
		return
	}
	if len(s.fpdu) == 0 {
		s.start = at
	}
	s.fpdu = append(s.fpdu, c)
	if len(s.fpdu) < 2 {
		return
	}
	n := int(s.fpdu[0])*256 + int(s.fpdu[1])
	whole := 2 + n
	for whole%4 != 0 {
		whole++
	}
	switch {
	case n < 14:
		s.err = ErrLength
	case len(s.fpdu) == whole+4:
		s.end(n)
	}
}

// point checks the complete marker at a position.
func (s *unmarkedStream) point(at int) {
	want := 0
	if len(s.fpdu) > 0 {
		want = at - s.start
	}
	if s.marker%65536/4*4 != want {
		s.wrong = true
	}
	s.marker = 0
}

// end checks the complete FPDU of a ULPDU of n bytes.
func (s *unmarkedStream) end(n int) {
	body := len(s.covered) - 4
	sum := crc32c(s.covered[:body])
	for _, c := range s.covered[body:] {
		if s.crc && c != byte(sum) {
			s.err = ErrCRC
			return
		}
		sum >>= 8
	}
	if s.wrong {
		s.err = ErrMarker
		return
	}
	s.ulpdus = append(s.ulpdus, s.fpdu[2:2+n])
	s.covered, s.fpdu = nil, nil
}

// unmarkAll takes the FPDUs out of a whole stream that begins at position base.
func unmarkAll(base int, stream []byte, crc bool) *unmarkedStream {
	s := &unmarkedStream{crc: crc, pos: base}
	for _, c := range stream {
		s.take(c)
	}
	return s
}

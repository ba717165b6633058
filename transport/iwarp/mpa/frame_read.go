package mpa

import "io"

// readFrame reads one frame, a reply or a request as f says, and not a byte that follows it: these
// are FPDUs. A key that cannot become right is noticed at its first wrong byte: a peer of another
// protocol, who may be waiting for us by then, does not hold us up.
//
// It returns how many bytes it took. It fails with io.EOF if the peer closed before the first byte,
// with io.ErrUnexpectedEOF if it did later, with an error that wraps ErrFrame, or with that of r.
func readFrame(r io.Reader, f *Frame) (int, error) {
	if own, ok := r.(FrameConn); ok {
		return own.ReadFrame(f)
	}
	var h [frameHeaderLen]byte
	key := f.key()
	n := 0
	for n < len(h) {
		m, err := r.Read(h[n:])
		n += m
		if k := min(n, keyLen); string(h[:k]) != key[:k] {
			return n, wrongKey(h[:n])
		}
		if err != nil && n < len(h) {
			return n, inFrame(err, n)
		}
	}
	private, err := f.parseHeader(h)
	if err != nil || private == 0 {
		return n, err
	}
	f.PrivateData = make([]byte, private)
	m, err := io.ReadFull(r, f.PrivateData)
	n += m
	return n, inFrame(err, n)
}

// inFrame tells an end inside a frame, of which n bytes have come, from one in front of it.
func inFrame(err error, n int) error {
	if err == io.EOF && n > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}

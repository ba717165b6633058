package mpa

import "io"

// readFrame reads one frame, a reply or a request as f.Reply says, and not a byte of the FPDUs that
// follow it. It notices a wrong key at its first wrong byte. A peer of another protocol may be
// waiting for us by then, so to wait for more could take forever.
//
// It returns how many bytes it took. It fails with
//
//   - io.EOF, if the peer closed before the first byte;
//   - io.ErrUnexpectedEOF, if the peer closed later;
//   - an error that wraps ErrFrame;
//   - an error of r.
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

// inFrame turns io.EOF into io.ErrUnexpectedEOF if n bytes of a frame have come.
func inFrame(err error, n int) error {
	if err == io.EOF && n > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}

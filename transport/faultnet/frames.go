package faultnet

import "io"

// Frames is a network of Ethernet frames between two devices. Frames arrive as they were sent, but
// for the faults, and so do the packets in them: addresses, headers and checksums. Its methods may
// be called concurrently.
type Frames struct {
	packets
	a, b io.ReadWriteCloser
}

// maxFrame is more bytes than any frame has, jumbo frames and offloading included.
const maxFrame = 1 << 16

// NewFrames joins two devices: what one Read of a returns goes Up, to one Write of b, and what b
// returns goes Down. Two Taps are such devices. They belong to the Frames, which closes them.
func NewFrames(a, b io.ReadWriteCloser, cfg Config) *Frames {
	f := &Frames{a: a, b: b}
	f.start(&cfg, cfg.counters())
	f.group.Go(func() { f.lanes[Up].forward(a, b) })
	f.group.Go(func() { f.lanes[Down].forward(b, a) })
	return f
}

// forward sends what comes from one device to the other, until it is closed.
func (l *lane) forward(from io.Reader, to io.Writer) {
	b := make([]byte, maxFrame)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		l.send(b[:n], func(p []byte) { _, _ = to.Write(p) }) // what a device cannot take is lost
	}
}

// Close ends the network, and closes its devices. What is under way is lost.
func (f *Frames) Close() error {
	err := f.a.Close()
	if berr := f.b.Close(); err == nil {
		err = berr
	}
	f.closeLanes()
	f.group.Wait()
	return err
}

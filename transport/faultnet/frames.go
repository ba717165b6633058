package faultnet

import "io"

// Frames is a network of Ethernet frames between two devices. Apart from the faults, frames arrive
// as they were sent, with all headers and checksums. Methods may be called concurrently.
type Frames struct {
	packets
	a, b io.ReadWriteCloser
}

// maxFrame is more bytes than any frame has, even with jumbo frames and offloading.
const maxFrame = 1 << 16

// NewFrames joins two devices, such as two Taps. What one Read of a returns goes Up, to one Write
// of b. What b returns goes Down. The Frames closes the devices.
func NewFrames(a, b io.ReadWriteCloser, cfg Config) *Frames {
	f := &Frames{a: a, b: b}
	f.start(&cfg, cfg.counters())
	f.group.Go(func() { f.lanes[Up].forward(a, b) })
	f.group.Go(func() { f.lanes[Down].forward(b, a) })
	return f
}

// forward sends frames from one device to the other, until the first is closed.
func (l *lane) forward(from io.Reader, to io.Writer) {
	b := make([]byte, maxFrame)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		l.send(b[:n], func(p []byte) { _, _ = to.Write(p) }) // frames may be lost
	}
}

// Close ends the network, and closes its devices. Frames under way are lost.
func (f *Frames) Close() error {
	err := f.a.Close()
	if berr := f.b.Close(); err == nil {
		err = berr
	}
	f.closeLanes()
	f.group.Wait()
	return err
}

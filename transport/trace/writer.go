package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultMax is the default of Config.Max in bytes: 256 MiB.
const DefaultMax = 256 << 20

// ErrFull: the file has no room for the next packet.
var ErrFull = errors.New("the trace is full")

// Config configures a Writer. The zero value is usable.
type Config struct {
	// Max is the largest length of the file in bytes. 0 means DefaultMax. It must not be negative.
	Max int64

	// Ended, if set, is called once when tracing ends before Close, with an error that wraps
	// ErrFull or the error of the io.Writer. It must not block, and must not call the Writer.
	Ended func(error)
}

// Writer writes a pcap file. Its methods may be called concurrently. All methods work on a nil
// *Writer: they write nothing, and return connections and listeners unchanged.
type Writer struct {
	cfg  Config
	over atomic.Bool // tracing has ended

	mu    sync.Mutex // guards what follows, and all streams
	w     io.Writer
	left  int64  // bytes that may still be written
	batch []byte // packets of one operation, to be written together
	ports uint16 // number of made-up ports
	first uint32 // first sequence number of the next stream
	err   error  // why tracing has ended
}

// The file header (draft-ietf-opsawg-pcap section 4). Times are in nanoseconds.
const (
	magic        = 0xa1b23c4d
	snapLen      = 1 << 16
	linkTypeRaw  = 101 // IPv4 or IPv6, as the first four bits of a packet say
	recordHeader = 16  // in front of each packet
)

// batchMost is about how many bytes are collected before they are written.
const batchMost = 256 << 10

// New writes the header of a pcap file to w, and returns a Writer for the rest. Nothing is buffered
// after an operation on a connection has returned. The error is that of w, or wraps ErrFull if
// Config.Max is less than the header.
func New(w io.Writer, cfg Config) (*Writer, error) {
	if cfg.Max < 0 {
		return nil, fmt.Errorf("trace: Config.Max is %d, want 0 or more", cfg.Max)
	}
	if cfg.Max == 0 {
		cfg.Max = DefaultMax
	}
	be := binary.BigEndian
	b := be.AppendUint32(nil, magic)
	b = be.AppendUint16(b, 2) // version 2.4
	b = be.AppendUint16(b, 4)
	b = append(b, make([]byte, 8)...) // reserved
	b = be.AppendUint32(b, snapLen)
	b = be.AppendUint32(b, linkTypeRaw)
	if cfg.Max < int64(len(b)) {
		return nil, fmt.Errorf("trace: %w", ErrFull)
	}
	if _, err := w.Write(b); err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	return &Writer{cfg: cfg, w: w, left: cfg.Max - int64(len(b))}, nil
}

// Err says why tracing has ended. The error wraps ErrFull, the error of the io.Writer, or
// os.ErrClosed after Close. It is nil before the end.
func (w *Writer) Err() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close ends tracing. Nothing more is written to the io.Writer. Connections go on.
func (w *Writer) Close() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = fmt.Errorf("trace: %w", os.ErrClosed)
		w.over.Store(true)
		w.batch = nil
	}
}

// Datagram traces a UDP datagram between a local and a remote address. It has the type of
// sctp.Config.Trace.
func (w *Writer) Datagram(local, remote netip.AddrPort, sent bool, p []byte) {
	if w == nil || w.over.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	ends := sameFamily(local, remote)
	if !sent {
		ends[0], ends[1] = ends[1], ends[0]
	}
	w.udp(ends[0], ends[1], p)
	w.flush()
}

// add adds a packet, if there is room for it; w.mu is held. The checksum goes to offset place of
// header, which is the header above IP. The payload is read only once, because a peer may change it
// meanwhile.
func (w *Writer) add(src, dst netip.Addr, protocol byte, header []byte, place int, payload []byte) {
	if w.err != nil {
		return
	}
	size := int64(recordHeader + ipLen(src) + len(header) + len(payload))
	if size > w.left {
		w.flush()
		w.end(fmt.Errorf("%w: it has %d bytes, of %d", ErrFull, w.cfg.Max-w.left, w.cfg.Max))
		return
	}
	w.left -= size
	now := time.Now()
	be := binary.BigEndian
	b := be.AppendUint32(w.batch, uint32(now.Unix()))
	b = be.AppendUint32(b, uint32(now.Nanosecond()))
	b = be.AppendUint32(b, uint32(size-recordHeader)) // captured length
	b = be.AppendUint32(b, uint32(size-recordHeader)) // original length
	b = appendIP(b, src, dst, protocol, len(header)+len(payload))
	begin := len(b)
	b = snapshot(append(b, header...), payload)
	c := checksum(src, dst, protocol, b[begin:])
	if c == 0 && protocol == protocolUDP {
		c = 0xffff // 0 would mean no checksum
	}
	be.PutUint16(b[begin+place:], c)
	w.batch = b
	if len(w.batch) >= batchMost {
		w.flush()
	}
}

// flush writes the packets in batch; w.mu is held.
func (w *Writer) flush() {
	if len(w.batch) == 0 || w.err != nil {
		return
	}
	_, err := w.w.Write(w.batch)
	w.batch = w.batch[:0]
	if err != nil {
		w.end(err)
	}
}

// end ends tracing; w.mu is held.
func (w *Writer) end(err error) {
	if w.err != nil {
		return
	}
	w.err = fmt.Errorf("trace: %w", err)
	w.over.Store(true)
	w.batch = nil
	if w.cfg.Ended != nil {
		w.cfg.Ended(w.err)
	}
}

//go:build interop

package linux

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/evidence"
)

// sender is the side that has sent a frame.
type sender int

const (
	fromHost sender = iota
	fromGuest
)

func (s sender) String() string { return [...]string{"this machine", "the guest"}[s] }

// observer watches all frames of a wire. It checks the ICRC of each RoCE frame, counts, and writes
// the first frames to a file for tshark. It leaves out retransmissions, because tshark does not
// follow PSNs and would take them for more data. It does not use package roce.
type observer struct {
	t    *testing.T
	file string

	mu     sync.Mutex // guards what follows
	out    *bufio.Writer
	room   int // bytes that the file may have
	counts [2]roceCounts
	wrong  int
	ends   map[flow]uint32 // the PSN behind the last one
}

// flow is the requests to a queue pair, or the responses.
type flow struct {
	to        string // address
	queuePair [3]byte
	responses bool
}

// roceCounts is what one side has sent.
type roceCounts struct {
	Packets, Payload   int          // those of connections, and bytes in them
	Reads, Acks        int          // requests for RDMA Reads
	NAKs               map[byte]int // by syndrome
	Retransmitted      int          // requests and responses with a PSN that was there
	Management, Frames int          // MADs; and all frames
}

// captureMost is how many bytes are kept for tshark.
const captureMost = 40 << 20

func newObserver(t *testing.T) *observer {
	t.Helper()
	o := &observer{
		t: t, file: filepath.Join(evidence.Dir(t), "wire.pcap"), room: captureMost,
		ends: make(map[flow]uint32),
	}
	f, err := os.Create(o.file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	o.out = bufio.NewWriter(f)
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 0xa1b2c3d4)
	b = le.AppendUint32(b, 4<<16|2)
	b = append(b, make([]byte, 8)...)
	b = le.AppendUint32(b, 1<<16)
	o.out.Write(le.AppendUint32(b, 1)) // Ethernet
	o.reset()
	return o
}

// reset sets the counts to zero.
func (o *observer) reset() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range o.counts {
		o.counts[i] = roceCounts{NAKs: make(map[byte]int)}
	}
}

// soFar returns the counts so far.
func (o *observer) soFar() (host, guest roceCounts) {
	o.mu.Lock()
	defer o.mu.Unlock()
	host, guest = o.counts[fromHost], o.counts[fromGuest]
	host.NAKs, guest.NAKs = maps.Clone(host.NAKs), maps.Clone(guest.NAKs)
	return host, guest
}

// frame takes a frame.
func (o *observer) frame(from sender, p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.counts[from].Frames++
	d, ok := roceOf(p)
	if !ok {
		o.keep(p)
		return
	}
	if !d.checked() {
		if o.wrong++; o.wrong < 10 {
			o.t.Errorf("%v has sent a frame with a wrong ICRC: %x", from, p)
		}
	}
	if again := o.counts[from].count(d, o.ends); !again {
		o.keep(p)
	}
}

// keep writes a frame to the file, unless that is full.
func (o *observer) keep(p []byte) {
	if o.room -= len(p) + packetHeader; o.room <= 0 {
		return
	}
	le, now := binary.LittleEndian, time.Now()
	b := le.AppendUint32(nil, uint32(now.Unix()))
	b = le.AppendUint32(b, uint32(now.Nanosecond()/1000))
	b = le.AppendUint32(b, uint32(len(p)))
	o.out.Write(le.AppendUint32(b, uint32(len(p))))
	o.out.Write(p)
}

// count counts a packet, and reports whether it is a retransmission.
func (c *roceCounts) count(d roceFrame, ends map[flow]uint32) (again bool) {
	bth := d.packet
	op, psn := bth[0], binary.BigEndian.Uint32(bth[8:])&(1<<24-1)
	if op == 0x64 {
		c.Management++
		return false
	}
	c.Packets++
	switch {
	case op == 0x11 && bth[12]>>5 == 0:
		c.Acks++
		return false
	case op == 0x11:
		c.NAKs[bth[12]]++
		return false
	case op == 0x81:
		return false
	}
	n := len(bth) - 12 - 4 - int(bth[1]>>4&3)
	span := uint32(1)
	switch op {
	case 0x06, 0x0a:
		n -= 16
	case 0x0c:
		n -= 16
		c.Reads++
		span = max(1, (binary.BigEndian.Uint32(bth[24:])+1023)/1024)
	case 0x0d, 0x0f, 0x10, 0x16, 0x17:
		n -= 4
	}
	c.Payload += n
	f := flow{to: d.to, queuePair: [3]byte(bth[5:8]), responses: op >= 0x0d && op <= 0x10}
	end, known := ends[f]
	if behind := int32((psn-end)<<8) >> 8; known && behind < 0 {
		c.Retransmitted++
		return true
	}
	ends[f] = psn + span
	return false
}

// per returns the counts for each MiB, if each side has moved that many bytes.
func (c *roceCounts) per(bytes int) string {
	mib := float64(bytes) / (1 << 20)
	each := func(n int) float64 { return float64(n) / mib }
	return fmt.Sprintf("%.1f MiB: for each %.0f packets, %.1f of them Read requests, "+
		"%.1f acknowledgements, %.2f sent again; NAKs %v", float64(c.Payload)/(1<<20),
		each(c.Packets-c.Acks), each(c.Reads), each(c.Acks), each(c.Retransmitted), c.NAKs)
}

// flush writes out the kept frames, and fails if a frame was wrong.
func (o *observer) flush(t *testing.T) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.out.Flush(); err != nil {
		t.Fatal(err)
	}
	if o.wrong > 0 {
		t.Errorf("%d frames with a wrong ICRC", o.wrong)
	}
}

// end decodes the kept frames with tshark, and logs the counts. tshark may call messages malformed
// that begin with misread.
func (o *observer) end(t *testing.T, misread ...string) (host, guest roceCounts) {
	t.Helper()
	o.flush(t)
	host, guest = o.soFar()
	moved := host.Payload + guest.Payload
	t.Logf("this machine: %s", host.per(moved))
	t.Logf("the guest: %s", guest.per(moved))
	found, known := 0, 0
	fields := []string{
		"rpcordma.segment_count", "_ws.malformed", "_ws.col.Info",
		// to find out why
		"frame.number", "frame.protocols", "infiniband.bth.opcode", "infiniband.bth.psn", "rpcordma.xid",
	}
	for _, line := range dissect(t, o.file, "infiniband", fields...) {
		found++
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case f[1] == "":
		case knownFault(f[2], f[0]), slices.ContainsFunc(misread, func(prefix string) bool {
			return strings.HasPrefix(f[2], prefix)
		}):
			known++
		default:
			t.Errorf("tshark: malformed: %q", f[2:])
		}
	}
	t.Logf("tshark: %d packets, %d of them known to come out malformed", found, known)
	if found == 0 {
		t.Error("tshark has found no RoCE")
	}
	return host, guest
}

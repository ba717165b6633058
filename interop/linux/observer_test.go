//go:build interop

package linux

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// sender is who has sent a frame.
type sender int

const (
	fromHost sender = iota
	fromGuest
)

func (s sender) String() string { return [...]string{"this machine", "the guest"}[s] }

// observer looks at all frames of a wire: it checks the ICRC of each that has RoCE, counts, and
// writes the first of them to a file for tshark. It knows nothing of package roce.
type observer struct {
	t    *testing.T
	file string

	mu     sync.Mutex // guards what follows
	out    *bufio.Writer
	room   int // bytes that the file may have
	counts [2]roceCounts
	wrong  int
	ends   map[string]uint32 // of a queue pair: the PSN behind the last one
}

// roceCounts is what one side has sent.
type roceCounts struct {
	Packets, Payload   int // those of connections, and bytes in them
	Acks               int
	NAKs               map[byte]int // by syndrome
	Retransmitted      int          // requests with a PSN that was there
	Management, Frames int          // MADs; and all frames
}

// captureMost is how much is kept for tshark.
const captureMost = 40 << 20

func newObserver(t *testing.T) *observer {
	t.Helper()
	o := &observer{
		t: t, file: filepath.Join(t.TempDir(), "wire.pcap"), room: captureMost, ends: make(map[string]uint32),
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
	for i := range o.counts {
		o.counts[i].NAKs = make(map[byte]int)
	}
	return o
}

// frame takes a frame.
func (o *observer) frame(from sender, p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.counts[from].Frames++
	if o.room -= len(p) + packetHeader; o.room > 0 {
		le, now := binary.LittleEndian, time.Now()
		b := le.AppendUint32(nil, uint32(now.Unix()))
		b = le.AppendUint32(b, uint32(now.Nanosecond()/1000))
		b = le.AppendUint32(b, uint32(len(p)))
		o.out.Write(le.AppendUint32(b, uint32(len(p))))
		o.out.Write(p)
	}
	d, ok := roceOf(p)
	if !ok {
		return
	}
	if !d.checked() {
		if o.wrong++; o.wrong < 10 {
			o.t.Errorf("%v has sent a frame with a wrong ICRC: %x", from, p)
		}
	}
	o.counts[from].count(d, o.ends)
}

// count counts a packet.
func (c *roceCounts) count(d roceFrame, ends map[string]uint32) {
	bth := d.packet
	op, qp, psn := bth[0], bth[5:8], binary.BigEndian.Uint32(bth[8:])&(1<<24-1)
	if op == 0x64 {
		c.Management++
		return
	}
	c.Packets++
	switch {
	case op == 0x11 && bth[12]>>5 == 0:
		c.Acks++
		return
	case op == 0x11:
		c.NAKs[bth[12]]++
		return
	case op == 0x81:
		return
	}
	n := len(bth) - 12 - 4 - int(bth[1]>>4&3)
	span := uint32(1)
	switch op {
	case 0x06, 0x0a:
		n -= 16
	case 0x0c:
		n -= 16
		span = max(1, (binary.BigEndian.Uint32(bth[24:])+1023)/1024)
	case 0x0d, 0x0f, 0x10, 0x16, 0x17:
		n -= 4
	}
	c.Payload += n
	if op >= 0x0d && op <= 0x10 {
		return // responses
	}
	key := fmt.Sprintf("%s %x", d.to, qp)
	end, known := ends[key]
	if behind := int32((psn-end)<<8) >> 8; known && behind < 0 {
		c.Retransmitted++
		return
	}
	ends[key] = psn + span
}

// String has the counts for a MiB of payload.
func (c *roceCounts) String() string {
	mib := float64(c.Payload) / (1 << 20)
	return fmt.Sprintf("%.1f MiB in %d packets; for a MiB %.0f packets, %.1f acknowledgements, %.2f retransmissions; NAKs %v",
		mib, c.Packets, float64(c.Packets-c.Acks)/mib, float64(c.Acks)/mib, float64(c.Retransmitted)/mib, c.NAKs)
}

// end has tshark decode what was kept, and logs the counts. tshark does not follow PSNs: what comes
// again it takes for more, and then for malformed. So there may be as much of that as has come again.
func (o *observer) end(t *testing.T) (host, guest roceCounts) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.out.Flush(); err != nil {
		t.Fatal(err)
	}
	if o.wrong > 0 {
		t.Errorf("%d frames with a wrong ICRC", o.wrong)
	}
	t.Logf("this machine: %v", &o.counts[fromHost])
	t.Logf("the guest: %v", &o.counts[fromGuest])
	again := o.counts[fromHost].Retransmitted + o.counts[fromGuest].Retransmitted
	found, known := 0, 0
	var malformed []string
	for _, line := range dissect(t, o.file, "infiniband", "rpcordma.segment_count", "_ws.malformed", "_ws.col.Info") {
		found++
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case f[1] == "":
		case knownFault(f[2], f[0]):
			known++
		default:
			malformed = append(malformed, f[2])
		}
	}
	t.Logf("tshark: %d packets, %d of them known to come out malformed, %d more while %d packets came again", found, known,
		len(malformed), again)
	if len(malformed) > again {
		t.Errorf("tshark: malformed: %s", strings.Join(malformed, "\n"))
	}
	if found == 0 {
		t.Error("tshark has found no RoCE")
	}
	return o.counts[fromHost], o.counts[fromGuest]
}

package iwarp_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// bulk is how many bytes are written and read: several FPDUs, with many markers, if there are any.
const bulk = 150_001

// data returns n bytes that differ for each seed.
func data(n int, seed byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7+i>>8) ^ seed
	}
	return b
}

// transfer moves data over a connection between two of our ends, with every operation in both
// directions. It starts both ends. The dialing end begins, as it must.
func transfer(t *testing.T, dialing, listening *local) {
	t.Helper()
	sizes := []int{0, 1, 480, 488, 500, 508, 1000, 5003, bulk}
	for _, l := range []*local{dialing, listening} {
		for range sizes {
			if err := l.PostRecv(&transport.RecvRequest{Local: slices(make([]byte, bulk))}); err != nil {
				t.Fatal(err)
			}
		}
		l.start()
	}
	for i, d := range [][2]*local{{dialing, listening}, {listening, dialing}} {
		from, to := d[0], d[1]
		written, source, sink := make([]byte, bulk), data(bulk, byte(2*i+1)), make([]byte, bulk)
		toWrite := to.expose(transport.RemoteWrite, written[:100], written[100:])
		toRead := to.expose(transport.RemoteRead, source[:3000], source[3000:])
		from.post(
			&transport.WorkRequest{
				Op: transport.OpWrite, Remote: transport.Remote{STag: toWrite.STag, Offset: toWrite.Base},
				Local: slices(data(bulk, byte(2*i))),
			},
			&transport.WorkRequest{
				Op: transport.OpRead, Flags: transport.Signaled, Remote: transport.Remote{STag: toRead.STag, Offset: toRead.Base},
				Local: slices(sink[:77], sink[77:]),
			},
		)
		for _, n := range sizes {
			from.send(string(data(n, byte(n))))
		}
		for _, n := range sizes {
			if got := hang.Receive(t, "message", to.messages); got != string(data(n, byte(n))) {
				t.Errorf("a message of %d bytes has changed on its way, or is another, of %d", n, len(got))
			}
		}
		if string(written) != string(data(bulk, byte(2*i))) {
			t.Error("what was written is not what has arrived")
		}
		if err := hang.Receive(t, "completion of the Read", from.completions); err != nil {
			t.Fatalf("Read: %v", err)
		}
		if string(sink) != string(source) {
			t.Error("what was read is not what has arrived")
		}
	}
}

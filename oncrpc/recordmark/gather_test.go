package recordmark

import (
	"bytes"
	"errors"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// sink is a connection that keeps what is written.
type sink struct {
	net.Conn
	bytes.Buffer
	writes int
	err    error
}

func (s *sink) Write(p []byte) (int, error) {
	s.writes++
	if s.err != nil {
		return 0, s.err
	}
	return s.Buffer.Write(p)
}

func (s *sink) Read(p []byte) (int, error) { return s.Buffer.Read(p) }

// message returns a message of inline bytes and bulk data, and its bytes in one slice.
func message(bulk ...int) (xdr.Message, []byte) {
	var e xdr.Encoder
	e.Uint32(0x01020304)
	for i, n := range bulk {
		p := pattern(n)
		e.Bulk([][]byte{p[:n/3], nil, p[n/3:]}, nil)
		e.Uint32(uint32(i))
	}
	m := e.Message()
	return m, m.AppendTo(nil)
}

func TestGatherFragments(t *testing.T) {
	m, want := message(5, 0, 33)
	for limit := 1; limit <= len(want)+1; limit++ {
		var s sink
		g := newGatherer(&s, limit)
		if err := g.message(&m, m.Len()); err != nil {
			t.Fatal(err)
		}
		if err := g.flush(); err != nil {
			t.Fatal(err)
		}
		stream := bytes.Clone(s.Bytes())
		var got []byte
		for last := false; !last; {
			n := int(stream[0]&0x7f)<<24 | int(stream[1])<<16 | int(stream[2])<<8 | int(stream[3])
			last = stream[0]&0x80 != 0
			if n > limit || (n < limit && !last) {
				t.Fatalf("fragment of %d bytes, limit %d, last %v", n, limit, last)
			}
			got = append(got, stream[4:4+n]...)
			stream = stream[4+n:]
		}
		if len(stream) > 0 || !bytes.Equal(got, want) {
			t.Fatalf("fragments of %d: got %x and %d bytes more, want %x", limit, got, len(stream), want)
		}
	}
}

// Messages of every size around the limits of the stage are written in order.
func TestGatherStage(t *testing.T) {
	for _, limit := range []int{maxFragment, 1000, 7} {
		var s sink
		g := newGatherer(&s, limit)
		var want [][]byte
		for _, n := range []int{0, 1, stageMax - 1, stageMax, stageMax + 1, 3 * stageMax, 100, stageLen, 2 * stageLen} {
			for range stageLen/stageMax + 2 {
				m, p := message(n, 3)
				want = append(want, p)
				if err := g.message(&m, m.Len()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := g.flush(); err != nil {
			t.Fatal(err)
		}
		r := newReader(&s, DefaultMaxRecord)
		for i, w := range want {
			rec, err := r.next()
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(rec.data, w) {
				t.Fatalf("fragments of %d: message %d differs", limit, i)
			}
			rec.Release()
		}
	}
}

// Small messages are written together.
func TestGatherOneWrite(t *testing.T) {
	var s sink
	g := newGatherer(&s, maxFragment)
	for range 64 {
		m, _ := message(12)
		if err := g.message(&m, m.Len()); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.flush(); err != nil {
		t.Fatal(err)
	}
	if s.writes != 1 {
		t.Errorf("%d writes, want 1", s.writes)
	}
}

// Bulk data is referred to, not copied.
func TestGatherNoCopy(t *testing.T) {
	var s sink
	g := newGatherer(&s, maxFragment)
	p := pattern(1 << 16)
	var e xdr.Encoder
	e.BulkBytes(p, nil)
	m := e.Message()
	if err := g.message(&m, m.Len()); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, v := range g.vec {
		found = found || &v[0] == &p[0] && len(v) == len(p)
	}
	if !found {
		t.Error("the vector does not refer to the data")
	}
}

func TestGatherError(t *testing.T) {
	s := sink{err: errors.New("wire cut")}
	g := newGatherer(&s, 1) // so many marks that the stage overflows
	m, _ := message(2 * stageLen)
	if err := g.message(&m, m.Len()); err != s.err {
		t.Errorf("message: got %v, want %v", err, s.err)
	}
	m, _ = message(1)
	if err := g.message(&m, m.Len()); err != nil {
		t.Errorf("message: got %v", err)
	}
	if err := g.flush(); err != s.err {
		t.Errorf("flush: got %v, want %v", err, s.err)
	}
}

// A message whose length differs from the announced one is an error. Earlier records are written
// whole.
func TestGatherChanged(t *testing.T) {
	for _, limit := range []int{maxFragment, 16, 7} {
		for _, off := range []int{-4, -1, 1, 4} {
			var s sink
			g := newGatherer(&s, limit)
			m, _ := message(20, 8)
			if err := g.message(&m, m.Len()); err != nil {
				t.Fatal(err)
			}
			if err := g.message(&m, m.Len()+off); !errors.Is(err, errMessageChanged) {
				t.Errorf("fragments of %d, %d bytes off: got %v, want errMessageChanged", limit, off, err)
			}
		}
	}
}

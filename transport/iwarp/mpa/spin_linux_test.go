//go:build !mpaportable

package mpa

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// If spinning does not help, a connection gives it up at once and tries more and more rarely. If it
// helps, the connection still sleeps now and then.
func TestSpinWhen(t *testing.T) {
	const often = 2000
	row := func(n int) (r []int) {
		for range n {
			r = append(r, 0)
		}
		return r
	}
	for _, tt := range []struct {
		name  string
		found func(i int) bool // whether spin i finds data
		want  []int            // sleeps before each spin
	}{
		{"never of use", func(int) bool { return false }, []int{0, 1, 3, 7, 15, 31, 63, 127, 255, 255, 255}},
		{"always of use", func(int) bool { return true }, append(append(row(spinRow), 1), append(row(spinRow-1), 1, 0)...)},
		{"of use again", func(i int) bool { return i == 3 }, []int{0, 1, 3, 7, 0, 1, 3, 7}},
		{"a miss ends a row", func(i int) bool { return i != spinRow-1 }, append(append(row(spinRow), 1), append(row(spinRow-1), 1)...)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s spin
			var got []int
			for sleeps := 0; len(got) < len(tt.want) && sleeps < often; {
				if !s.begin() {
					sleeps++
					continue
				}
				s.end(tt.found(len(got)))
				got, sleeps = append(got, sleeps), 0
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("sleeps before each spin (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOneSpins(t *testing.T) {
	var a, b spin
	if !a.begin() {
		t.Fatal("the first does not spin")
	}
	if b.begin() {
		t.Error("two spin at a time")
	}
	a.end(true)
	if !b.begin() {
		t.Error("no connection spins after the first")
	}
	b.end(true)
}

// expecting is a collector that says whether something is expected, and signals when it is asked.
type expecting struct {
	collector
	expects bool
	asked   chan struct{}
}

func (e *expecting) ExpectsMore() bool {
	select {
	case e.asked <- struct{}{}:
	default:
	}
	return e.expects
}

// Bytes are received whether they come before, while, or after a connection spins. It spins if, and
// only if, something is expected.
func TestReceiveExpected(t *testing.T) {
	for name, expects := range map[string]bool{"expected": true, "not expected": false} {
		t.Run(name, func(t *testing.T) {
			ulpdus, stream := streamOf(false, 14, 500, 40000)
			c, peer := newConn(t, ConnOptions{})
			got := &expecting{expects: expects, asked: make(chan struct{}, 1)}
			sent := make(chan struct{})
			go func() {
				defer close(sent)
				for _, part := range [][]byte{stream[:7], stream[7:300], stream[300:]} {
					<-got.asked // nothing to read
					write(t, peer, part)
				}
			}()
			spun := false
			for got.bytes < len(stream) {
				if err := c.Receive(got); err != nil {
					t.Fatal(err)
				}
				spun = spun || c.in.sys.(*rawInput).spin != spin{}
			}
			Await(t, "the peer, which has written all", sent)
			if diff := diffULPDUs(ulpdus, got.ulpdus); diff != "" {
				t.Error(diff)
			}
			if spun != expects {
				t.Errorf("spun: got %t, want %t", spun, expects)
			}
			if spinning.Load() {
				t.Error("it spins still")
			}
		})
	}
}

// Interrupt also ends a connection that expects something.
func TestInterruptExpecting(t *testing.T) {
	for i := range 60 {
		c, _ := newConn(t, ConnOptions{})
		e := &expecting{expects: true, asked: make(chan struct{}, 1)}
		ended := make(chan error)
		go func() { ended <- c.Receive(e) }()
		if i%2 == 0 {
			select {
			case <-e.asked:
			case err := <-ended:
				t.Fatalf("got %v before the end", err)
			}
		}
		c.Interrupt()
		if err := Await(t, "Receive", ended); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("got %v", err)
		}
		if spinning.Load() {
			t.Fatal("it spins still")
		}
	}
}

// wakeful is a socket whose waits end again and again before there is anything to read.
type wakeful struct {
	syscall.RawConn
	wake func() // called in place of waiting
}

func (w wakeful) Read(f func(fd uintptr) bool) error {
	for {
		done := false
		if err := w.Control(func(fd uintptr) { done = f(fd) }); err != nil || done {
			return err
		}
		w.wake()
	}
}

// A connection that was woken for nothing and spins again receives what comes then.
func TestSpinWokenForNothing(t *testing.T) {
	ulpdus, stream := streamOf(false, 14)
	c, peer := newConn(t, ConnOptions{})
	wakes := 0
	in := c.in.sys.(*rawInput)
	in.raw = wakeful{in.raw, func() {
		if wakes++; wakes == 5 { // pauses of 1 and 3 waits have passed, with a spin between them
			write(t, peer, stream)
		}
	}}
	got := &expecting{expects: true}
	for got.bytes < len(stream) {
		if err := c.Receive(got); err != nil {
			t.Fatal(err)
		}
	}
	if diff := diffULPDUs(ulpdus, got.ulpdus); diff != "" {
		t.Error(diff)
	}
}

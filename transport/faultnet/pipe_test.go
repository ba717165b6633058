package faultnet_test

import (
	"bytes"
	"errors"
	"io"
	"math/bits"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
)

// bubble runs f in virtual time, with the ends of a pipe.
func bubble(t *testing.T, cfg faultnet.Config,
	f func(t *testing.T, a, b net.Conn, l *faultnet.Link)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a, b, l := faultnet.Pipe(cfg)
		f(t, a, b, l)
	})
}

// since returns the elapsed time, to the millisecond.
func since(began time.Time) time.Duration { return time.Since(began).Round(time.Millisecond) }

func TestDelay(t *testing.T) {
	cfg := faultnet.Config{
		Up: faultnet.Way{Delay: 30 * time.Millisecond}, Down: faultnet.Way{Delay: time.Second},
	}
	bubble(t, cfg, func(t *testing.T, a, b net.Conn, _ *faultnet.Link) {
		began := time.Now()
		write(t, a, []byte("there"))
		if d := time.Since(began); d != 0 {
			t.Errorf("Write took %v", d)
		}
		wantRead(t, b, []byte("there"))
		if d := time.Since(began); d != 30*time.Millisecond {
			t.Errorf("up took %v, want 30ms", d)
		}
		write(t, b, []byte("back"))
		wantRead(t, a, []byte("back"))
		if d := time.Since(began); d != 1030*time.Millisecond {
			t.Errorf("there and back took %v, want 1.03s", d)
		}
		b.Close()
		if _, err := a.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("Read after Close: %v, want %v", err, io.EOF)
		}
		if d := time.Since(began); d != 2030*time.Millisecond {
			t.Errorf("the end came after %v, want 2.03s", d)
		}
	})
}

// TestJitter: jitter varies the times, differently for each seed, but not the order.
func TestJitter(t *testing.T) {
	times := func(seed uint64) (all []time.Duration) {
		cfg := faultnet.Config{Seed: seed, Up: faultnet.Way{Jitter: time.Second}}
		bubble(t, cfg, func(t *testing.T, a, b net.Conn, _ *faultnet.Link) {
			for i := range 20 {
				began := time.Now()
				write(t, a, []byte{byte(i)})
				wantRead(t, b, []byte{byte(i)})
				if d := time.Since(began); d > time.Second {
					t.Errorf("byte %d took %v, want 1s at most", i, d)
				} else {
					all = append(all, d)
				}
			}
			for i := range 20 {
				write(t, a, []byte{byte(i)})
			}
			for i := range 20 {
				wantRead(t, b, []byte{byte(i)})
			}
		})
		return all
	}
	first, again, other := times(1), times(1), times(2)
	varies, differs := false, false
	for i := range first {
		if first[i] != again[i] {
			t.Fatalf("byte %d took %v and, with the same seed, %v", i, first[i], again[i])
		}
		varies = varies || first[i] != first[0]
		differs = differs || first[i] != other[i]
	}
	if !varies || !differs {
		t.Errorf("the bytes took %v, with another seed %v", first, other)
	}
}

func TestBandwidth(t *testing.T) {
	const rate = 125_000 // 1 Mbit/s
	way := faultnet.Way{Bandwidth: rate, Delay: 50 * time.Millisecond}
	bubble(t, faultnet.Config{Up: way}, func(t *testing.T, a, b net.Conn, _ *faultnet.Link) {
		began := time.Now()
		p := pattern(10 * rate)
		written := make(chan time.Duration, 1)
		go func() {
			a.Write(p)
			written <- since(began)
		}()
		wantRead(t, b, p[:rate])
		// The last of them arrived with its segment.
		const want1, segment = 1050 * time.Millisecond, 1448 * time.Second / rate
		if d := time.Since(began); d < want1 || d > want1+segment {
			t.Errorf("the bytes of a second took %v, want 1.05s", d)
		}
		wantRead(t, b, p[rate:])
		if d := since(began); d != 10050*time.Millisecond {
			t.Errorf("the bytes of 10 seconds took %v, want 10.05s", d)
		}
		// The last bytes entered the buffer when the bytes before them left it for good.
		want := 10*time.Second - faultnet.DefaultBuffer*time.Second/rate
		if d := <-written; d < want || d > want+20*time.Millisecond {
			t.Errorf("Write took %v, want %v", d, want)
		}
	})
}

// TestBuffer: with a slow reader, the sender waits, and no more than Buffer is under way.
func TestBuffer(t *testing.T) {
	bubble(t, faultnet.Config{Down: faultnet.Way{Buffer: 1000}},
		func(t *testing.T, a, b net.Conn, l *faultnet.Link) {
			b.SetWriteDeadline(time.Now().Add(time.Second))
			n, err := b.Write(make([]byte, 5000))
			if n != 1000 || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("Write: %d bytes, %v, want 1000 and %v", n, err, os.ErrDeadlineExceeded)
			}
			wantRead(t, a, make([]byte, 400))
			b.SetWriteDeadline(time.Now().Add(time.Second))
			if n, _ := b.Write(make([]byte, 5000)); n != 400 {
				t.Errorf("Write: %d bytes, want 400", n)
			}
			if passed, underWay := l.Bytes(faultnet.Down); passed != 400 || underWay != 1000 {
				t.Errorf("%d bytes passed, %d under way, want 400 and 1000", passed, underWay)
			}
		})
}

// TestTrickle: a stream passes one byte at a time, ten per second.
func TestTrickle(t *testing.T) {
	bubble(t, faultnet.Config{Up: faultnet.Way{Bandwidth: 10, MaxSegment: 1}},
		func(t *testing.T, a, b net.Conn, _ *faultnet.Link) {
			began := time.Now()
			write(t, a, []byte("trickle"))
			buf := make([]byte, 10)
			for i, want := range "trickle" {
				n, err := b.Read(buf)
				if n != 1 || err != nil || buf[0] != byte(want) {
					t.Fatalf("Read: %q, %v, want %q", buf[:n], err, want)
				}
				if d, want := time.Since(began), time.Duration(i+1)*time.Second/10; d != want {
					t.Errorf("byte %d came after %v, want %v", i, d, want)
				}
			}
		})
}

// TestMaxSegment: segments arrive one at a time, even without any delay.
func TestMaxSegment(t *testing.T) {
	bubble(t, faultnet.Config{Down: faultnet.Way{MaxSegment: 10}},
		func(t *testing.T, a, b net.Conn, _ *faultnet.Link) {
			write(t, b, make([]byte, 25))
			buf := make([]byte, 100)
			for _, want := range []int{10, 10, 5} {
				if n, err := a.Read(buf); n != want || err != nil {
					t.Errorf("Read: %d bytes, %v, want %d", n, err, want)
				}
			}
		})
}

// TestFlip: bits flip at places given by the seed, however the bytes are split.
func TestFlip(t *testing.T) {
	const size = 100_000
	flipped := func(seed uint64, piece, segment int) []byte {
		var counters faultnet.Counters
		got := make([]byte, size)
		bubble(t, faultnet.Config{
			Seed:     seed,
			Up:       faultnet.Way{Flip: 0.001, MaxSegment: segment},
			Counters: &counters,
		}, func(t *testing.T, a, b net.Conn, _ *faultnet.Link) {
			go func() {
				for off := 0; off < size; off += piece {
					a.Write(make([]byte, min(piece, size-off)))
				}
			}()
			if _, err := io.ReadFull(b, got); err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, v := range got {
				if v != 0 {
					n++
				}
				if bits.OnesCount8(v) > 1 {
					t.Errorf("several bits of a byte are flipped: %#b", v)
				}
			}
			if n < 50 || n > 200 || int64(n) != counters.Flipped.Load() {
				t.Errorf("%d bytes of %d are flipped, %d counted, want about %d",
					n, size, counters.Flipped.Load(), size/1000)
			}
			write(t, b, []byte("and not down")) // each way apart
			wantRead(t, a, []byte("and not down"))
		})
		return got
	}
	want := flipped(1, size, 0)
	if !bytes.Equal(flipped(1, 777, 0), want) || !bytes.Equal(flipped(1, 5000, 100), want) {
		t.Error("the same seed flips other bits where the stream is cut in another way")
	}
	if bytes.Equal(flipped(2, size, 0), want) {
		t.Error("another seed flips the same bits")
	}
}

func TestFlipAll(t *testing.T) {
	bubble(t, faultnet.Config{Up: faultnet.Way{Flip: 1}},
		func(t *testing.T, a, b net.Conn, _ *faultnet.Link) {
			write(t, a, make([]byte, 100))
			got := make([]byte, 100)
			if _, err := io.ReadFull(b, got); err != nil {
				t.Fatal(err)
			}
			for i, v := range got {
				if bits.OnesCount8(v) != 1 {
					t.Errorf("byte %d is %#b, want one flipped bit", i, v)
				}
			}
		})
}

func TestFreeze(t *testing.T) {
	var counters faultnet.Counters
	bubble(t, faultnet.Config{Counters: &counters},
		func(t *testing.T, a, b net.Conn, l *faultnet.Link) {
			l.Freeze(faultnet.Up)
			l.Freeze(faultnet.Up) // is frozen already
			write(t, a, []byte("late"))
			b.SetReadDeadline(time.Now().Add(time.Hour))
			if _, err := b.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("Read of what is frozen: %v", err)
			}
			write(t, b, []byte("not frozen"))
			wantRead(t, a, []byte("not frozen"))
			b.SetReadDeadline(time.Time{})
			time.AfterFunc(time.Minute, func() { l.Thaw(faultnet.Up) })
			began := time.Now()
			wantRead(t, b, []byte("late"))
			if d := time.Since(began); d != time.Minute {
				t.Errorf("it came after %v, want 1m", d)
			}
			if n := counters.Frozen.Load(); n != 1 {
				t.Errorf("%d times frozen, want 1", n)
			}
		})
}

func TestFreezeAt(t *testing.T) {
	bubble(t, faultnet.Config{OnLink: func(l *faultnet.Link) { l.FreezeAt(faultnet.Down, 5) }},
		func(t *testing.T, a, b net.Conn, l *faultnet.Link) {
			write(t, b, []byte("hell"))
			wantRead(t, a, []byte("hell"))
			write(t, b, []byte("o, world"))
			buf := make([]byte, 20)
			if n, err := a.Read(buf); string(buf[:n]) != "o" || err != nil {
				t.Errorf("Read: %q, %v, want 1 byte", buf[:n], err)
			}
			a.SetReadDeadline(time.Now().Add(time.Second))
			if _, err := a.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("Read of what is frozen: %v", err)
			}
			a.SetReadDeadline(time.Time{})
			l.Thaw(faultnet.Down)
			wantRead(t, a, []byte(", world"))
		})
}

// TestCutAt: at a cut after n bytes, both ends notice, and no further byte passes.
func TestCutAt(t *testing.T) {
	for _, tt := range []struct {
		name        string
		by          faultnet.Ending
		read, write error
	}{
		{"FIN", faultnet.FIN, io.EOF, syscall.EPIPE},
		{"RST", faultnet.RST, syscall.ECONNRESET, syscall.ECONNRESET},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var counters faultnet.Counters
			bubble(t, faultnet.Config{
				Counters: &counters,
				OnLink:   func(l *faultnet.Link) { l.CutAt(faultnet.Up, 10, tt.by) },
			}, func(t *testing.T, a, b net.Conn, _ *faultnet.Link) {
				write(t, b, []byte("lost"))
				write(t, a, []byte("0123456789abc"))
				got := make([]byte, 20)
				n, err := io.ReadFull(b, got)
				if err == io.ErrUnexpectedEOF {
					err = io.EOF
				}
				if string(got[:n]) != "0123456789" || !errors.Is(err, tt.read) {
					t.Errorf("read %q, %v, want 10 bytes and %v", got[:n], err, tt.read)
				}
				if n, err := a.Read(got); n != 0 || !errors.Is(err, tt.read) {
					t.Errorf("the other end reads %d bytes, %v, want %v", n, err, tt.read)
				}
				for _, c := range []net.Conn{a, b} {
					if _, err := c.Write([]byte("x")); !errors.Is(err, tt.write) {
						t.Errorf("Write: %v, want %v", err, tt.write)
					}
				}
				if n := counters.Cut.Load(); n != 1 {
					t.Errorf("%d cuts, want 1", n)
				}
			})
		})
	}
}

// TestCutFrozen: a cut also ends a frozen connection.
func TestCutFrozen(t *testing.T) {
	bubble(t, faultnet.Config{}, func(t *testing.T, a, b net.Conn, l *faultnet.Link) {
		l.Freeze(faultnet.Up, faultnet.Down)
		write(t, a, []byte("lost"))
		l.Cut(faultnet.RST)
		for _, c := range []net.Conn{a, b} {
			if n, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("Read: %d bytes, %v, want %v", n, err, syscall.ECONNRESET)
			}
		}
	})
}

// TestVanish: in a half-open connection, one end is gone, and the other does not notice.
func TestVanish(t *testing.T) {
	var counters faultnet.Counters
	bubble(t, faultnet.Config{Counters: &counters, Up: faultnet.Way{Buffer: 100}},
		func(t *testing.T, a, b net.Conn, l *faultnet.Link) {
			write(t, b, []byte("last words"))
			l.Vanish(faultnet.ListeningEnd)
			if _, err := b.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("Read: %v, want %v", err, syscall.ECONNRESET)
			}
			if _, err := b.Write([]byte("x")); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("Write: %v, want %v", err, syscall.ECONNRESET)
			}
			b.Close()
			wantRead(t, a, []byte("last words"))
			a.SetDeadline(time.Now().Add(24 * time.Hour))
			n, err := a.Write(make([]byte, 200))
			if n != 100 || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("Write: %d bytes, %v, want 100 and a deadline", n, err)
			}
			if _, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("Read: %v, want a deadline", err)
			}
			if n := counters.Vanished.Load(); n != 1 {
				t.Errorf("%d vanished, want 1", n)
			}
		})
}

// TestSetWay: a Way can be changed while the connection is up.
func TestSetWay(t *testing.T) {
	bubble(t, faultnet.Config{}, func(t *testing.T, a, b net.Conn, l *faultnet.Link) {
		l.SetWay(faultnet.Up, faultnet.Way{Delay: time.Minute})
		began := time.Now()
		write(t, a, []byte("slow"))
		l.SetWay(faultnet.Up, faultnet.Way{})
		write(t, a, []byte("fast"))
		wantRead(t, b, []byte("slowfast"))
		if d := time.Since(began); d != time.Minute {
			t.Errorf("took %v, want 1m", d)
		}
	})
}

// TestEnds: the ends behave like the net.Conns of TCP.
func TestEnds(t *testing.T) {
	cfg := faultnet.Config{
		Up: faultnet.Way{Delay: time.Second}, Down: faultnet.Way{Buffer: 100},
	}
	bubble(t, cfg,
		func(t *testing.T, a, b net.Conn, _ *faultnet.Link) {
			half := a.(interface{ CloseWrite() error })
			write(t, a, []byte("question"))
			if err := half.CloseWrite(); err != nil {
				t.Error(err)
			}
			if _, err := a.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
				t.Errorf("Write after CloseWrite: %v, want %v", err, syscall.EPIPE)
			}
			if p, err := io.ReadAll(b); string(p) != "question" || err != nil {
				t.Errorf("read %q, %v", p, err)
			}
			write(t, b, []byte("answer"))
			wantRead(t, a, []byte("answer"))

			// A Close is noticed once it arrives.
			if err := a.Close(); err != nil {
				t.Error(err)
			}
			if err := a.Close(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("second Close: %v", err)
			}
			if err := half.CloseWrite(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("CloseWrite after Close: %v", err)
			}
			for _, err := range []error{
				func() error { _, err := a.Read(make([]byte, 1)); return err }(),
				func() error { _, err := a.Write(make([]byte, 1)); return err }(),
			} {
				var op *net.OpError
				if !errors.Is(err, net.ErrClosed) || !errors.As(err, &op) {
					t.Errorf("after Close: %v", err)
				}
			}
			write(t, b, make([]byte, 1000)) // this is lost, so there is room
			time.Sleep(time.Second)
			if _, err := b.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
				t.Errorf("Write to who has closed: %v, want %v", err, syscall.EPIPE)
			}
			if a.LocalAddr().String() != b.RemoteAddr().String() ||
				a.RemoteAddr().String() != b.LocalAddr().String() {
				t.Errorf("addresses: %v-%v, %v-%v",
					a.LocalAddr(), a.RemoteAddr(), b.LocalAddr(), b.RemoteAddr())
			}
		})
}

// TestDeadlines: a deadline ends running calls. Calls work again after a new deadline.
func TestDeadlines(t *testing.T) {
	bubble(t, faultnet.Config{Up: faultnet.Way{Buffer: 1}},
		func(t *testing.T, a, b net.Conn, _ *faultnet.Link) {
			failed := make(chan error)
			go func() {
				_, err := a.Read(make([]byte, 1))
				failed <- err
			}()
			go func() {
				_, err := a.Write(make([]byte, 2))
				failed <- err
			}()
			synctest.Wait()
			a.SetDeadline(time.Now().Add(-time.Second))
			for range 2 {
				if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("got %v, want %v", err, os.ErrDeadlineExceeded)
				}
			}
			a.SetDeadline(time.Time{})
			wantRead(t, b, make([]byte, 1))
			write(t, a, []byte("x"))
			write(t, b, []byte("y"))
			wantRead(t, a, []byte("y"))
		})
}

// TestNonsense: invalid arguments cause a panic.
func TestNonsense(t *testing.T) {
	for name, cfg := range map[string]faultnet.Config{
		"a negative bandwidth": {Up: faultnet.Way{Bandwidth: -1}},
		"a negative delay":     {Down: faultnet.Way{Delay: -1}},
		"a probability of 2":   {Up: faultnet.Way{Flip: 2}},
		"a stream with losses": {Up: faultnet.Way{Loss: 0.1}},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			faultnet.Pipe(cfg)
		})
	}
}

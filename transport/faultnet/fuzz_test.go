package faultnet_test

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
)

// drawWay draws a Way that loses and changes nothing.
func drawWay(t *rapid.T, name string) faultnet.Way {
	pick := func(what string, of ...int) int { return rapid.SampledFrom(of).Draw(t, name+" "+what) }
	return faultnet.Way{
		Bandwidth:  pick("bandwidth", 0, 1, 100, 1448, 125_000, 125_000_000, 1<<40),
		Delay:      time.Duration(pick("delay", 0, 1, 1e6, 3e8, 1e11)),
		Jitter:     time.Duration(pick("jitter", 0, 1, 1e6, 3e8, 1e11)),
		Buffer:     pick("buffer", 0, 1, 7, 1000, 1<<20),
		MaxSegment: pick("segment", 0, 1, 13, 1448, 1<<20),
	}
}

// TestStreamWhole: over any network, streams that are not cut arrive unchanged, in both directions
// at once, while Ways change and directions freeze. Then they end.
func TestStreamWhole(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := faultnet.Config{
			Seed: rapid.Uint64().Draw(rt, "seed"), Up: drawWay(rt, "up"), Down: drawWay(rt, "down"),
		}
		size := rapid.IntRange(0, 5000).Draw(rt, "size")
		pieces := rapid.SliceOfN(rapid.IntRange(1, 2000), 1, 10).Draw(rt, "pieces")
		type change struct {
			after  time.Duration
			freeze bool
			d      faultnet.Direction
			way    faultnet.Way
		}
		directions := []faultnet.Direction{faultnet.Up, faultnet.Down}
		var changes []change
		for range rapid.IntRange(0, 3).Draw(rt, "changes") {
			changes = append(changes, change{
				after:  time.Duration(rapid.Int64Range(0, 1e10).Draw(rt, "after")),
				freeze: rapid.Bool().Draw(rt, "freeze"),
				d:      rapid.SampledFrom(directions).Draw(rt, "d"),
				way:    drawWay(rt, "changed"),
			})
		}
		var failed []string
		synctest.Test(t, func(*testing.T) {
			a, b, l := faultnet.Pipe(cfg)
			p := pattern(size)
			var changing sync.WaitGroup
			defer changing.Wait()
			changing.Go(func() {
				for _, c := range changes {
					time.Sleep(c.after)
					if c.freeze {
						l.Freeze(c.d)
						time.Sleep(c.after)
						l.Thaw(c.d)
					} else {
						l.SetWay(c.d, c.way)
					}
				}
			})
			results := make(chan string)
			for _, c := range []net.Conn{a, b} {
				go func() {
					for off, i := 0, 0; off < size; i++ {
						n := min(pieces[i%len(pieces)], size-off)
						if _, err := c.Write(p[off : off+n]); err != nil {
							results <- err.Error()
							return
						}
						off += n
					}
					c.(interface{ CloseWrite() error }).CloseWrite()
					results <- ""
				}()
				go func() {
					switch got, err := io.ReadAll(c); {
					case err != nil:
						results <- err.Error()
					case !bytes.Equal(got, p):
						results <- "the bytes are not those that were sent"
					default:
						results <- ""
					}
				}()
			}
			for range 4 {
				if s := <-results; s != "" {
					failed = append(failed, s)
				}
			}
		})
		if len(failed) > 0 {
			rt.Fatalf("%v", failed)
		}
	})
}

// FuzzCut: if a stream is cut at byte n, exactly the first n bytes arrive. Flipped bits do not
// change lengths.
func FuzzCut(f *testing.F) {
	f.Add(uint64(1), uint16(1000), uint16(10), uint16(3), true, 0.5)
	f.Add(uint64(2), uint16(0), uint16(0), uint16(0), false, 0.0)
	f.Add(uint64(3), uint16(5000), uint16(4999), uint16(1), false, 1.0)
	f.Fuzz(func(t *testing.T, seed uint64, size, cutAt, segment uint16, reset bool, flip float64) {
		if !(flip >= 0 && flip <= 1) {
			return
		}
		by := faultnet.FIN
		if reset {
			by = faultnet.RST
		}
		synctest.Test(t, func(t *testing.T) {
			a, b, _ := faultnet.Pipe(faultnet.Config{
				Seed:   seed,
				Up:     faultnet.Way{Flip: flip, MaxSegment: int(segment)},
				OnLink: func(l *faultnet.Link) { l.CutAt(faultnet.Up, int64(cutAt), by) },
			})
			p := pattern(int(size))
			go func() {
				a.Write(p)
				a.(interface{ CloseWrite() error }).CloseWrite()
			}()
			got, err := io.ReadAll(b)
			if want := min(size, cutAt); len(got) != int(want) {
				t.Errorf("%d bytes of %d came, cut at %d", len(got), size, cutAt)
			}
			if flip == 0 && !bytes.Equal(got, p[:len(got)]) {
				t.Error("the bytes are not those that were sent")
			}
			if wantErr := reset && cutAt <= size; (err != nil) != wantErr {
				t.Errorf("the stream ends with %v", err)
			}
		})
	})
}

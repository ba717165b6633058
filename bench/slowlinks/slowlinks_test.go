//go:build soak

package slowlinks

import (
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	kib = 1 << 10
	mib = 1 << 20
)

// The dimensions of the table.
var (
	rates      = []int{1, 10, 100, 1000}
	roundTrips = []time.Duration{0, 30 * time.Millisecond, 300 * time.Millisecond}
	stalls     = []time.Duration{0, 5 * time.Second}
)

// cells calls f for all cells, grouped by the rows of the table.
func cells(row func(transfer Transfer, draft bool, roundTrip, stall time.Duration)) {
	for _, transfer := range []Transfer{Read, Write} {
		for _, draft := range []bool{false, true} {
			for _, roundTrip := range roundTrips {
				for _, stall := range stalls {
					row(transfer, draft, roundTrip, stall)
				}
			}
		}
	}
}

// length returns the time that a link takes for the given bytes, but at least eight round trips.
func length(c Cell, bytes int) time.Duration {
	return max(8*c.RoundTrip, time.Duration(bytes)*time.Second/time.Duration(c.bandwidth()))
}

func run(t *testing.T, c Cell, length time.Duration) (r *Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var err error
		if r, err = Run(t.Context(), c, length); err != nil {
			t.Fatal(err)
		}
	})
	return r
}

// TestSlowLinks: no connection is lost while bytes move, or when they stop for a while, and bulk
// transfers use most of a link. A NULL at the same time waits for at most 1 MiB and what the
// network holds, or for 1.5 times what the link has in flight, if that is more. That much is
// posted, because the path is measured with posted data.
func TestSlowLinks(t *testing.T) {
	cells(func(transfer Transfer, draft bool, roundTrip, stall time.Duration) {
		for _, mbits := range rates {
			c := Cell{mbits, roundTrip, stall, draft, transfer}
			if mbits > 100 && (roundTrip > 100*time.Millisecond || stall > 0) {
				continue // a gigabyte; TestTable does it
			}
			if raceDetector && (mbits != 10 || roundTrip != roundTrips[1] || draft == (stall > 0)) {
				continue
			}
			t.Run(c.String(), func(t *testing.T) {
				r := run(t, c, length(c, 16*mib))
				if r.Lost != nil {
					t.Fatal(r.Lost)
				}
				if r.Used < 0.9 {
					t.Errorf("%.3f of the bandwidth were used, want 0.9", r.Used)
				}
				inFlight := int(float64(c.bandwidth()) * roundTrip.Seconds())
				if most := max(mib, inFlight*3/2) + 128*kib; mbits <= 100 && r.Ahead(c) > most {
					t.Errorf("a NULL took %v: %d KiB were ahead of it, want %d at most",
						r.Null, r.Ahead(c)/kib, most/kib)
				}
				if r.Nulls == 0 {
					t.Error("no NULL was answered")
				}
			})
		}
	})
}

// TestTable prints the table of docs/performance-history.md, if SLOW_TABLE is set.
func TestTable(t *testing.T) {
	if os.Getenv("SLOW_TABLE") == "" {
		t.Skip("SLOW_TABLE is not set")
	}
	fmt.Println("| | round trip | stall | 1 Mbit/s | 10 Mbit/s | 100 Mbit/s | 1 Gbit/s |")
	fmt.Println("|---|---|---|---|---|---|---|")
	cells(func(transfer Transfer, draft bool, roundTrip, stall time.Duration) {
		dialect := "RFC 8166"
		if draft {
			dialect = "draft"
		}
		fmt.Printf("| %v, %s | %v | %v |", transfer, dialect, roundTrip, stall)
		for _, mbits := range rates {
			c := Cell{mbits, roundTrip, stall, draft, transfer}
			print1(c, run(t, c, length(c, 64*mib)))
		}
		fmt.Println()
	})
}

// TestTableTCP is TestTable with real sockets and a relay between them, in real time. It includes
// what the buffers of the kernel and of the relay hold.
func TestTableTCP(t *testing.T) {
	if os.Getenv("SLOW_TABLE") == "" {
		t.Skip("SLOW_TABLE is not set")
	}
	for _, transfer := range []Transfer{Read, Write} {
		for _, roundTrip := range roundTrips[:2] {
			c := Cell{Mbits: 100, RoundTrip: roundTrip, Transfer: transfer}
			r, closeRelay, err := overTCP(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			res := r.measure(t.Context(), c, length(c, 64*mib))
			r.close()
			closeRelay()
			fmt.Printf("| %v, sockets | %v | 0s |", transfer, roundTrip)
			print1(c, res)
			fmt.Println()
		}
	}
}

func print1(c Cell, r *Result) {
	if r.Lost != nil {
		fmt.Print(" lost |")
		return
	}
	round := max(time.Millisecond, r.Null/1000).Round(time.Millisecond)
	fmt.Printf(" %.2f, %v, %d KiB |", r.Used, r.Null.Round(round), r.Ahead(c)/kib)
}

// TestWithout: NULLs before, after, around and inside a stall, and across its ends.
func TestWithout(t *testing.T) {
	stall := time.Now()
	for _, tt := range []struct{ began, took, want time.Duration }{
		{-3, 2, 2}, {-3, 3, 3}, {-3, 4, 3}, {-3, 20, 10}, {0, 4, 0}, {0, 11, 1}, {2, 3, 0}, {9, 3, 2},
		{10, 3, 3}, {12, 3, 3},
	} {
		n := null{stall.Add(tt.began), tt.took}
		if got := n.without(stall, 10); got != tt.want {
			t.Errorf("from %d for %d: %d, want %d", tt.began, tt.took, got, tt.want)
		}
	}
}

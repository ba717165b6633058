package budget

import (
	"fmt"
	"testing"
)

// BenchmarkReserve takes memory and gives it back, while nothing waits, and while many connections
// of another host at its share wait.
func BenchmarkReserve(b *testing.B) {
	for _, waiting := range []int{0, 30_000} {
		b.Run(fmt.Sprintf("%d waiting", waiting), func(b *testing.B) {
			r := newRig(100, 100, 1, 2)
			r.shares[0].Force(50)
			for range waiting {
				r.waits(1, 10)
			}
			s, c := r.shares[1], new(call)
			b.ReportAllocs()
			for b.Loop() {
				if !s.Reserve(&c.Request, c, 10) {
					b.Fatal("memory that is free was not to be had")
				}
				s.Release(10, 0)
			}
		})
	}
}

// BenchmarkRelease gives back memory that is not enough for any waiting request. Few or many wait,
// of one host or of many.
func BenchmarkRelease(b *testing.B) {
	for _, waiting := range []int{10, 30_000} {
		for _, hosts := range []int{1, waiting} {
			b.Run(fmt.Sprintf("%d of %d hosts", waiting, hosts), func(b *testing.B) {
				r := newRig(100, 100, hosts, hosts+1)
				for _, s := range r.shares {
					s.Force(50)
				}
				for i := range waiting {
					r.waits(i%hosts, int64(60+i%40))
				}
				s := r.shares[0]
				for b.Loop() {
					s.Release(50, 0)
					s.Force(50)
				}
			})
		}
	}
}

// waits makes a new connection of a host wait for n bytes.
func (r *rig) waits(host int, n int64) {
	c := new(call)
	if r.join(host, 100).Reserve(&c.Request, c, n) {
		panic("nothing should be free for it")
	}
}

package paired

import (
	"testing"
)

// TestTransfers checks that calls are answered, any number of them, and that the payload of a READ arrives where it belongs.
func TestTransfers(t *testing.T) {
	for _, s := range []Scenario{TCPRead(64<<10, 1), TCPRead(64<<10, 4), TCPWrite(64<<10, 4)} {
		t.Run(s.Name, func(t *testing.T) {
			sv, err := s.Listen(t.Context(), Sockets{})
			if err != nil {
				t.Fatal(err)
			}
			dialed, err := s.Dial(t.Context(), Sockets{}, sv.Addr())
			if err != nil {
				t.Fatal(err)
			}
			c := dialed.(*tcpCalls)
			for _, slot := range c.slots {
				if c.reply {
					clear(slot)
				}
			}
			for _, n := range []int{1, 3, 9} {
				if err := c.Run(n, nil); err != nil {
					t.Fatal(err)
				}
			}
			for i, slot := range c.slots {
				for k, got := range slot {
					if got != byte(k) {
						t.Fatalf("slot %d: byte %d is %d, want %d", i, k, got, byte(k))
					}
				}
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if err := sv.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

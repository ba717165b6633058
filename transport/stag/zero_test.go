package stag

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// TestNeverZero: adapters refuse a tag of 0. No tag is 0, whatever the random index, and even when
// the key wraps around to 0.
func TestNeverZero(t *testing.T) {
	// With this seed, the first random number makes an index of 0.
	var seed [32]byte
	binary.BigEndian.PutUint64(seed[:], 15339747)
	if n := rand.NewChaCha8(seed).Uint64(); uint32(n)>>keyBits != 0 {
		t.Fatalf("the generator draws %#x, which makes another index", n)
	}
	tab := New(2, nil)
	tab.rng = rand.NewChaCha8(seed)
	zeros := 0
	for range 3 << keyBits {
		r := expose(t, tab, write, make([]byte, 1))
		if uint32(r.STag)>>keyBits == 0 {
			t.Fatalf("got tag %#x, with index 0", r.STag)
		}
		if uint8(r.STag) == 0 {
			zeros++
		}
		tab.Revoke(r)
	}
	if zeros != 3 {
		t.Errorf("%d keys were 0, want 3 in three rounds", zeros)
	}
}

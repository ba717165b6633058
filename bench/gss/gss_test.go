package gss

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

// setUp opens both ends of s and closes them when the test ends.
func setUp(t *testing.T, s paired.Scenario) paired.Client {
	t.Helper()
	sv, err := s.Listen(t.Context(), paired.Sockets{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sv.Close(); err != nil {
			t.Error("server:", err)
		}
	})
	c, err := s.Dial(t.Context(), paired.Sockets{}, sv.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error("client:", err)
		}
	})
	return c
}

const testSize = 5000

// everywhere runs a test with each carrier and flavour.
func everywhere(t *testing.T, test func(*testing.T, Carrier, Flavor)) {
	for _, c := range []Carrier{TCP(), overIWARP()} {
		for _, f := range []Flavor{Sys, Krb5, Krb5i, Krb5p} {
			t.Run(fmt.Sprintf("%s+%s", c.name, f.name), func(t *testing.T) { test(t, c, f) })
		}
	}
}

// TestRead checks that each slot reads its own part.
func TestRead(t *testing.T) {
	everywhere(t, func(t *testing.T, ca Carrier, f Flavor) {
		c := setUp(t, Read(ca, f, testSize, 3)).(*client)
		want := make([][]byte, len(c.slots))
		for i, b := range c.slots {
			want[i] = bytes.Clone(b)
			clear(b)
		}
		if err := c.Run(7, nil); err != nil {
			t.Fatal(err)
		}
		for i, b := range c.slots {
			// Some slots may be unused: the first may take all calls.
			if !bytes.Equal(b, want[i]) && !bytes.Equal(b, make([]byte, testSize)) {
				t.Errorf("slot %d holds something else than the file", i)
			}
		}
	})
}

// TestWrite checks that the file holds what was written.
func TestWrite(t *testing.T) {
	everywhere(t, func(t *testing.T, ca Carrier, f Flavor) {
		c := setUp(t, Write(ca, f, testSize, 1)).(*client)
		for i := range c.slots[0] {
			c.slots[0][i] = byte(i * 3)
		}
		if err := c.Run(2, nil); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, testSize)
		if r, err := c.nfs.Read(t.Context(), c.file, 0, got); err != nil || r.N != testSize {
			t.Fatalf("got %d bytes and error %v", r.N, err)
		}
		if !bytes.Equal(got, c.slots[0]) {
			t.Error("the file does not hold what was written")
		}
	})
}

func TestNull(t *testing.T) {
	everywhere(t, func(t *testing.T, ca Carrier, f Flavor) {
		samples := make([]time.Duration, 20)
		if err := setUp(t, Null(ca, f)).Run(len(samples), samples); err != nil {
			t.Fatal(err)
		}
		for i, d := range samples {
			if d <= 0 {
				t.Errorf("sample %d is %v", i, d)
			}
		}
	})
}

// TestCrypto: with one operation in flight, sealed data is opened again.
func TestCrypto(t *testing.T) {
	const size = 4096 // whole blocks
	c := setUp(t, Crypto(size, 1)).(*opener)
	if err := c.Run(3, nil); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(c.work.slots[0], host.Pattern(size)) {
		t.Error("what was sealed and opened is not what it was")
	}
	c.work.seal(0)
	if bytes.Equal(c.work.slots[0], host.Pattern(size)) {
		t.Error("sealing changes nothing")
	}
}

// TestCryptoTogether: with several in flight, each end does its half.
func TestCryptoTogether(t *testing.T) {
	const size = 4096
	c := setUp(t, Crypto(size, 2)).(*opener)
	for range 2 {
		if err := c.Run(3, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, b := range c.work.slots {
		if bytes.Equal(b, host.Pattern(size)) {
			t.Errorf("slot %d was not opened", i)
		}
	}
}

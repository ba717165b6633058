package rping

import (
	"bytes"
	"fmt"
)

// Sizes of a ping's data in bytes, as in rping: from room for the initial text with its NUL to a
// little less than 64 KiB.
const (
	MinSize     = 23
	MaxSize     = 64<<10 - 1
	DefaultSize = 64
)

// The rest of the data cycles through these characters.
const (
	firstChar = 'A'
	lastChar  = 'z'
)

// Data returns size bytes of data for a ping: "rdma-ping-0: " with its number, then characters in a
// cycle that starts one further with each ping, and a NUL.
func Data(ping, size int) []byte {
	const circle = lastChar - firstChar + 1
	b := fmt.Appendf(make([]byte, 0, size), "rdma-ping-%d: ", ping)
	for c := ping % circle; len(b) < size; c++ {
		b = append(b, byte(firstChar+c%circle))
	}
	b = b[:size]
	b[size-1] = 0
	return b
}

// verify compares the data of a ping with Data.
func verify(got []byte, ping int) error {
	want := Data(ping, len(got))
	if bytes.Equal(got, want) {
		return nil
	}
	at := 0
	for got[at] == want[at] {
		at++
	}
	return fmt.Errorf("rping: ping %d: data mismatch: byte %d of %d is %#02x, want %#02x",
		ping, at, len(got), got[at], want[at])
}

// text returns the data up to its NUL.
func text(b []byte) []byte {
	s, _, _ := bytes.Cut(b, []byte{0})
	return s
}

package matrix

import "fmt"

// Item is one piece of variable-length opaque data among the arguments or the results of a call.
type Item struct {
	Len  int  // bytes
	Text bool // part of the stream, never moved by chunk on its own
}

func (it Item) String() string {
	if it.Text {
		return fmt.Sprintf("text(%d)", it.Len)
	}
	return fmt.Sprintf("bulk(%d)", it.Len)
}

func bulk(n int) Item { return Item{Len: n} }
func text(n int) Item { return Item{Len: n, Text: true} }

// What precedes an item in the stream.
const (
	BulkMark = 0xb01cda7a
	TextMark = 0x7e87da7a
)

// Tail is the last word of arguments and of results.
const Tail = 0x7a117a11

// Seeds of the data of arguments and of results.
const (
	ArgSeed    = 1
	ResultSeed = 101
)

// Data returns the n bytes of the i-th item. None of them is zero.
func Data(seed, i, n int) []byte {
	p := make([]byte, n)
	for k := range p {
		p[k] = byte(1 + (k*7+k>>8*13+(seed+i)*31)%255)
	}
	return p
}

// roundUp returns the length of n bytes of opaque data in the stream (RFC 4506 section 4.10).
func roundUp(n int) int { return (n + 3) &^ 3 }

// streamLen returns the length in bytes of arguments or results, without the data of bulk items
// that are left out.
func streamLen(items []Item, without int) int {
	n := 4 + 4
	for _, it := range items {
		n += 8
		if !it.Text && without > 0 {
			without--
			continue
		}
		n += roundUp(it.Len)
	}
	return n
}

package host

// Pattern returns n bytes that have been written to. Memory never written to is all the same page
// of zeros, which is faster to send than real data.
func Pattern(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i>>8 ^ i)
	}
	return p
}

package host

// Pattern returns n bytes that have been written to: memory that has not is all the same page of
// zeros, and faster to send than anybody's data.
func Pattern(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i>>8 ^ i)
	}
	return p
}

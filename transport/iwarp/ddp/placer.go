package ddp

// Placer is a Sink that says where payload belongs, so that an LLP can have the system put it there, while the
// segment is still on its way, and nobody copies it.
type Placer interface {
	Sink

	// Lend appends to dst the memory for the payload of a tagged segment, n bytes long, from byte skip on. The memory may be filled until
	// Return, which must not be far. It reports false, and lends nothing, where the payload is not to be placed: if
	// skip is 0, the segment goes to Segment when it is whole; else the rest is dropped, and Placed called.
	Lend(dst [][]byte, header []byte, n, skip int) ([][]byte, bool)

	// Return ends the loan.
	Return()

	// Placed takes a segment whose payload, n bytes, has been placed.
	Placed(header []byte, n int) error
}

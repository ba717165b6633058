package nfsfs

// buffer is memory for the data of a READ, or of WRITEs.
type buffer struct {
	mem  []byte
	used int // bytes of WRITEs that were put into it
	refs int // spans in it, and who else needs it
}

// smallBuffer is the bytes of the first buffer for what a file is written by few small WRITEs.
const smallBuffer = 64 << 10

// buffer returns n bytes of memory, used again where there is some.
func (f *FS) buffer(n int) *buffer {
	pool := &f.buffers
	if n <= smallBuffer {
		pool = &f.small
	}
	b, _ := pool.Get().(*buffer)
	if b == nil || cap(b.mem) < n {
		b = &buffer{mem: make([]byte, n)}
	}
	*b = buffer{mem: b.mem[:n]}
	return b
}

// free takes memory back.
func (f *FS) free(b *buffer) {
	if cap(b.mem) <= smallBuffer {
		f.small.Put(b)
	} else {
		f.buffers.Put(b)
	}
}

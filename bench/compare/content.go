package main

// content fills p with what the file has at off. No two blocks of the file that a READ may ask for
// are alike.
func content(p []byte, off int64) {
	for i := range p {
		o := uint64(off) + uint64(i)
		p[i] = byte(o ^ o>>8 ^ o>>16)
	}
}

// written fills p with what every WRITE writes, wherever it goes: the opposite of the beginning of
// the file.
func written(p []byte) {
	content(p, 0)
	for i := range p {
		p[i] = ^p[i]
	}
}

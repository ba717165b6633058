package main

// content fills p with the content of the file at off. All blocks that a READ may ask for differ.
func content(p []byte, off int64) {
	for i := range p {
		o := uint64(off) + uint64(i)
		p[i] = byte(o ^ o>>8 ^ o>>16)
	}
}

// written fills p with what every WRITE writes at any offset: the inverted beginning of the file.
func written(p []byte) {
	content(p, 0)
	for i := range p {
		p[i] = ^p[i]
	}
}

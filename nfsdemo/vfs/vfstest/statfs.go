package vfstest

import "math/rand/v2"

func testStatFS(f *fixture) {
	h := f.file("file")
	before, attr, err := f.fs.StatFS(f.ctx, f.fs.Root())
	f.ok(err)
	if !attr.Present || before.TotalBytes < before.FreeBytes || before.FreeBytes < before.AvailBytes ||
		before.TotalFiles < before.FreeFiles || before.FreeFiles < before.AvailFiles || before.AvailBytes == 0 {
		f.Errorf("%+v", before)
	}
	// Incompressible, for the file systems below a directory that compress.
	p := make([]byte, 8<<20)
	r := rand.NewChaCha8([32]byte{})
	r.Read(p)
	f.write(h, 0, p)
	if a := f.attr(h); a.Used < uint64(len(p)) {
		f.Errorf("%d bytes are in use for %d", a.Used, len(p))
	}
}

package vfstest

import (
	"bytes"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

func testSetAttr(f *fixture) {
	h := f.file("file")
	set := nfs3.Sattr{
		Mode:  nfs3.Set32{Set: true, To: 0o100751},
		UID:   nfs3.Set32{Set: true, To: 7},
		GID:   nfs3.Set32{Set: true, To: 8},
		Size:  nfs3.Set64{Set: true, To: 9},
		Atime: nfs3.SetTime{How: nfs3.ToClientTime, To: nfs3.Time{Sec: 10, Nsec: 11}},
		Mtime: nfs3.SetTime{How: nfs3.ToClientTime, To: nfs3.Time{Sec: 2_000_000_000, Nsec: 999_999_999}},
	}
	f.set(h, set)
	a := f.attr(h)
	if a.Mode != 0o751 || a.UID != 7 || a.GID != 8 || a.Size != 9 ||
		a.Atime != set.Atime.To || a.Mtime != set.Mtime.To {
		f.Errorf("%+v", a)
	}
	f.set(h, nfs3.Sattr{})
	if b := f.attr(h); b != a {
		f.Errorf("nothing was set: %+v, then %+v", a, b)
	}

	set = setMode(0o600)
	set.Size = nfs3.Set64{Set: true, To: 1}
	var err error
	for _, guard := range []nfs3.Time{
		{},
		{Sec: a.Ctime.Sec, Nsec: a.Ctime.Nsec ^ 1},
		{Sec: a.Ctime.Sec + 1, Nsec: a.Ctime.Nsec},
		{Sec: a.Ctime.Sec, Nsec: 1 << 31},
	} {
		var wcc nfs3.WccData
		wcc, err = f.fs.SetAttr(f.ctx, root, h, &set, &guard)
		f.want("guard", err, nfs3.ErrNotSync)
		if f.attr(h) != a || wcc.Before != a.Pre() || wcc.After != nfs3.PostOpAttrOf(a) {
			f.Errorf("changed in spite of the guard: %+v, %+v", f.attr(h), wcc)
		}
	}
	_, err = f.fs.SetAttr(f.ctx, root, h, &set, &a.Ctime)
	f.want("guard that holds", err, nfs3.OK)
	if b := f.attr(h); b.Mode != 0o600 || b.Ctime.Nanos() < a.Ctime.Nanos() {
		f.Errorf("%+v", b)
	}
}

// testSetAttrAtOnce: a SETATTR that fails changes nothing.
func testSetAttrAtOnce(f *fixture) {
	d := f.dir("dir", 0o777)
	h := f.fileOf(alice, d, "file", 0o644)
	f.write(h, 0, []byte("data"))
	before := f.attr(h)
	set := setMode(0o600)
	set.Size = nfs3.Set64{Set: true}
	set.UID = nfs3.Set32{Set: true, To: bob.UID}
	wcc, err := f.fs.SetAttr(f.ctx, alice, h, &set, nil)
	f.want("giving a file away", err, nfs3.ErrPerm)
	if f.attr(h) != before || wcc.After != nfs3.PostOpAttrOf(before) {
		f.Errorf("%+v, then %+v", before, f.attr(h))
	}
	if got, _ := f.read(h, 0, 10); string(got) != "data" {
		f.Errorf("%q", got)
	}
}

func testTruncate(f *fixture) {
	h := f.file("file")
	p := pattern(200000)
	for _, size := range []int{200000, 131072, 131071, 65537, 65536, 65535, 600, 512, 511, 1, 0} {
		f.write(h, 0, p)
		f.set(h, setSize(uint64(size)))
		if got, eof := f.read(h, 0, len(p)); !bytes.Equal(got, p[:size]) || !eof {
			f.Errorf("cut to %d: something else", size)
		}
		f.set(h, setSize(200001))
		want := append(p[:size:size], make([]byte, 200001-size)...)
		if got, _ := f.read(h, 0, len(p)+1); !bytes.Equal(got, want) {
			f.Errorf("cut to %d and extended: old data shows", size)
		}
		at := min(size+10, len(p))
		f.write(h, uint64(at), []byte("x"))
		copy(want[at:], "x")
		if got, _ := f.read(h, 0, len(want)); !bytes.Equal(got, want) {
			f.Errorf("cut to %d, extended and written: old data shows", size)
		}
		f.set(h, setSize(0))
	}
	f.set(h, setSize(1<<40))
	f.set(h, setSize(1<<39+5))
	if got, _ := f.read(h, 1<<39, 10); !bytes.Equal(got, make([]byte, 5)) {
		f.Errorf("%q", got)
	}
}

func testTimes(f *fixture) {
	begin := time.Now()
	h := f.file("file")
	f.write(h, 0, []byte("x"))
	a := f.attr(h)
	// A host's clock for files may lag while a busy machine misses its ticks.
	slack := f.fs.Info().TimeDelta.Nanos() + int64(time.Second)
	for _, at := range []nfs3.Time{a.Atime, a.Mtime, a.Ctime} {
		if at.Nanos() < begin.UnixNano()-slack || at.Nanos() > time.Now().UnixNano()+slack || at.Nsec >= 1e9 {
			f.Errorf("%v is not now", at.Time())
		}
	}
	// The server's time, for one of them.
	client := nfs3.Time{Sec: 1, Nsec: 2}
	f.set(h, nfs3.Sattr{
		Atime: nfs3.SetTime{How: nfs3.ToClientTime, To: client},
		Mtime: nfs3.SetTime{How: nfs3.ToServerTime},
	})
	b := f.attr(h)
	if b.Atime != client || b.Mtime.Nanos() < a.Mtime.Nanos() {
		f.Errorf("%+v", b)
	}
	// Reading moves atime alone, or nothing where that is not kept.
	f.read(h, 0, 1)
	c := f.attr(h)
	if c.Mtime != b.Mtime || c.Ctime != b.Ctime {
		f.Errorf("read: %+v, then %+v", b, c)
	}
	set := nfs3.Sattr{Mtime: nfs3.SetTime{How: nfs3.ToClientTime, To: nfs3.Time{Nsec: 1e9}}}
	_, err := f.fs.SetAttr(f.ctx, root, h, &set, nil)
	f.want("a second of 1e9 nanoseconds", err, nfs3.ErrInval)
}

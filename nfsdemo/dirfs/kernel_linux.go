package dirfs

import (
	"math"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// byKernel finds files by kernel handles. It remembers nothing.
type byKernel struct {
	t     *tree
	mount int // descriptor of the root, not O_PATH, for open_by_handle_at

	// former finds files by handles with keys, from a time when the process could not use kernel
	// handles. It is nil if there are none.
	former *byName
	mu     sync.Mutex        // guards today
	today  map[fileID]fileID // kernel handles of former files, at most maxToday
}

// maxToday bounds byKernel.today.
const maxToday = 16 << 10

// newByKernel returns nil if the kernel gives no handles for the directory, if they are too long,
// or if the process may not open them. It finds out by trying: root may lack the capability in a
// container, and other users may have it.
func newByKernel(t *tree) *byKernel {
	k := &byKernel{t: t, today: make(map[fileID]fileID)}
	var err error
	if k.mount, err = reopen(t.descs.root.fd, unix.O_RDONLY|unix.O_DIRECTORY); err != nil {
		return nil
	}
	st := t.host.root
	id, err := k.identify(t.descs.root.fd, &noName[0], &st)
	fd := -1
	if err == nil {
		fd, err = openHandle(k.mount, &id)
	}
	if err == nil {
		err = statFD(fd, &st)
		unix.Close(fd)
	}
	if err != nil || !sameFile(&st, &t.host.root) {
		unix.Close(k.mount)
		return nil
	}
	return k
}

// identify gets the kernel handle of a name, and checks that the name has not changed meanwhile.
func (k *byKernel) identify(dirfd int, name *byte, st *unix.Statx_t) (fileID, error) {
	for range maxTries {
		id, err := nameToHandle(dirfd, name)
		if err != nil || *name == 0 {
			return id, err
		}
		was := *st
		if err := statName(dirfd, name, st); err != nil {
			return fileID{}, err
		}
		if !k.t.host.own(st) {
			return fileID{}, unix.EACCES // mounted over meanwhile
		}
		if sameFile(&was, st) && was.Btime == st.Btime {
			return id, nil
		}
	}
	return fileID{}, unix.EAGAIN
}

// maxTries bounds attempts that fail because the host changes the directory.
const maxTries = 100

func (k *byKernel) admit(id fileID) (fileID, error) {
	switch {
	case id.kernel:
		return id, nil
	case k.former == nil:
		return id, nfs3.ErrStale
	}
	k.mu.Lock()
	today, ok := k.today[id]
	k.mu.Unlock()
	if ok {
		return today, nil
	}
	d, err := k.former.find(&id)
	if err != nil {
		return id, err
	}
	defer d.release()
	if today, err = nameToHandle(d.fd, &noName[0]); err != nil {
		return id, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.today) >= maxToday {
		clear(k.today)
	}
	k.today[id] = today
	return today, nil
}

func (k *byKernel) open(n *node) (*desc, error) {
	fd, err := k.t.descs.withRoom(func() (int, error) { return openHandle(k.mount, &n.id) })
	if err == unix.ESTALE {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return k.t.descs.paths.add(n, fd, false), nil
}

func (k *byKernel) parent(d dir) (dir, error) {
	fd, err := k.t.descs.withRoom(func() (int, error) { return k.t.host.above(d.path.fd) })
	if err != nil {
		return dir{}, k.t.host.status("lookup", err)
	}
	id, err := nameToHandle(fd, &noName[0])
	if err != nil || id == k.t.root.id {
		unix.Close(fd)
		if err != nil {
			return dir{}, k.t.host.status("lookup", err)
		}
		f, err := k.t.holdNode(k.t.root)
		return dir{f}, err
	}
	n := k.t.nodeOf(&id)
	return dir{file{k.t, n, k.t.descs.paths.add(n, fd, false)}}, nil
}

func (k *byKernel) used(*fileID) bool           { return false }
func (k *byKernel) seen(*fileID, *node, string) {}
func (k *byKernel) left(*fileID, *node, string) {}
func (k *byKernel) gone(*fileID)                {}

func (k *byKernel) keep() {
	if k.former != nil {
		k.former.keep()
	}
}

func (k *byKernel) close() error {
	unix.Close(k.mount)
	if k.former != nil {
		return k.former.close()
	}
	return nil
}

// kernelHandle is a struct file_handle.
type kernelHandle struct {
	bytes uint32
	kind  int32
	b     [maxKernelHandle]byte
}

// nameToHandle is name_to_handle_at(2). It returns EOVERFLOW if the handle is too long.
func nameToHandle(dirfd int, name *byte) (fileID, error) {
	h := kernelHandle{bytes: maxKernelHandle}
	var mount int32
	err := again(func() error {
		_, _, e := unix.Syscall6(unix.SYS_NAME_TO_HANDLE_AT, uintptr(dirfd),
			uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&h)),
			uintptr(unsafe.Pointer(&mount)), unix.AT_EMPTY_PATH, 0)
		if e != 0 {
			return e
		}
		return nil
	})
	if err != nil {
		return fileID{}, err
	}
	if h.kind < 0 || h.kind > math.MaxUint8 || h.bytes%4 != 0 {
		return fileID{}, unix.EOVERFLOW
	}
	return fileID{kernel: true, kind: byte(h.kind), n: byte(h.bytes), b: h.b}, nil
}

// openHandle is open_by_handle_at(2) with O_PATH. ext4 returns ENOMEM while a process creates a
// file under the same inode number. That process may have lost its processor, so each try waits
// longer than the one before, all together for half a second.
func openHandle(mount int, id *fileID) (int, error) {
	h := kernelHandle{bytes: uint32(id.n), kind: int32(id.kind), b: id.b}
	for tries := 0; ; tries++ {
		fd, _, e := unix.Syscall(unix.SYS_OPEN_BY_HANDLE_AT, uintptr(mount),
			uintptr(unsafe.Pointer(&h)), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC)
		switch {
		case e == 0:
			return int(fd), nil
		case e == unix.EINTR:
		case e == unix.ENOMEM && tries < maxTries:
			time.Sleep(time.Duration(tries) * 100 * time.Microsecond)
		default:
			return -1, e
		}
	}
}

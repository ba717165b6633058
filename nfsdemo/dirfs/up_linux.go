package dirfs

import "golang.org/x/sys/unix"

// above returns an O_PATH descriptor of the parent of a directory. It returns unix.ESTALE if the
// host has moved the directory out of the root.
func (h *host) above(fd int) (int, error) {
	up, err := openUp(fd)
	if err != nil {
		return -1, err
	}
	if err := h.contains(up); err != nil {
		unix.Close(up)
		return -1, err
	}
	return up, nil
}

// contains returns nil if a directory is the root or below it, otherwise unix.ESTALE.
func (h *host) contains(fd int) error {
	var st, last unix.Statx_t
	at := fd
	defer func() {
		if at != fd {
			unix.Close(at)
		}
	}()
	for range maxDepth {
		if err := statFD(at, &st); err != nil {
			return err
		}
		switch {
		case !h.own(&st), sameFile(&st, &last): // the host's root is its own ".."
			return unix.ESTALE
		case sameFile(&st, &h.root):
			return nil
		}
		last = st
		up, err := openUp(at)
		if err != nil {
			return err
		}
		if at != fd {
			unix.Close(at)
		}
		at = up
	}
	return unix.ESTALE
}

func openUp(fd int) (int, error) {
	return retry(func() (int, error) {
		return unix.Openat(fd, "..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
}

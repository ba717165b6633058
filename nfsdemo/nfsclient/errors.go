package nfsclient

// Error is the error of a procedure. Err is or wraps a status of the server (nfs3.Status or
// mount3.Status), or an error of the RPC layer such as an *oncrpc.CallError. errors.Is finds
// fs.ErrNotExist and the like in a status.
type Error struct {
	Op   string // name of the procedure, such as "LOOKUP"
	Name string // name or path in the call; "" if it had none
	// Repeated says that the call was sent more than once, because its connection was lost (package
	// redial). A status such as NFS3ERR_EXIST or NFS3ERR_NOENT may then mean that the first copy
	// succeeded, if the server has no reply cache.
	Repeated bool
	Err      error
}

func (e *Error) Error() string {
	s := "nfs: " + e.Op
	if e.Name != "" {
		s += " " + e.Name
	}
	s += ": " + e.Err.Error()
	if e.Repeated && changesDirectory(e.Op) {
		s += " (the call was sent more than once: the first may have been executed)"
	}
	return s
}

// changesDirectory reports whether a procedure may fail when it is executed a second time, because
// the first has changed the directory.
func changesDirectory(op string) bool {
	switch op {
	case "CREATE", "MKDIR", "SYMLINK", "MKNOD", "REMOVE", "RMDIR", "RENAME", "LINK":
		return true
	}
	return false
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

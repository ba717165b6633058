package nfsclient

// Error is a procedure that failed. Err is, or wraps, the status with which the server
// answered (nfs3.Status, mount3.Status; errors.Is with fs.ErrNotExist and
// the like finds them) or the error of the RPC layer, such as an *oncrpc.CallError.
type Error struct {
	Op   string // the procedure's name: "LOOKUP"
	Name string // what it was about, where that has a name
	// Repeated says that the call was sent more than once, since its connection ended (package
	// redial): an answer such as NFS3ERR_EXIST or NFS3ERR_NOENT may be owed to its own first
	// execution, if the server keeps no replies.
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

// changesDirectory reports whether a procedure that is executed twice fails the second time, for
// what is in the directory then.
func changesDirectory(op string) bool {
	switch op {
	case "CREATE", "MKDIR", "SYMLINK", "MKNOD", "REMOVE", "RMDIR", "RENAME", "LINK":
		return true
	}
	return false
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

package nfsmount

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
)

// Error means that a directory could not be mounted, although MOUNT was found.
type Error struct {
	Host      string          // of the server
	Path      string          // what could not be mounted
	Listed    bool            // Path is one of Exports, not a guess
	Exports   []mount3.Export // that the server lists
	ExportErr error           // why the server has not listed its exports

	// Unprivileged: the call came from a port of 1024 or above, over TCP or RDMA. The server may
	// have refused it for that.
	Unprivileged bool
	// Err is or wraps the status of the server (mount3.Status), a *FlavorError, or an error of the
	// RPC layer. errors.Is finds fs.ErrPermission and the like in a status.
	Err error
}

func (e *Error) Error() string {
	var status mount3.Status
	var flavor *FlavorError
	if !errors.As(e.Err, &status) && !errors.As(e.Err, &flavor) {
		return fmt.Sprintf("mount of %s from %s: %v", quoted(e.Path), e.Host, e.Err)
	}
	var b strings.Builder
	switch {
	case flavor != nil:
		return fmt.Sprintf("mount refused: %s: %s %v", e.Host, quoted(e.Path), flavor)
	case e.Listed || e.ExportErr != nil || len(e.Exports) == 0:
		fmt.Fprintf(&b, "mount refused: %s answers %v for %s; ", e.Host, status, quoted(e.Path))
	default:
		fmt.Fprintf(&b, "mount refused: no export of %s holds %s (%v); ",
			e.Host, quoted(e.Path), status)
	}
	switch {
	case e.ExportErr != nil:
		fmt.Fprintf(&b, "it does not say what it exports: %v", reason(e.ExportErr))
	case len(e.Exports) == 0:
		b.WriteString("it lists no exports")
	default:
		b.WriteString("it exports " + describe(e.Exports))
	}
	if e.wantsPrivilege(status) {
		b.WriteString("; it may want calls from a port below 1024 (secure, the default of exports " +
			"files): add insecure to the export, or call as root, over TCP or iWARP")
	}
	return b.String()
}

// wantsPrivilege reports whether the server may have refused because of the port.
func (e *Error) wantsPrivilege(s mount3.Status) bool {
	return e.Unprivileged && (s == mount3.ErrAcces || s == mount3.ErrPerm) &&
		(e.Listed || len(e.Exports) == 0)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// FlavorError means that the server takes none of the client's flavours.
type FlavorError struct {
	Flavors []mount3.Flavor // that the server takes
	Have    []mount3.Flavor // that the client has
}

func (e *FlavorError) Error() string {
	return fmt.Sprintf("is for callers with %s credentials, but the client has only %s ones",
		flavorNames(e.Flavors), flavorNames(e.Have))
}

func flavorNames(flavors []mount3.Flavor) string {
	var names []string
	for _, f := range flavors {
		names = append(names, flavorName(f))
	}
	return strings.Join(names, " or ")
}

func flavorName(f mount3.Flavor) string {
	switch f {
	case mount3.FlavorNone:
		return "AUTH_NONE"
	case mount3.FlavorSys:
		return "AUTH_SYS"
	case mount3.FlavorKrb5, mount3.FlavorKrb5i, mount3.FlavorKrb5p:
		return fmt.Sprintf("Kerberos (%v)", f)
	}
	return f.String()
}

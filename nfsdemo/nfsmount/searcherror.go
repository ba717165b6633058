package nfsmount

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

// SearchError means that no MOUNT program answered.
type SearchError struct {
	Host  string
	Tried []Attempt // in order
}

// Attempt is a place where no MOUNT program answered.
type Attempt struct {
	Where string // description with the address
	Err   error
}

func (e *SearchError) Error() string {
	var all []string
	for _, t := range e.Tried {
		all = append(all, t.Where+": "+reason(t.Err))
	}
	s := "no MOUNT service"
	if e.Host != "" {
		s += " at " + e.Host
	}
	if len(all) == 0 {
		return s + ": there is nowhere to look for it"
	}
	return s + ": " + strings.Join(all, "; ")
}

// Unwrap returns the errors of all attempts.
func (e *SearchError) Unwrap() []error {
	var all []error
	for _, t := range e.Tried {
		all = append(all, t.Err)
	}
	return all
}

// reason describes an error without its address, which the caller names.
func reason(err error) string {
	var accept *oncrpc.AcceptError
	var call *os.SyscallError
	var dns *net.DNSError
	switch {
	case errors.As(err, &accept):
		return accept.Error()
	case errors.As(err, &call):
		return call.Err.Error()
	case errors.As(err, &dns):
		return dns.Err
	case errors.Is(err, rpcbind.ErrNotRegistered):
		return "MOUNT is not registered there"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer"
	}
	return err.Error()
}

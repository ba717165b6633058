package transport_test

import (
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// plain has no optional interface. wrapper and polling wrap an endpoint; hiding hides the one below
// it.
type (
	plain   struct{ transport.Endpoint }
	wrapper struct{ transport.Endpoint }
	polling struct {
		wrapper
		name string
	}
	hiding struct{ transport.Endpoint }
)

func (w wrapper) Unwrap() transport.Endpoint               { return w.Endpoint }
func (polling) PostPolled(...*transport.WorkRequest) error { return nil }
func (polling) Poll()                                      {}

func TestAs(t *testing.T) {
	bottom := polling{wrapper{plain{}}, "bottom"}
	top := polling{wrapper{bottom}, "top"}
	for _, tt := range []struct {
		name string
		ep   transport.Endpoint
		want string // the one found; "" if none
	}{
		{"itself", bottom, "bottom"},
		{"below a wrapper", wrapper{bottom}, "bottom"},
		{"below two", wrapper{wrapper{bottom}}, "bottom"},
		{"the first of two", wrapper{top}, "top"},
		{"below one that hides", hiding{bottom}, ""},
		{"nowhere", wrapper{plain{}}, ""},
		{"below a wrapper of nothing", wrapper{}, ""},
		{"no endpoint", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// By the interface and by the type.
			ability, ok := transport.As[transport.Poller](tt.ep)
			found, is := transport.As[polling](tt.ep)
			if ok != (tt.want != "") || is != ok || found.name != tt.want {
				t.Fatalf("found %t and %t, %q, want %q", ok, is, found.name, tt.want)
			}
			if ok && ability.(polling).name != tt.want {
				t.Errorf("found %v, want %q", ability, tt.want)
			}
		})
	}
}

// TestRemoteAccess: each particular error is a remote access error, and is none of the others.
func TestRemoteAccess(t *testing.T) {
	particular := []error{transport.ErrSTag, transport.ErrBounds, transport.ErrAccess}
	for i, err := range particular {
		if !errors.Is(err, transport.ErrRemoteAccess) {
			t.Errorf("%v is no ErrRemoteAccess", err)
		}
		for j, other := range particular {
			if errors.Is(err, other) != (i == j) {
				t.Errorf("%v is %v: %t, want %t", err, other, i != j, i == j)
			}
		}
	}
}

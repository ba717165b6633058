package rpcbind_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

// Mappings that others have registered.
var (
	others = rpcbind.Mapping{Program: 100000, Version: 4, Netid: "tcp", Addr: "0.0.0.0.0.111", Owner: "superuser"}
	stale  = rpcbind.Mapping{Program: 100003, Version: 3, Netid: "tcp", Addr: "0.0.0.0.9.9", Owner: owner}
)

func TestRegister(t *testing.T) {
	f := both()
	f.list = []rpcbind.Mapping{others, stale}
	c := f.start(t, "tcp").dial(t)
	set := []rpcbind.Mapping{nfsTCP, nfsRDMA}
	r, err := rpcbind.Register(t.Context(), c, set)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.mappings(), []rpcbind.Mapping{others, nfsTCP, nfsRDMA}; !equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := r.Mappings(); !equal(got, set) {
		t.Errorf("got %v, want %v", got, set)
	}
	f.hangUp() // as rpcbind does after half a minute
	if err := r.Unregister(t.Context()); err != nil {
		t.Error(err)
	}
	if got, want := f.mappings(), []rpcbind.Mapping{others}; !equal(got, want) {
		t.Errorf("left: %v, want %v", got, want)
	}
	n := len(f.calls())
	if err := r.Unregister(t.Context()); err != nil || len(f.calls()) != n {
		t.Errorf("a second time: got %v, calls %v", err, f.calls()[n:])
	}
}

// Unregister leaves a mapping that another server has put in place of ours.
func TestUnregisterReplaced(t *testing.T) {
	f := both()
	c := f.start(t, "tcp").dial(t)
	r, err := rpcbind.Register(t.Context(), c, []rpcbind.Mapping{nfsTCP, nfsRDMA})
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	f.list = []rpcbind.Mapping{stale, nfsRDMA}
	f.list[1].Owner = owner
	f.mu.Unlock()
	if err := r.Unregister(t.Context()); err != nil {
		t.Error(err)
	}
	if got, want := f.mappings(), []rpcbind.Mapping{stale}; !equal(got, want) {
		t.Errorf("left: %v, want %v", got, want)
	}
}

// If one mapping is refused, the others are removed.
func TestRegisterRefused(t *testing.T) {
	foreign := stale
	foreign.Owner = "superuser"
	tests := []struct {
		name  string
		there []rpcbind.Mapping
		fails string
	}{
		{"another's", []rpcbind.Mapping{others, foreign}, ""},
		{"for no reason", []rpcbind.Mapping{others}, "tcp"},
	}
	for _, tt := range tests {
		f := both()
		f.list, f.fails = slices.Clone(tt.there), tt.fails
		c := f.start(t, "tcp").dial(t)
		_, err := rpcbind.Register(t.Context(), c, []rpcbind.Mapping{nfsRDMA, nfsTCP})
		var op *rpcbind.OpError
		if !errors.Is(err, rpcbind.ErrRefused) || !errors.As(err, &op) || op.Mapping != nfsTCP {
			t.Errorf("%s: got %v, want ErrRefused", tt.name, err)
		}
		if got := f.mappings(); !equal(got, tt.there) {
			t.Errorf("%s: left: %v, want %v", tt.name, got, tt.there)
		}
	}
}

// A mapping that could not be removed can be tried again.
func TestUnregisterFails(t *testing.T) {
	f := both()
	c := f.start(t, "tcp").dial(t)
	r, err := rpcbind.Register(t.Context(), c, []rpcbind.Mapping{nfsTCP, nfsRDMA})
	if err != nil {
		t.Fatal(err)
	}
	setOwner := func(o string) {
		f.mu.Lock()
		f.list[len(f.list)-1].Owner = o
		f.mu.Unlock()
	}
	setOwner("superuser")
	if err := r.Unregister(t.Context()); !errors.Is(err, rpcbind.ErrRefused) {
		t.Errorf("got %v, want ErrRefused", err)
	}
	if got, want := f.mappings(), []rpcbind.Mapping{nfsRDMA}; !equal(got, want) {
		t.Errorf("left: %v, want %v", got, want)
	}
	setOwner(owner)
	if err := r.Unregister(t.Context()); err != nil || len(f.mappings()) != 0 {
		t.Errorf("got %v, left %v", err, f.mappings())
	}
}

// If the context ends in the middle, nothing stays registered.
func TestRegisterCancelled(t *testing.T) {
	for _, at := range []string{"unset " + nfsTCP.String(), "set " + nfsTCP.String()} {
		f := both()
		ctx, cancel := context.WithCancel(t.Context())
		f.asked = func(call string) {
			if call == at {
				cancel()
			}
		}
		c := f.start(t, "tcp").dial(t)
		// One more mapping, so that the end of the context is noticed even if the answer arrives
		// first.
		if _, err := rpcbind.Register(ctx, c, []rpcbind.Mapping{nfsRDMA, nfsTCP, others}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want context.Canceled", at, err)
		}
		if got := f.mappings(); len(got) > 0 {
			t.Errorf("%s: left: %v", at, got)
		}
	}
}

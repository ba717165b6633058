package oncrpc_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/poison"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// tracked is a flavour that counts the calls of its methods.
type tracked struct {
	*macClient

	mu       sync.Mutex // guards the fields below
	underWay int
	checks   map[oncrpc.ReplyCheck]bool // in use
	ended    int
	over     int
}

func (f *tracked) Ready(ctx context.Context, c *oncrpc.Client) error {
	if err := f.macClient.Ready(ctx, c); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.underWay++
	return nil
}

func (f *tracked) Seal(e *xdr.Encoder, args *xdr.Message) (oncrpc.ReplyCheck, error) {
	check, err := f.macClient.Seal(e, args)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.checks[check] = true
	return check, err
}

func (f *tracked) Over(check oncrpc.ReplyCheck) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.checks[check] {
		panic("check that is not in use is over")
	}
	delete(f.checks, check)
	f.over++
}

func (f *tracked) Ended() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.underWay--
	f.ended++
}

// A flavour learns of the end of each call that it made ready, and of each transmission, however
// they end.
func TestCallTracker(t *testing.T) {
	ms := &macServer{keys: map[string]string{"alice": "secret"}}
	s := newServer(t, macConfig(ms), oncrpc.Procedure{Handler: echoes})
	near, far := connection(t)
	far.Serve(s)
	sends := &sealing{Transport: near}
	for _, tt := range []*struct {
		name        string
		client      macClient
		session     uint32 // the least that the server takes
		seals       int
		ended, over int
		ok          bool
	}{
		{"answered", macClient{name: "alice", key: "secret"}, 0, 1, 1, 1, true},
		{"not ready", macClient{name: "alice", key: "secret", fail: errMAC}, 0, 1, 0, 0, false},
		{"never sealed", macClient{name: "alice", key: "secret"}, 0, 0, 1, 0, false},
		{"sealed three times", macClient{name: "alice", key: "secret"}, 0, 3, 1, 3, true},
		{"denied once", macClient{name: "alice", key: "secret"}, 1, 1, 2, 2, true},
		{"denied twice", macClient{name: "alice", key: "secret"}, 2, 1, 2, 2, false},
		{"denied for good", macClient{name: "bob", key: "secret"}, 0, 1, 1, 1, false},
	} {
		ms.seen, ms.session = nil, tt.session
		sends.n = tt.seals
		f := &tracked{macClient: &tt.client, checks: make(map[oncrpc.ReplyCheck]bool)}
		err := oncrpc.NewClient(sends, testProgram, testVersion, f).Call(t.Context(), 1,
			&echo{data: []byte("x")}, &echo{into: make([]byte, 1)})
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
		if f.underWay != 0 || len(f.checks) != 0 || f.ended != tt.ended || f.over != tt.over {
			t.Errorf("%s: %d under way, %d checks in use; %d ended, %d over; want %d and %d", tt.name,
				f.underWay, len(f.checks), f.ended, f.over, tt.ended, tt.over)
		}
	}
}

// sealing is a Transport that makes a message n times and sends the last.
type sealing struct {
	oncrpc.Transport
	n int
}

func (s *sealing) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	if s.n == 0 {
		return errors.New("not sent")
	}
	for range s.n - 1 {
		if err := x.Seal(1); err != nil {
			return err
		}
	}
	return s.Transport.RoundTrip(ctx, x)
}

// scratching is a flavour that reuses its memory.
type scratching struct {
	mu    sync.Mutex // guards the fields below
	inUse map[*scratch]bool
	made  int
	again int
}

type scratch struct{ f *scratching }

func (s *scratch) Release() {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	if !s.f.inUse[s] {
		panic("memory that is not in use is released")
	}
	delete(s.f.inUse, s)
}

func (f *scratching) Flavor() oncrpc.AuthFlavor { return oncrpc.FlavorNone }

func (f *scratching) Accept(_ context.Context, a *oncrpc.Acceptance) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := a.Scratch.(*scratch)
	if ok {
		f.again++
	} else {
		s = &scratch{f}
		a.Scratch = s
		f.made++
	}
	if f.inUse[s] {
		panic("memory of another call is there")
	}
	f.inUse[s] = true
	if a.Header().Procedure == 7 {
		return oncrpc.ErrDrop
	}
	return nil
}

// Acceptance.Scratch comes back with a later call, but not before its call has ended.
func TestScratch(t *testing.T) {
	f := &scratching{inUse: make(map[*scratch]bool)}
	s := newServer(t, oncrpc.ServerConfig{Flavors: []oncrpc.ServerFlavor{f}},
		oncrpc.Procedure{Handler: echoes})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				for _, procedure := range []uint32{0, 1, 7, 9} {
					dispatch(t, s, callBytes(1, procedure, 0))
				}
			}
		})
	}
	all.Wait()
	s.Shutdown(t.Context()) // until the last call has ended, too
	if len(f.inUse) > 0 || f.made+f.again != 8*200*4 {
		t.Errorf("%d in use, made %d times and used again %d times", len(f.inUse), f.made, f.again)
	}
	if f.again == 0 && !poison.On {
		t.Error("nothing is used again")
	}
}

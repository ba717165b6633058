package stag

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

func TestLend(t *testing.T) {
	const size = 12
	for _, tt := range []struct {
		name         string
		access       transport.Access
		off, n, skip uint64
		abandoned    bool
		want         []int // lengths of the loans
		err          error
	}{
		{"all", write, 0, size, 0, false, []int{3, 5, 4}, nil},
		{"what is left", write, 0, size, 4, false, []int{4, 4}, nil},
		{"the last byte", write, 0, size, 11, false, []int{1}, nil},
		{"within a buffer", write, 4, 3, 1, false, []int{2}, nil},
		{"to the end of a buffer", write, 4, 4, 0, false, []int{4}, nil},
		{"nothing left", write, 0, size, size, false, nil, nil},
		{"beyond the end", write, 1, size, 8, false, nil, transport.ErrBounds},
		{"not to be written", read, 0, size, 0, false, nil, transport.ErrAccess},
		{"abandoned", write, 0, size, 0, true, nil, errAbandoned},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tab := New(10, nil)
			mem := make([]byte, size)
			r := expose(t, tab, tt.access, mem[:3], nil, mem[3:8], mem[8:])
			if tt.abandoned {
				tab.Abandon(r)
			}
			got, loan, err := tab.Lend(nil, r.STag, r.Base+tt.off, tt.n, tt.skip)
			wantErr(t, err, tt.err)
			if err == nil {
				want := tt.off + tt.skip
				var lengths []int
				for _, b := range got {
					lengths = append(lengths, len(b))
					if &b[0] != &mem[want] {
						t.Errorf("the memory behind %d bytes is not that of the window", want)
					}
					want += uint64(len(b))
				}
				if diff := cmp.Diff(tt.want, lengths); diff != "" {
					t.Errorf("lengths (-want +got):\n%s", diff)
				}
				loan.Return()
			} else if got != nil {
				t.Errorf("got %d buffers with an error", len(got))
			}
			tab.Revoke(r) // nobody holds it
			_, _, err = tab.Lend(nil, r.STag, r.Base, 1, 0)
			wantErr(t, err, transport.ErrSTag)
		})
	}
}

// TestRevokeWaitsForLoan checks that the end of a window waits until its memory is no longer lent.
func TestRevokeWaitsForLoan(t *testing.T) {
	for name, end := range map[string]func(*Table, transport.Region){
		"revoke":  func(tab *Table, r transport.Region) { tab.Revoke(r) },
		"abandon": func(tab *Table, r transport.Region) { tab.Abandon(r) },
	} {
		t.Run(name, func(t *testing.T) {
			tab := New(10, nil)
			mem := make([]byte, 8)
			r := expose(t, tab, write, mem)
			lent, loan, err := tab.Lend(nil, r.STag, r.Base, 8, 0)
			if err != nil {
				t.Fatal(err)
			}
			over := make(chan struct{})
			go func() {
				end(tab, r)
				clear(mem) // too early, this is a race that the detector finds
				close(over)
			}()
			lent[0][7] = 1
			loan.Return()
			<-over
		})
	}
}

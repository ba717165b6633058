package oncrpc

import "testing"

// A handler has refused a copy without fetching its data, and is started again, because the first
// call has failed meanwhile. If it fetches now, the call is known by its data, too.
func TestAgainUnfetched(t *testing.T) {
	r := newReplyCache(1 << 20)
	call := func() *OnceCall { return &OnceCall{Call: &Call{origin: new(Origin)}} }
	a, other := call(), call()
	for _, x := range []*OnceCall{a, other} {
		o := r.get()
		o.coming, o.origin, x.State = true, x.origin, o
	}
	if !r.again(a) {
		t.Fatal("the call is answered, but there is no other")
	}
	for x, sum := range map[*OnceCall]uint64{a: 1, other: 2} {
		if !r.fetched(x, sum) {
			t.Errorf("the call with sum %d is taken for a copy", sum)
		}
	}
}

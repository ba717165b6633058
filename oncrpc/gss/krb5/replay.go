package krb5

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
)

// replayCache remembers accepted authenticators for as long as they could be accepted again (RFC
// 4120 section 3.2.3).
type replayCache struct {
	max, maxEach int           // limits for all clients, and for each
	keep         time.Duration // twice the skew, because the client's clock may be ahead

	mu      sync.Mutex // guards the fields below
	seen    map[authenticatorID]struct{}
	clients map[string]int // number of authenticators by client
	queue   []accepted     // the oldest first
}

// authenticatorID is the hash of an encrypted authenticator. An attacker cannot alter the
// ciphertext without breaking its checksum.
type authenticatorID [16]byte

type accepted struct {
	id     authenticatorID
	client string
	until  time.Time
}

func idOf(ciphertext []byte) authenticatorID {
	sum := sha256.Sum256(ciphertext)
	return authenticatorID(sum[:16])
}

// add remembers an authenticator. It returns an error if the authenticator was accepted before, or
// if there is no room.
func (r *replayCache) add(id authenticatorID, client string, now time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expire(now)
	if _, ok := r.seen[id]; ok {
		return failed(codeRepeat, "%s sent the same authenticator again: it is a replay",
			client)
	}
	n, free := r.clients[client], r.max-len(r.queue)
	switch {
	case free <= 0:
		return failed(codeGeneric, "clients have created %d contexts within %v: see MaxReplays",
			len(r.queue), r.keep)
	case n >= r.maxEach || !fair.Fits(int64(free), int64(n), 1):
		return failed(codeGeneric, "%s has created %d contexts within %v, which is its share: "+
			"see MaxReplays", client, n, r.keep)
	}
	r.seen[id] = struct{}{}
	r.clients[client]++
	r.queue = append(r.queue, accepted{id, client, now.Add(r.keep)})
	return nil
}

// expire removes authenticators too old to be accepted.
func (r *replayCache) expire(now time.Time) {
	n := 0
	for ; n < len(r.queue) && r.queue[n].until.Before(now); n++ {
		old := r.queue[n]
		delete(r.seen, old.id)
		if r.clients[old.client]--; r.clients[old.client] == 0 {
			delete(r.clients, old.client)
		}
	}
	clear(r.queue[:n])
	r.queue = r.queue[n:]
}

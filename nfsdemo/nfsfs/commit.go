package nfsfs

import (
	"math"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// maxRestarts is after how many consecutive restarts that lose data a file gives up.
const maxRestarts = 10

// maxOffset is the largest offset of a file: an int64.
const maxOffset = math.MaxInt64

// sync commits all data that was written before it was called. It may rely on a COMMIT of kick, if
// that is sent after sync began. If writers wait for memory all the time, there is no gap for one
// of its own.
func (u *unstable) sync() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	written := u.epoch
	for {
		for u.committing && u.durable <= written {
			u.changed.Wait()
		}
		if u.err != nil || len(u.spans) == 0 || u.durable > written {
			return u.err
		}
		u.committing = true
		if u.pass() {
			return u.err
		}
	}
}

// kick starts a COMMIT in the background if there is enough data, or if a writer waits for memory.
// mu is held.
func (u *unstable) kick() {
	if u.committing || u.err != nil || len(u.spans) == 0 {
		return
	}
	if u.waiting > 0 || u.held >= u.f.fs.cfg.MaxUncommitted/2 || len(u.spans) >= maxSpans/2 {
		u.committing = true
		go func() {
			u.mu.Lock()
			defer u.mu.Unlock()
			u.pass()
			if u.waiting > 0 {
				u.kick()
			}
		}()
	}
}

// pass sends one COMMIT, and writes lost data again. It returns true if all data that was written
// before is durable, or if there is an error. mu is held, but not during calls.
func (u *unstable) pass() bool {
	lost, err := u.commit()
	if err == nil && lost {
		if u.restarts++; u.restarts > maxRestarts {
			err = ErrDataLost
		} else {
			err = u.rewrite()
		}
	} else if err == nil {
		u.restarts = 0
		u.durable = u.epoch
	}
	u.committing, u.err = false, err
	u.changed.Broadcast()
	return err != nil || !lost
}

// commit sends a COMMIT. It covers exactly the WRITEs that were answered before.
func (u *unstable) commit() (lost bool, err error) {
	sent := u.epoch
	u.epoch++
	u.mu.Unlock()
	verf, err := u.f.fs.c.Commit(u.f.ctx, u.f.handle, 0, 0)
	u.mu.Lock()
	if err != nil {
		return false, err
	}
	return u.settle(sent, verf), nil
}

// rewrite writes the data again that COMMIT found lost: the spans of earlier epochs. No other WRITE
// is under way meanwhile.
func (u *unstable) rewrite() error {
	u.mu.Unlock()
	u.gate.Lock()
	defer u.gate.Unlock()
	u.mu.Lock()
	var lost []span
	for _, s := range u.spans {
		if s.epoch < u.epoch {
			s.b.refs++
			lost = append(lost, *s)
		}
	}
	var err error
	for _, s := range lost {
		if err == nil {
			err = u.again(&s)
		}
		u.unref(s.b)
	}
	return err
}

// again writes one span again.
func (u *unstable) again(s *span) error {
	for s.n > 0 {
		u.mu.Unlock()
		r, err := u.call(s.data(), s.off, u.f.stable)
		u.mu.Lock()
		if err != nil {
			return err
		}
		if r.Committed == nfs3.Unstable {
			u.wrote(s.off, s.b, s.at, r.N, r.Verf)
		} else {
			u.cut(s.off, s.off+int64(r.N))
		}
		s.off += int64(r.N)
		s.at += r.N
		s.n -= r.N
	}
	return nil
}

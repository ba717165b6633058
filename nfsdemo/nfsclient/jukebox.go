package nfsclient

import (
	"context"
	"fmt"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Pauses before a call that was answered NFS3ERR_JUKEBOX is made again. They double each time. The
// longest is Linux's.
const (
	minJukebox = 50 * time.Millisecond
	maxJukebox = 5 * time.Second
)

// jukebox waits before such a call is made again. The server has begun the work and needs more
// time, for example to load a tape (RFC 1813 section 2.6). The error is that ctx has ended.
func jukebox(ctx context.Context, pause time.Duration) error {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w, waiting to ask again: %w", nfs3.ErrJukebox, ctx.Err())
	}
}

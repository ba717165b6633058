package nfsclient

import (
	"context"
	"fmt"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Pauses before a call that was answered NFS3ERR_JUKEBOX is made again, doubled each time. The
// longest is that of Linux.
const (
	minJukebox = 50 * time.Millisecond
	maxJukebox = 5 * time.Second
)

// jukebox waits before a call is made again that the server has begun to work on and could not
// finish in time, as when a tape has to be fetched, or a delegation called back (RFC 1813 section
// 2.6). The error is that of the context's end.
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

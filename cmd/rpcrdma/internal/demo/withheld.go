package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
)

// Share is the server's memory, in bytes, for replies that one connection has not read yet. The
// server withholds a reply that does not fit.
const (
	Share     = 16 << 20
	ShareSize = 1 << 20
	shareName = "share"
)

// withheldTime bounds the wait until the server withholds a reply.
const withheldTime = 10 * time.Second

// withhold asks for more than Share at once, and reads nothing until the server withholds a reply.
// The RDMA_DONEs for the other replies release it.
func (d *draft) withhold(ctx context.Context, fs *nfsfs.FS, ep *slowEndpoint) (err error) {
	data := made(ShareSize)
	if err := writePart(ctx, d.fs, shareName, data); err != nil {
		return fmt.Errorf("upload of %s: %w", shareName, err)
	}
	f, err := fs.Open(ctx, shareName)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()

	const calls = Share/ShareSize + 1
	before := d.server.ends.stats().Withheld
	ep.slow()
	ended := make(chan error, calls)
	for range calls {
		go func() {
			got := make([]byte, ShareSize)
			_, err := f.ReadAt(got, 0)
			if err == nil && !bytes.Equal(got, data) {
				err = ErrMismatch
			}
			ended <- err
		}()
	}
	running := calls
	var errs []error
	limited, cancel := context.WithTimeout(ctx, withheldTime)
	defer cancel()
	for tick := time.Tick(time.Millisecond); d.server.ends.stats().Withheld == before && errs == nil; {
		select {
		case <-tick:
		case <-limited.Done():
			errs = append(errs, fmt.Errorf("the server withholds no reply: %w", limited.Err()))
		case err := <-ended:
			running--
			errs = append(errs, err)
		}
	}
	ep.goOn()
	for ; running > 0; running-- {
		errs = append(errs, <-ended)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("download of %s: %w", shareName, err)
	}
	return nil
}

package nfsfs_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// TestConfigErrors: a Config with a value out of range causes a panic that names the field.
func TestConfigErrors(t *testing.T) {
	for field, cfg := range map[string]nfsfs.Config{
		"TransferSize":   {TransferSize: -1},
		"Parallel":       {Parallel: nfsfs.MaxParallel + 1},
		"MaxUncommitted": {MaxUncommitted: -1},
	} {
		func() {
			defer func() {
				err, _ := recover().(*oncrpc.ConfigError)
				if err == nil || err.Config != "nfsfs.Config" || err.Field != field {
					t.Errorf("%s: panic with %v", field, err)
				}
			}()
			nfsfs.New(nil, nfs3.FH{}, cfg)
		}()
	}
}

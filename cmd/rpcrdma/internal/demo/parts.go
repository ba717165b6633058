package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
)

// Parts is the number of small files of the draft's demo. A list of them is longer than the 2048
// bytes that a reply may have inline on the first connection. Their length needs round-up.
const (
	Parts    = 16
	PartSize = 8<<10 - 1
)

// made returns n made-up bytes.
func made(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data) // never fails
	return data
}

func partName(i int) string { return fmt.Sprintf("part.%02d", i) }

// listParts lists the directory, and checks that it has all parts.
func listParts(ctx context.Context, from *nfsfs.FS) error {
	n := 0
	for e, err := range from.Entries(ctx, "") {
		if err != nil {
			return err
		}
		if e.Size() == PartSize {
			n++
		}
	}
	if n < Parts {
		return fmt.Errorf("%w: %d files of %d in the list", ErrMismatch, n, Parts)
	}
	return nil
}

func writePart(ctx context.Context, to *nfsfs.FS, name string, data []byte) error {
	f, err := to.OpenFile(ctx, name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// checkPart reads a file by one READ.
func checkPart(ctx context.Context, from *nfsfs.FS, name string, want []byte) error {
	f, err := from.Open(ctx, name)
	if err != nil {
		return err
	}
	defer f.Close()
	got := make([]byte, len(want))
	if _, err = io.ReadFull(f, got); err == nil && !bytes.Equal(got, want) {
		err = ErrMismatch
	}
	return err
}

// readPart reads a file by READs that are longer than the file, so that its data comes in a write
// chunk.
func readPart(ctx context.Context, from *nfsfs.FS, name string, want []byte) error {
	f, err := from.Open(ctx, name)
	if err != nil {
		return err
	}
	defer f.Close()
	var got bytes.Buffer
	if _, err = f.WriteTo(&got); err == nil && !bytes.Equal(got.Bytes(), want) {
		err = ErrMismatch
	}
	return err
}

package copying

import (
	"bytes"
	"errors"
	"io"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
)

// compared is how many bytes are compared at a time.
const compared = 256 << 10

// common returns how many bytes two files have in common from their current offsets on, up to most.
func common(a, b content, aName, bName string, most int64) (same int64, err error) {
	one, two := ahead(a, aName), ahead(b, bName)
	defer one.stop()
	defer two.stop()
	p := make([]byte, min(compared, most))
	q := make([]byte, len(p))
	for same < most {
		rest := min(int64(len(p)), most-same)
		n, err := full(one, p[:rest])
		if err != nil {
			return same, err
		}
		m, err := full(two, q[:rest])
		if err != nil {
			return same, err
		}
		k := min(n, m)
		if !bytes.Equal(p[:k], q[:k]) {
			i := 0
			for p[i] == q[i] {
				i++
			}
			return same + int64(i), nil
		}
		if same += int64(k); int64(k) < rest {
			return same, nil
		}
	}
	return same, nil
}

// full reads until p is full or the file ends.
func full(r io.Reader, p []byte) (int, error) {
	n, err := io.ReadFull(r, p)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}

// readAhead reads a file with as many READs under way as a copy.
type readAhead struct {
	*io.PipeReader
	done chan struct{}
}

// ahead begins to read a file. name is for errors.
func ahead(from content, name string) readAhead {
	r, w := io.Pipe()
	a := readAhead{r, make(chan struct{})}
	go func() {
		defer close(a.done)
		_, err := from.WriteTo(w)
		w.CloseWithError(words.About(name, err))
	}()
	return a
}

// stop ends the reading. Afterwards nothing uses the file.
func (a readAhead) stop() {
	a.Close()
	<-a.done
}

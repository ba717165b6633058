package rping

import (
	"fmt"
	"io"
)

// Options are rping's options, for either end.
type Options struct {
	Count  int  // client: pings; 0 means until the context ends, which is then not an error
	Size   int  // client: bytes of a ping, MinSize to MaxSize; 0 means DefaultSize
	Verify bool // check the data
	// Print, if not nil, gets the text of each ping, one on a line.
	Print io.Writer
}

func (o *Options) settle() error {
	if o.Size == 0 {
		o.Size = DefaultSize
	}
	if o.Size < MinSize || o.Size > MaxSize {
		return fmt.Errorf("rping: size %d is not in the range from %d to %d", o.Size, MinSize, MaxSize)
	}
	if o.Count < 0 {
		return fmt.Errorf("rping: count %d is negative", o.Count)
	}
	return nil
}

func (o *Options) print(what string, data []byte) error {
	if o.Print == nil {
		return nil
	}
	_, err := fmt.Fprintf(o.Print, "%s: %s\n", what, text(data))
	return err
}

package reach

import (
	"log/slog"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// DialTime is how long a connection may take, up to the first answer.
const DialTime = 10 * time.Second

// Quiet is for connections: what goes wrong comes as an error, too.
var Quiet = slog.New(slog.DiscardHandler)

// OrNil returns no connection where there is none.
func OrNil[T oncrpc.Transport](conn T, err error) (oncrpc.Transport, error) {
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// End closes a connection, and waits until nothing of it is left.
func End(conn oncrpc.Transport) {
	conn.Close()
	<-conn.Done()
}

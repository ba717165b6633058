package reach

import (
	"log/slog"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// DialTime bounds connecting, up to the first answer.
const DialTime = 10 * time.Second

// Quiet discards the logs of connections, whose faults are returned as errors, too.
var Quiet = slog.New(slog.DiscardHandler)

// OrNil returns a nil interface for a nil connection.
func OrNil[T oncrpc.Transport](conn T, err error) (oncrpc.Transport, error) {
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// End closes a connection, and waits until it is done.
func End(conn oncrpc.Transport) {
	conn.Close()
	<-conn.Done()
}

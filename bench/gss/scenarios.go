package gss

import (
	"context"
	"fmt"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
)

// Flavor is AUTH_SYS, or Kerberos with a level of protection.
type Flavor struct {
	name    string
	service gss.Service // 0 for AUTH_SYS
}

// The flavours. The encryption type of Kerberos is aes256-cts-hmac-sha1-96.
var (
	Sys   = Flavor{name: "sys"}
	Krb5  = Flavor{"krb5", gss.None}
	Krb5i = Flavor{"krb5i", gss.Integrity}
	Krb5p = Flavor{"krb5p", gss.Privacy}
)

// Null returns the Latency scenario CARRIER+FLAVOR/null: NULL calls, one at a time.
func Null(c Carrier, f Flavor) paired.Scenario {
	s := scenario(c, f, func(ctx context.Context, c *client, _ int) error {
		return c.nfs.Null(ctx)
	}, 0, 1)
	s.Name += "null"
	s.Metric = paired.Latency
	return s
}

// Read returns the Throughput scenario CARRIER+FLAVOR/read-SIZExN: READs of size bytes, inFlight at
// a time.
func Read(c Carrier, f Flavor, size, inFlight int) paired.Scenario {
	return transfer(c, f, "read", size, inFlight, func(ctx context.Context, c *client, slot int) error {
		r, err := c.nfs.Read(ctx, c.file, uint64(slot*size), c.slots[slot])
		return short(err, r.N, size)
	})
}

// Write returns the Throughput scenario CARRIER+FLAVOR/write-SIZExN: unstable WRITEs of size bytes,
// inFlight at a time.
func Write(c Carrier, f Flavor, size, inFlight int) paired.Scenario {
	return transfer(c, f, "write", size, inFlight, func(ctx context.Context, c *client, slot int) error {
		r, err := c.nfs.Write(ctx, c.file, uint64(slot*size), c.slots[slot], nfs3.Unstable)
		return short(err, r.N, size)
	})
}

func transfer(c Carrier, f Flavor, name string, size, inFlight int, do call) paired.Scenario {
	s := scenario(c, f, do, size, inFlight)
	s.Name += transferName(name, size, inFlight)
	s.Metric = paired.Throughput
	return s
}

func transferName(name string, size, inFlight int) string {
	return fmt.Sprintf("%s-%dKiBx%d", name, size>>10, inFlight)
}

// short returns an error if fewer than size bytes were transferred.
func short(err error, n, size int) error {
	if err == nil && n != size {
		return fmt.Errorf("%d bytes of %d", n, size)
	}
	return err
}

// scenario returns a scenario with the common server, and a client whose file has size bytes for
// each call in flight.
func scenario(c Carrier, f Flavor, do call, size, inFlight int) paired.Scenario {
	return paired.Scenario{
		Name:  c.name + "+" + f.name + "/",
		Bytes: size,
		Listen: func(ctx context.Context, s paired.Sockets) (paired.Server, error) {
			return listen(ctx, c, s)
		},
		Dial: func(ctx context.Context, s paired.Sockets, addr string) (paired.Client, error) {
			ctx, cancel := context.WithTimeout(ctx, dialTimeout)
			defer cancel()
			return dial(ctx, c, f, s, addr, do, size, inFlight)
		},
	}
}

const dialTimeout = 10 * time.Second

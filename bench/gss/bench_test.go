package gss

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
	"github.com/rpcrdma/go-rpcrdma/bench/rdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

func TestMain(m *testing.M) {
	paired.Main() // does not return in a child
	os.Exit(m.Run())
}

const (
	kib = 1 << 10
	mib = 1 << 20
)

// overIWARP is iWARP without CRC, as in the rows of package nfs.
func overIWARP() Carrier {
	config := func(s paired.Sockets) iwarp.Config {
		return iwarp.Config{CRC: iwarp.CRCOff, Control: s.Control}
	}
	return RDMA(rdma.Provider{
		Name: "iwarp",
		Listen: func(ctx context.Context, s paired.Sockets) (transport.Listener, error) {
			return iwarp.Listen(ctx, "127.0.0.1:0", config(s))
		},
		Dialer: func(s paired.Sockets) transport.Dialer { return iwarp.Dialer{Config: config(s)} },
	})
}

// many is the number of calls in flight with which sealing and opening can overlap.
const many = 4

var (
	// besideSys compares flavours of Kerberos with AUTH_SYS.
	besideSys []paired.Comparison
	// besideCrypto compares READ of 1 MiB with krb5p with AES and SHA alone.
	besideCrypto []paired.Comparison
)

// long is the length of rounds whose operations take milliseconds, so that each has enough of them.
const long = 500 * time.Millisecond

func roundOf(s paired.Scenario) time.Duration {
	if s.Bytes == mib {
		return long
	}
	return 0
}

func init() {
	of := func(c Carrier, f Flavor) []paired.Scenario {
		return []paired.Scenario{
			Null(c, f), Read(c, f, 4*kib, 1), Write(c, f, 4*kib, 1), Read(c, f, mib, 1), Write(c, f, mib, 1),
		}
	}
	for _, n := range []int{1, many} {
		paired.Register(Crypto(mib, n))
	}
	for _, c := range []Carrier{TCP(), overIWARP()} {
		sys := of(c, Sys)
		for _, s := range sys {
			paired.Register(s)
		}
		for _, f := range []Flavor{Krb5, Krb5i, Krb5p} {
			for i, s := range of(c, f) {
				paired.Register(s)
				besideSys = append(besideSys, paired.Comparison{
					Yardstick: sys[i].Name, Candidate: s.Name, Time: roundOf(s)})
			}
		}
		paired.Register(Read(c, Krb5p, mib, many))
		for _, n := range []int{1, many} {
			besideCrypto = append(besideCrypto, paired.Comparison{
				Yardstick: Crypto(mib, n).Name, Candidate: Read(c, Krb5p, mib, n).Name,
				Bound: 0.5, MaxCPU: 2, MaxAllocs: 0.5, Time: long})
		}
	}
}

// BenchmarkPaired compares calls with Kerberos and with AUTH_SYS.
//
//	go test -run '^$' -bench 'Paired$' -benchtime 1x ./bench/gss
func BenchmarkPaired(b *testing.B) { paired.Bench(b, besideSys...) }

// BenchmarkPairedCrypto compares READ with krb5p and AES and SHA alone.
//
//	go test -run '^$' -bench PairedCrypto -benchtime 1x ./bench/gss
func BenchmarkPairedCrypto(b *testing.B) { paired.Bench(b, besideCrypto...) }

// TestPaired requires the bounds if BENCH_GATE is set.
func TestPaired(t *testing.T) { paired.Gate(t, besideCrypto...) }

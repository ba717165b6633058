package main

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// maxCredits bounds --credits: each reserves a receive, of the inline size, on each connection that is not idle.
const maxCredits = 4096

// minMemory is the least --memory-size: one WRITE of the largest size, or there is a unit missing.
const minMemory = 1 << 20

// serveConfig is the command line of serve.
type serveConfig struct {
	exports     []export // of the command line
	exportsFile string   // "": none
	onlyCheck   bool
	manageGIDs  bool
	memorySize  size
	state       string
	newKey      bool

	listen    string
	mount     string // "" and "none": not at all
	providers providersFlag
	sctpUDP   int // the UDP port that carries SCTP; 0: any
	tls       tlsFiles
	crc       *choice[iwarp.CRC]
	markers   bool
	inline    inlineFlag
	credits   int
	dialect   *choice[rpcrdma.Dialect]
	conf      *choice[confPolicy]
	align     alignFlag

	readOnly bool
	allow    []netip.Prefix
	squash   *choice[nfsserver.Squash]
	anonUID  uint32
	anonGID  uint32

	rpcbind     bool
	registering rpcbindConfig
	rdmaRPCBind string // "": no port of its own

	logging *logging
	debug   string // "": no HTTP
	metrics string // likewise

	drainTime time.Duration // how long calls under way may take after the signal that ends the server
}

func newServeConfig(dial rpcbindDialer) *serveConfig {
	return &serveConfig{
		providers:   providersFlag{defaultProvider},
		registering: newRPCBindConfig(dial),
		drainTime:   10 * time.Second,
		memorySize:  memfs.DefaultCapacity,
		anonUID:     nfsserver.Nobody,
		anonGID:     nfsserver.Nobody,
		crc:         newCRC(),
		inline:      4096,
		dialect:     newDialect(),
		conf:        newConfPolicy(),
		squash: newChoice("root", named("root", nfsserver.SquashRoot), named("all", nfsserver.SquashAll),
			named("none", nfsserver.SquashNone)),
		logging: newLogging(),
	}
}

// check finds what flags say wrong together, or that is more than their form.
func (c *serveConfig) check() error {
	if len(c.exports) == 0 && c.exportsFile == "" {
		return errors.New("nothing to serve: name a directory with --export NAME=DIR, a file system in memory with --memory NAME, or a file with --exports")
	}
	names := make(map[string]bool)
	directories := c.exportsFile != ""
	for _, e := range c.exports {
		if names[e.name] {
			return fmt.Errorf("two exports have the name %s: each needs its own", printable(e.name))
		}
		names[e.name] = true
		directories = directories || e.dir != ""
	}
	if c.state != "" && !directories {
		return errors.New("--state is for directories, and there is no --export: what is in memory does not outlive the server")
	}
	if c.newKey && c.state == "" {
		return errors.New("--new-key is for the handles that outlive the server, which takes --state")
	}
	if c.memorySize < minMemory {
		return fmt.Errorf("--memory-size %v: at least 1MiB; a number alone is bytes: write 64MiB", &c.memorySize)
	}
	if err := c.checkProtocol(); err != nil {
		return err
	}
	return c.checkAddresses()
}

func (c *serveConfig) checkProtocol() error {
	if c.sctpUDP < 0 || c.sctpUDP > 1<<16-1 {
		return fmt.Errorf("--sctp-udp %d is no port: write a number from 0 to 65535; 0: any", c.sctpUDP)
	}
	if err := c.tls.check(); err != nil {
		return err
	}
	if c.tls.ca != "" && c.tls.cert == "" {
		return errors.New("--tls-ca is for clients' certificates, and there is no TLS without --tls-cert")
	}
	if c.credits < 1 || c.credits > maxCredits {
		return fmt.Errorf("--credits %d: it must be from 1 to %d", c.credits, maxCredits)
	}
	return c.checkAlign()
}

package serve

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/daemon"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// minMemory is the smallest --memory-size. A smaller number lacks its unit, most likely.
const minMemory = 1 << 20

// defaultMount is the default of --mount.
const defaultMount = ":20048"

// Config is the command line of serve.
type Config struct {
	Exports     []Export // of the command line
	exportsFile string   // "": none
	onlyCheck   bool
	manageGIDs  bool
	memorySize  cli.Size
	state       string
	newKey      bool
	revokeKeys  bool

	Listen    string
	Mount     string // "" and "none": not at all
	providers providersFlag
	sctpUDP   int // the UDP port that carries SCTP; 0: any
	tls       reach.TLSFiles
	crc       *cli.Choice[iwarp.CRC]
	markers   bool
	inline    reach.InlineFlag
	credits   int
	dialect   *cli.Choice[rpcrdma.Dialect]
	conf      *cli.Choice[confPolicy]
	align     alignFlag

	sec       secFlag
	keytab    string // "": as Kerberos has it
	principal string // "": any of the keytab
	realms    realmsFlag
	mapUsers  string // a file; "": none

	readOnly bool
	allow    []netip.Prefix
	squash   *cli.Choice[nfsserver.Squash]
	anonUID  uint32
	anonGID  uint32

	rpcbind     bool
	registering RPCBindConfig
	rdmaRPCBind string // "": no port of its own

	logging *daemon.Logging
	debug   string // "": no HTTP
	metrics string // likewise

	// how long calls under way may take after the signal that ends the server
	DrainTime time.Duration
}

// NewConfig returns the defaults of serve. dial connects to rpcbind.
func NewConfig(dial RPCBindDialer) *Config {
	return &Config{
		Mount:       defaultMount,
		providers:   providersFlag{reach.DefaultProvider},
		registering: NewRPCBindConfig(dial),
		DrainTime:   10 * time.Second,
		memorySize:  memfs.DefaultCapacity,
		anonUID:     nfsserver.Nobody,
		anonGID:     nfsserver.Nobody,
		crc:         reach.NewCRC(),
		inline:      4096,
		dialect:     reach.NewDialect(),
		conf:        newConfPolicy(),
		squash: cli.NewChoice("root", cli.Named("root", nfsserver.SquashRoot), cli.Named("all", nfsserver.SquashAll),
			cli.Named("none", nfsserver.SquashNone)),
		logging: daemon.NewLogging(),
	}
}

// check checks the flags against one another.
func (c *Config) check() error {
	if len(c.Exports) == 0 && c.exportsFile == "" {
		return errors.New("nothing to serve: name a directory with --export NAME=DIR, a file system in memory with " +
			"--memory NAME, or a file with --exports")
	}
	names := make(map[string]bool)
	directories := c.exportsFile != ""
	for _, e := range c.Exports {
		if names[e.Name] {
			return fmt.Errorf("two exports have the name %s: each needs its own", cli.Printable(e.Name))
		}
		names[e.Name] = true
		directories = directories || e.Dir != ""
	}
	if c.state != "" && !directories {
		return errors.New("--state is for directories, but there is no --export: file systems in memory end with " +
			"the server")
	}
	if (c.newKey || c.revokeKeys) && c.state == "" {
		return errors.New(
			"--new-key and --revoke-keys are for handles that outlive the server: add --state")
	}
	if c.memorySize < minMemory {
		return fmt.Errorf("--memory-size %v is less than 1MiB: write a unit, such as 64MiB; a number alone is bytes",
			&c.memorySize)
	}
	if err := c.checkProtocol(); err != nil {
		return err
	}
	return c.checkAddresses()
}

func (c *Config) checkProtocol() error {
	if c.sctpUDP < 0 || c.sctpUDP > 1<<16-1 {
		return fmt.Errorf("--sctp-udp %d is not a port: write a number from 0 to 65535; 0 picks a free one", c.sctpUDP)
	}
	if err := c.tls.Check(); err != nil {
		return err
	}
	if c.tls.Ca != "" && c.tls.Cert == "" {
		return errors.New("--tls-ca needs --tls-cert, without which there is no TLS")
	}
	if c.credits < 1 || c.credits > reach.MaxCredits {
		return fmt.Errorf("--credits %d: write a number from 1 to %d", c.credits, reach.MaxCredits)
	}
	return c.checkAlign()
}

package reach

import (
	"github.com/spf13/pflag"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// NewCRC returns the choice of CRC32C.
func NewCRC() *cli.Choice[iwarp.CRC] {
	return cli.NewChoice("auto", cli.Named("auto", iwarp.CRCAuto), cli.Named("on", iwarp.CRCOn),
		cli.Named("off", iwarp.CRCOff))
}

// AddCRCFlag defines the flag of a client that chooses CRC32C.
func AddCRCFlag(f *pflag.FlagSet, crc *cli.Choice[iwarp.CRC]) {
	f.Var(crc, "crc",
		"CRC32C in iWARP: "+crc.Names()+"; auto is on, except to loopback addresses; a server can turn it on")
}

// InlineFlag is the size of messages in a Send.
type InlineFlag cli.Size

// MaxCredits bounds --credits. Each credit reserves a receive of the inline size on each active
// connection.
const MaxCredits = 4096

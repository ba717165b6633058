//go:build soak && linux

package hostile_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/served"
)

// The limits of the command.
const (
	// forRDMA and forTCP are the sums of the limits of each port, in bytes.
	forRDMA = (512 + 256) * mebi // ServerMemory and ReceiveMemory of rpcrdma.Config
	forTCP  = 512 * mebi         // Memory of recordmark.Config
	forSCTP = 64 * mebi          // Memory of sctp.Config, beside that for RDMA
	// each is the additional memory of a connection, in bytes: goroutines and buffers.
	each = 64 << 10
	// maxConns is the most connections at a time (MaxConns of oncrpc.ServerConfig).
	maxConns = 1024
	// maxPending is how many more may be in their startup (package iwarp).
	maxPending = 256
)

// promised returns the promise that follows from the limits under attack.
func (a *attack) promised(w way) promise {
	p := promise{program + files + each*min(scale*a.conns, maxConns), maxConns + maxPending + 50}
	switch w {
	case byTCP, byTLS:
		p.memory += forTCP
	case bySCTP:
		p.memory += forRDMA + forSCTP
	case byIWARP, byRoCE:
		p.memory += forRDMA
	}
	return p
}

// leastShare is the least that a bystander keeps of its throughput on a server of one processor: a
// quarter, less the noise of this measurement. It is half in virtual time, where the attacker takes
// no processor time from the bystander. Nor does one wait for longer than longestWait beyond what
// there is without the attack.
const leastShare = 0.2

// TestServe attacks the command over sockets, by each way of each attack, with its default limits.
// Meanwhile the bystanders' calls are answered, and the process stays within the memory that its
// limits promise. With -figures it also measures how the bystanders fare, on a machine that does
// nothing else.
func TestServe(t *testing.T) {
	command, err := served.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var table results
	for i, a := range attacks { // but for those that need handlers which the command does not have
		if a.handlers > 0 || !a.memory && !*printFigures || raced && i%3 > 0 {
			continue
		}
		for _, w := range a.over {
			t.Run(a.name+"/"+w.String(), func(t *testing.T) {
				f := a.onServe(t, command, w, a.promised(w), "")
				if table.add(a, w, f); !*printFigures {
					return
				}
				t.Logf("%.2f of the throughput, %.0f ms, %.0f without, %d MiB", f.share, f.wait, f.calm,
					f.memory/mebi)
				if f.share < leastShare {
					t.Errorf("a bystander had %.2f of its throughput", f.share)
				}
				if f.wait > f.calm+float64(longestWait/time.Millisecond) {
					t.Errorf("a bystander waited for %.0f ms, and %.0f without", f.wait, f.calm)
				}
			})
		}
	}
	if *printFigures {
		table.print()
	}
}

// results is the table of docs/security-bounds.md. Rows with one name are one line of it.
type results []*line

// line is how bystanders fared during an attack, by its ways.
type line struct {
	name string
	by   map[way]figure
	only string
}

// add adds how bystanders fared.
func (r *results) add(a attack, w way, fared figure) {
	i := slices.IndexFunc(*r, func(l *line) bool { return l.name == a.name })
	if i < 0 {
		i = len(*r)
		*r = append(*r, &line{name: a.name, by: make(map[way]figure)})
	}
	l := (*r)[i]
	l.by[w] = fared
	l.only = cmp.Or(l.only, a.only)
}

// print prints it, and below it what the letters stand for.
func (r results) print() {
	fmt.Println("| attack | " + strings.Join(wayNames, " | ") + " |\n|" +
		strings.Repeat("---|", 1+len(wayNames)))
	var reasons []string
	for _, l := range r {
		fmt.Print("| ", l.name)
		for w := range way(len(wayNames)) {
			fared, ok := l.by[w]
			switch {
			case ok:
				fmt.Printf(" | %.2f, %.0f, %d", fared.share, fared.wait, fared.memory/mebi)
			case l.only != "" && l.inFamily(w):
				if !slices.Contains(reasons, l.only) {
					reasons = append(reasons, l.only)
				}
				fmt.Printf(" | %c", 'a'+slices.Index(reasons, l.only))
			default:
				fmt.Print(" |")
			}
		}
		fmt.Println(" |")
	}
	for i, reason := range reasons {
		reasons[i] = fmt.Sprintf("%s (%c)", reason, 'a'+i)
	}
	fmt.Printf("\nThe attack is by what only some transports have: %s.\n", strings.Join(reasons, ", "))
}

// inFamily reports whether the attack has another way of the same family, RDMA or RPC over TCP.
func (l *line) inFamily(w way) bool {
	for _, family := range [][]way{overRDMA, overRPC} {
		if slices.Contains(family, w) {
			return slices.ContainsFunc(family, func(o way) bool { _, ok := l.by[o]; return ok })
		}
	}
	return false
}

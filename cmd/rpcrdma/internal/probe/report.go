package probe

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// Status says what a finding means for use of the server.
type Status string

// The statuses of findings.
const (
	OK      Status = "ok"
	Note    Status = "note" // good to know
	Warn    Status = "warn" // some will have trouble
	Fail    Status = "fail" // this does not work
	Skipped Status = "skipped"
)

// Cause names what is wrong. Programs depend on the names, so they never change.
type Cause string

// Causes on the way to the server.
const (
	CauseNoHost        Cause = "no-host"        // the name has no address
	CauseNotRegistered Cause = "not-registered" // rpcbind does not know the port
	CauseRefused       Cause = "port-refused"   // nothing listens
	CauseWrongPort     Cause = "wrong-port"     // something else listens, or NFS elsewhere
	CauseSwapped       Cause = "ports-swapped"  // TCP's port for RDMA, or vice versa
	CauseFirewall      Cause = "firewall"       // nothing comes back from a port
	CauseUnreachable   Cause = "unreachable"    // there is no way to the host
	CauseEnds          Cause = "ended-at-once"  // connections are taken and ended
	CauseNoAnswer      Cause = "no-answer"      // connections are taken, calls not answered
	CauseNoServer      Cause = "gateway-without-server"
	CauseMTU           Cause = "mtu-black-hole"  // packets of full size are lost
	CauseRoCETaken     Cause = "roce-port-taken" // here: UDP port 4791
)

// Causes in the setup of iWARP.
const (
	CauseRejected Cause = "rejected"     // for a reason that the server does not say
	CauseCRC      Cause = "crc-required" // by the server
	CauseNoCRC    Cause = "crc-refused"  // by the server
	CauseIRD      Cause = "ird-0"        // RDMA Reads at this side: none, or too few
)

// Causes in the programs.
const (
	CauseVersion Cause = "version-missing" // NFS version 3
	CauseTooWeak Cause = "auth-tooweak"    // AUTH_TOOWEAK, or MOUNT wants another flavour
	CauseDenied  Cause = "auth-denied"     // otherwise

	// Causes why this end cannot use Kerberos.
	CauseNoTicket      Cause = "no-ticket"
	CauseTicketExpired Cause = "ticket-expired"
	CauseHostByAddress Cause = "host-by-address" // in the URL, where its name is needed

	CauseNoMount Cause = "mount-absent"
)

// Causes in the exports.
const (
	CauseNoExport   Cause = "export-absent"
	CauseGone       Cause = "export-gone" // it is exported, and its file system fails
	CauseNotForHost Cause = "export-not-for-host"
	CausePort1024   Cause = "port-not-privileged" // calls must come from a port below 1024
	CauseSquashed   Cause = "root-squashed"
	CauseDenies     Cause = "permission-denied" // to the user
	CauseDisk       Cause = "disk-hangs"        // only NULL is answered, which reads nothing

	CauseFailed Cause = "failed" // as Found says
)

// Finding is one thing that a step has found.
type Finding struct {
	Step   string         `json:"step"`
	Status Status         `json:"status"`
	Cause  Cause          `json:"cause,omitempty"`
	Found  string         `json:"found"`
	Do     string         `json:"do,omitempty"`
	Values map[string]any `json:"values,omitempty"` // numbers and names in Found, for programs
}

// Report is all findings. It is printed as they come, or as one JSON document.
type Report struct {
	URL      string    `json:"url"`
	OK       bool      `json:"ok"`
	Causes   []Cause   `json:"causes"` // of what fails
	Findings []Finding `json:"findings"`

	json    bool
	out     io.Writer
	step    string   // the one under way
	skipped []string // steps, to be printed in one line
	err     error    // of printing
}

// add adds a finding of the current step. It returns false if that is a failure.
func (r *Report) add(f Finding) bool {
	f.Step = r.step
	r.Findings = append(r.Findings, f)
	switch {
	case r.json || r.err != nil:
	case f.Status == Skipped:
		r.skipped = append(r.skipped, f.Step)
	default:
		_, r.err = io.WriteString(r.out, f.String())
	}
	return f.Status != Fail
}

// skip notes that the current step is skipped, unless there is a finding for it already.
func (r *Report) skip() {
	if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Step == r.step }) {
		r.add(Finding{Status: Skipped, Found: "not tried"})
	}
}

// ok adds a finding that is as it should be.
func (r *Report) ok(values map[string]any, format string, args ...any) bool {
	return r.add(Finding{Status: OK, Found: fmt.Sprintf(format, args...), Values: values})
}

// note adds a finding that is good to know.
func (r *Report) note(values map[string]any, format string, args ...any) bool {
	return r.add(Finding{Status: Note, Found: fmt.Sprintf(format, args...), Values: values})
}

// fail adds a failure, and what to do about it. It returns false.
func (r *Report) fail(cause Cause, found, do string) bool {
	return r.add(Finding{Status: Fail, Cause: cause, Found: found, Do: do})
}

// String returns the finding in lines.
func (f Finding) String() string {
	status := string(f.Status)
	if f.Status == Fail {
		status = "FAIL"
	}
	text := fmt.Sprintf("%-8s%-9s%s\n", status, f.Step, f.Found)
	if f.Cause != "" {
		text = fmt.Sprintf("%-8s%-9s%s: %s\n", status, f.Step, f.Cause, f.Found)
	}
	if f.Do != "" {
		text += strings.Repeat(" ", 17) + "-> " + f.Do + "\n"
	}
	return cli.Cut(text)
}

// end prints the verdict. The error says that something has failed, or could not be printed.
func (r *Report) end() error {
	r.Causes = []Cause{}
	r.OK = true
	for _, f := range r.Findings {
		if f.Status == Fail {
			r.OK = false
			r.Causes = append(r.Causes, f.Cause)
		}
	}
	if r.json {
		e := json.NewEncoder(r.out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		r.err = e.Encode(r)
	} else if r.err == nil {
		_, r.err = io.WriteString(r.out, r.verdict())
	}
	switch {
	case r.err != nil:
		return r.err
	case !r.OK:
		return cli.ErrReported
	}
	return nil
}

// verdict returns the skipped steps, and the verdict in one line.
func (r *Report) verdict() string {
	var names []string
	if r.OK {
		for _, f := range r.Findings {
			if f.Status == Warn {
				names = append(names, string(f.Cause))
			}
		}
		if len(names) == 0 {
			return "\n" + r.URL + " can be used.\n"
		}
		return "\n" + r.URL + " can be used, but for: " + strings.Join(names, ", ") + ".\n"
	}
	for _, c := range r.Causes {
		names = append(names, string(c))
	}
	text := "\n" + r.URL + " cannot be used: " + strings.Join(names, ", ") + ".\n"
	if len(r.skipped) > 0 {
		text = "skipped " + strings.Join(r.skipped, ", ") + "\n" + text
	}
	return text
}

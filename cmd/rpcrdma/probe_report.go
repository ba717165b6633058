package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// probeStatus is what a finding means for who wants to use the server.
type probeStatus string

const (
	probeOK      probeStatus = "ok"
	probeNote    probeStatus = "note" // good to know
	probeWarn    probeStatus = "warn" // some will have trouble
	probeFail    probeStatus = "fail" // this does not work
	probeSkipped probeStatus = "skipped"
)

// probeCause names what is wrong. Programs go by it: a name stays as it is.
type probeCause string

const (
	// Of the way to the server.
	causeNoHost        probeCause = "no-host"        // the name has no address
	causeNotRegistered probeCause = "not-registered" // rpcbind does not know the port
	causeRefused       probeCause = "port-refused"   // nothing listens
	causeWrongPort     probeCause = "wrong-port"     // something else listens, or NFS elsewhere
	causeSwapped       probeCause = "ports-swapped"  // RDMA's port for TCP's, or the other way round
	causeFirewall      probeCause = "firewall"       // nothing comes back from a port
	causeUnreachable   probeCause = "unreachable"    // there is no way to the host
	causeEnds          probeCause = "ended-at-once"  // connections are taken and ended
	causeNoAnswer      probeCause = "no-answer"      // connections are taken, calls not answered
	causeNoServer      probeCause = "gateway-without-server"
	causeMTU           probeCause = "mtu-black-hole"  // packets of full size are lost
	causeRoCETaken     probeCause = "roce-port-taken" // here: UDP port 4791

	// Of the setup of iWARP.
	causeRejected probeCause = "rejected"     // for a reason that the server does not say
	causeCRC      probeCause = "crc-required" // by the server
	causeNoCRC    probeCause = "crc-refused"  // by the server
	causeIRD      probeCause = "ird-0"        // RDMA Reads at this side: none, or too few

	// Of the programs.
	causeVersion probeCause = "version-missing" // NFS version 3
	causeTooWeak probeCause = "auth-tooweak"    // AUTH_TOOWEAK, or MOUNT wants another flavour
	causeDenied  probeCause = "auth-denied"     // otherwise
	causeNoMount probeCause = "mount-absent"

	// Of the exports.
	causeNoExport   probeCause = "export-absent"
	causeGone       probeCause = "export-gone" // it is exported, and its file system fails
	causeNotForHost probeCause = "export-not-for-host"
	causePort1024   probeCause = "port-not-privileged" // calls must come from one below 1024
	causeSquashed   probeCause = "root-squashed"
	causeDenies     probeCause = "permission-denied" // to the user
	causeDisk       probeCause = "disk-hangs"        // NULL is answered, and nothing that reads

	causeFailed probeCause = "failed" // as Found says
)

// finding is one thing that a step has found.
type finding struct {
	Step   string         `json:"step"`
	Status probeStatus    `json:"status"`
	Cause  probeCause     `json:"cause,omitempty"`
	Found  string         `json:"found"`
	Do     string         `json:"do,omitempty"`
	Values map[string]any `json:"values,omitempty"` // numbers and names in Found, for programs
}

// probeReport is what has been found. It is printed as it comes, or as one JSON document.
type probeReport struct {
	URL      string       `json:"url"`
	OK       bool         `json:"ok"`
	Causes   []probeCause `json:"causes"` // of what fails
	Findings []finding    `json:"findings"`

	json    bool
	out     io.Writer
	step    string   // the one under way
	skipped []string // steps, to be printed in one line
	err     error    // of printing
}

// add adds a finding of the step under way. It returns whether that has not failed.
func (r *probeReport) add(f finding) bool {
	f.Step = r.step
	r.Findings = append(r.Findings, f)
	switch {
	case r.json || r.err != nil:
	case f.Status == probeSkipped:
		r.skipped = append(r.skipped, f.Step)
	default:
		_, r.err = io.WriteString(r.out, f.String())
	}
	return f.Status != probeFail
}

// skip notes that the step under way is not tried, unless another has told of it.
func (r *probeReport) skip() {
	if !slices.ContainsFunc(r.Findings, func(f finding) bool { return f.Step == r.step }) {
		r.add(finding{Status: probeSkipped, Found: "not tried"})
	}
}

// ok adds one that is as it should be.
func (r *probeReport) ok(values map[string]any, format string, args ...any) bool {
	return r.add(finding{Status: probeOK, Found: fmt.Sprintf(format, args...), Values: values})
}

// note adds one that is good to know.
func (r *probeReport) note(values map[string]any, format string, args ...any) bool {
	return r.add(finding{Status: probeNote, Found: fmt.Sprintf(format, args...), Values: values})
}

// fail adds what does not work, and what to do. It returns false.
func (r *probeReport) fail(cause probeCause, found, do string) bool {
	return r.add(finding{Status: probeFail, Cause: cause, Found: found, Do: do})
}

// String is the finding in lines.
func (f finding) String() string {
	status := string(f.Status)
	if f.Status == probeFail {
		status = "FAIL"
	}
	text := fmt.Sprintf("%-8s%-9s%s\n", status, f.Step, f.Found)
	if f.Cause != "" {
		text = fmt.Sprintf("%-8s%-9s%s: %s\n", status, f.Step, f.Cause, f.Found)
	}
	if f.Do != "" {
		text += strings.Repeat(" ", 17) + "-> " + f.Do + "\n"
	}
	return cut(text)
}

// end prints the verdict. The error says that something has failed, or could not be printed.
func (r *probeReport) end() error {
	r.Causes = []probeCause{}
	r.OK = true
	for _, f := range r.Findings {
		if f.Status == probeFail {
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
		return errReported
	}
	return nil
}

// verdict is all in a line, behind what was skipped.
func (r *probeReport) verdict() string {
	var names []string
	if r.OK {
		for _, f := range r.Findings {
			if f.Status == probeWarn {
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

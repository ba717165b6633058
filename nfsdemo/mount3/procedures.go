package mount3

import "fmt"

// Proc is a procedure number (RFC 1813 section 5.2).
type Proc uint32

// The procedures.
const (
	ProcNull    Proc = 0
	ProcMnt     Proc = 1
	ProcDump    Proc = 2
	ProcUmnt    Proc = 3
	ProcUmntAll Proc = 4
	ProcExport  Proc = 5

	// Procs is the number of procedures.
	Procs = 6
)

// ProcInfo has what servers and clients need to know of a procedure. All procedures may be executed
// twice.
type ProcInfo struct {
	Name string // in the RFC

	// MaxReply is the longest encoding of the results in bytes. The RFC does not bound lists; for
	// these it is the longest that clients take.
	MaxReply int

	// Long procedures may take long even if the file system never waits, for example to encode a
	// long list. They must not run on a goroutine that receives messages.
	Long bool
}

// maxList is the longest list of exports or mounts that clients take, in bytes.
const maxList = 2 << 20

// procs has a row for each procedure.
var procs = [Procs]ProcInfo{
	ProcNull:    {Name: "NULL"},
	ProcMnt:     {Name: "MNT", MaxReply: MntResMax},
	ProcDump:    {Name: "DUMP", MaxReply: maxList, Long: true},
	ProcUmnt:    {Name: "UMNT"},
	ProcUmntAll: {Name: "UMNTALL"},
	ProcExport:  {Name: "EXPORT", MaxReply: maxList, Long: true},
}

// Info returns the row of p, or the zero ProcInfo if RFC 1813 has no such procedure.
func (p Proc) Info() ProcInfo {
	if p < Procs {
		return procs[p]
	}
	return ProcInfo{}
}

// String returns the procedure's name in the RFC.
func (p Proc) String() string {
	if p < Procs {
		return procs[p].Name
	}
	return fmt.Sprintf("procedure %d", uint32(p))
}

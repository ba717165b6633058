package nfs3

import "fmt"

// Proc is a procedure number (RFC 1813 section 3).
type Proc uint32

// The procedures.
const (
	ProcNull        Proc = 0
	ProcGetAttr     Proc = 1
	ProcSetAttr     Proc = 2
	ProcLookup      Proc = 3
	ProcAccess      Proc = 4
	ProcReadLink    Proc = 5
	ProcRead        Proc = 6
	ProcWrite       Proc = 7
	ProcCreate      Proc = 8
	ProcMkdir       Proc = 9
	ProcSymlink     Proc = 10
	ProcMknod       Proc = 11
	ProcRemove      Proc = 12
	ProcRmdir       Proc = 13
	ProcRename      Proc = 14
	ProcLink        Proc = 15
	ProcReadDir     Proc = 16
	ProcReadDirPlus Proc = 17
	ProcFSStat      Proc = 18
	ProcFSInfo      Proc = 19
	ProcPathConf    Proc = 20
	ProcCommit      Proc = 21

	// Procs is the number of procedures.
	Procs = 22
)

// ProcInfo has what servers, clients and gateways need to know of a procedure.
type ProcInfo struct {
	Name string // in the RFC

	// MaxReply is the longest encoding of the results in bytes, without what the arguments bound:
	// the data of READ, the path of READLINK, the entries of READDIR and READDIRPLUS.
	MaxReply int

	// Once procedures must not be executed twice. A second execution would give another result, or
	// undo what others have done since: a second REMOVE finds no file, a second SETATTR truncates
	// data that was appended, and a late second WRITE puts old data over new.
	Once bool

	// Long procedures may take long even if the file system never waits, for example to list a long
	// directory. They must not run on a goroutine that receives messages.
	Long bool
}

// procs has a row for each procedure.
var procs = [Procs]ProcInfo{
	ProcNull:        {Name: "NULL"},
	ProcGetAttr:     {Name: "GETATTR", MaxReply: GetAttrResMax},
	ProcSetAttr:     {Name: "SETATTR", MaxReply: SetAttrResMax, Once: true},
	ProcLookup:      {Name: "LOOKUP", MaxReply: LookupResMax},
	ProcAccess:      {Name: "ACCESS", MaxReply: AccessResMax},
	ProcReadLink:    {Name: "READLINK", MaxReply: ReadLinkResMax(0)},
	ProcRead:        {Name: "READ", MaxReply: ReadResMax},
	ProcWrite:       {Name: "WRITE", MaxReply: WriteResMax, Once: true},
	ProcCreate:      {Name: "CREATE", MaxReply: CreateResMax, Once: true},
	ProcMkdir:       {Name: "MKDIR", MaxReply: CreateResMax, Once: true},
	ProcSymlink:     {Name: "SYMLINK", MaxReply: CreateResMax, Once: true},
	ProcMknod:       {Name: "MKNOD", MaxReply: CreateResMax, Once: true},
	ProcRemove:      {Name: "REMOVE", MaxReply: RemoveResMax, Once: true},
	ProcRmdir:       {Name: "RMDIR", MaxReply: RemoveResMax, Once: true},
	ProcRename:      {Name: "RENAME", MaxReply: RenameResMax, Once: true},
	ProcLink:        {Name: "LINK", MaxReply: LinkResMax, Once: true},
	ProcReadDir:     {Name: "READDIR", MaxReply: ReadDirPlusResMax(0), Long: true},
	ProcReadDirPlus: {Name: "READDIRPLUS", MaxReply: ReadDirPlusResMax(0), Long: true},
	ProcFSStat:      {Name: "FSSTAT", MaxReply: FSStatResMax},
	ProcFSInfo:      {Name: "FSINFO", MaxReply: FSInfoResMax},
	ProcPathConf:    {Name: "PATHCONF", MaxReply: PathConfResMax},
	ProcCommit:      {Name: "COMMIT", MaxReply: CommitResMax},
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

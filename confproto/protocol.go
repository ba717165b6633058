package confproto

// Numbers of the protocol (draft section 6.2).
const (
	// Program is the draft's program number, CONFIG_RDMA_PROG.
	Program = 100400
	// ProgramRFC5666 is RFC 5666's number for the same program.
	ProgramRFC5666 = 100417
	// Version is VERS1.
	Version = 1
	// ProcConfigure is CONF_RDMA, the one procedure besides the null procedure.
	ProcConfigure = 1
)

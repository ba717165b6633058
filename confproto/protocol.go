package confproto

// Numbers of the protocol (draft section 6.2).
const (
	// Program is CONFIG_RDMA_PROG of the draft.
	Program = 100400
	// ProgramRFC5666 is the number that RFC 5666 has instead. The protocol is the same.
	ProgramRFC5666 = 100417
	// Version is VERS1.
	Version = 1
	// ProcConfigure is CONF_RDMA, the one procedure besides the null procedure.
	ProcConfigure = 1
)

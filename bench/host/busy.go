package host

import "time"

// Busy is the CPU time that the whole machine has used since it started. It is zero if the system
// does not report it.
type Busy struct {
	Tasks      time.Duration // user and system time of processes
	Interrupts time.Duration // hard and soft, much of it for the network
	Stolen     time.Duration // withheld by the host of a virtual machine
}

// All returns the sum.
func (b Busy) All() time.Duration { return b.Tasks + b.Interrupts + b.Stolen }

// Since returns what was used from before until b.
func (b Busy) Since(before Busy) Busy {
	return Busy{b.Tasks - before.Tasks, b.Interrupts - before.Interrupts, b.Stolen - before.Stolen}
}

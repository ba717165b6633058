package rounds

import "github.com/rpcrdma/go-rpcrdma/bench/spread"

// Mark is what tells whether a round counts.
type Mark struct {
	// Yardstick is what raw TCP, or in one process a copy, moved right before, in bytes a second; 0
	// if there was none.
	Yardstick float64 `json:"yardstick,omitempty"`
	// Others is the share of the CPUs that was used by others than this benchmark, or withheld by
	// the host of a virtual machine: of the server's CPUs or of the client's, whichever is more.
	// It is 0 where the system does not tell.
	Others float64 `json:"others"`
	// Disturbed says by what the round was disturbed; empty if it was not.
	Disturbed Disturbance `json:"disturbed,omitempty"`
}

// Disturbance is why a round does not count.
type Disturbance string

// The disturbances.
const (
	OthersBusy   Disturbance = "others used the CPUs"
	YardstickOff Disturbance = "the yardstick was off"
)

const (
	// muchOthers is the share of the CPUs from which on others disturb. Where nobody else runs, the
	// kernel's ticks make it 0 to 6 %; with 10 to 20 % calls are up to three times as slow.
	muchOthers = .15
	// farOff is how many times as fast or as slow as usual a yardstick disturbs.
	farOff = 2
)

// Judge marks those of some rounds that were disturbed. All have the same yardstick.
func Judge(marks []*Mark) {
	var all []float64
	for _, m := range marks {
		if m.Yardstick > 0 {
			all = append(all, m.Yardstick)
		}
	}
	usual := spread.Median(all)
	for _, m := range marks {
		switch {
		case m.Others > muchOthers:
			m.Disturbed = OthersBusy
		case m.Yardstick > farOff*usual || m.Yardstick*farOff < usual:
			m.Disturbed = YardstickOff
		default:
			m.Disturbed = ""
		}
	}
}

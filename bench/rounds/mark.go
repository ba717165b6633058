package rounds

import "github.com/rpcrdma/go-rpcrdma/bench/spread"

// Mark has the data that decide whether a round counts.
type Mark struct {
	// Yardstick is what raw TCP, or a copy within one process, moved right before the round, in
	// bytes a second; 0 if there was none.
	Yardstick float64 `json:"yardstick,omitempty"`
	// Others is the share of the CPUs that other processes used, or that the host of a virtual
	// machine withheld: of the server's or the client's CPUs, whichever share is larger. It is 0 if
	// the system does not report it.
	Others float64 `json:"others"`
	// Disturbed says what disturbed the round; empty if nothing did.
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
	// muchOthers is the share of the CPUs from which other processes disturb a round. On an idle
	// machine the kernel's ticks make it 0 to 6 %. With 10 to 20 %, calls take up to three times as
	// long.
	muchOthers = .15
	// farOff is how many times faster or slower than usual a yardstick must be to disturb a round.
	farOff = 2
)

// Judge marks the rounds that were disturbed. All must have the same yardstick.
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

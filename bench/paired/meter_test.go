package paired

import (
	"context"
	"testing"
	"time"
)

// metered is a fake that also reports CPU time of other processes: one hour more at each reading.
type metered struct {
	fakeEnd
	looks *int
}

func (m metered) CPU() time.Duration {
	*m.looks++
	return time.Duration(*m.looks) * time.Hour
}

func init() {
	Register(Scenario{
		Name:   "fake/metered",
		Metric: Rate,
		Listen: func(context.Context, Sockets) (Server, error) { return metered{looks: new(int)}, nil },
		Dial:   func(context.Context, Sockets, string) (Client, error) { return metered{looks: new(int)}, nil },
	})
}

func TestMeter(t *testing.T) {
	p, id := opened(t, "fake/metered")
	m, err := p.run(id, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []Usage{m.Server, m.Client} {
		if got.CPU < time.Hour || got.CPU > time.Hour+time.Minute {
			t.Errorf("got %v, want the hour of others and a little", got.CPU)
		}
	}
}

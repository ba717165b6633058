package credits

import (
	"math"
	"testing"
)

func TestGranter(t *testing.T) {
	// One step of a server with at most 8 credits, and what it leaves.
	type step struct {
		what      string // "receive", "drop", "reply"
		requested uint32
		allow     int
		grant     uint32
		post      int
		posted    int
		active    int
	}
	receive := func(posted, active int) step { return step{what: "receive", posted: posted, active: active} }
	drop := func(posted, active int) step { return step{what: "drop", posted: posted, active: active} }
	reply := func(requested uint32, allow int, grant uint32, post, posted, active int) step {
		return step{"reply", requested, allow, grant, post, posted, active}
	}
	tests := []struct {
		name  string
		steps []step
	}{
		{"the first reply opens the window", []step{
			receive(0, 1), reply(64, 64, 8, 8, 8, 0),
		}},
		{"afterwards one is posted for each reply", []step{
			receive(0, 1), reply(64, 64, 8, 8, 8, 0),
			receive(7, 1), reply(64, 64, 8, 1, 8, 0),
			receive(7, 1), receive(6, 2), reply(64, 64, 8, 1, 7, 1), reply(64, 64, 8, 1, 8, 0),
		}},
		{"no more than requested", []step{
			receive(0, 1), reply(3, 64, 3, 3, 3, 0),
		}},
		{"no more than memory allows", []step{
			receive(0, 1), reply(64, 5, 5, 5, 5, 0),
		}},
		{"none requested counts as one", []step{
			receive(0, 1), reply(0, 64, 1, 1, 1, 0),
		}},
		{"no memory grants one all the same", []step{
			receive(0, 1), reply(64, 0, 1, 1, 1, 0), receive(0, 1), reply(64, -3, 1, 1, 1, 0),
		}},
		{"request of 32 bits", []step{
			receive(0, 1), reply(math.MaxUint32, math.MaxInt, 8, 8, 8, 0),
		}},
		{"lowered: nothing is posted until the receives are used up", []step{
			receive(0, 1), reply(64, 64, 8, 8, 8, 0),
			receive(7, 1), receive(6, 2), reply(2, 64, 2, 0, 6, 1), reply(2, 64, 2, 0, 6, 0),
			receive(5, 1), receive(4, 2), receive(3, 3), receive(2, 4), receive(1, 5),
			reply(2, 64, 2, 0, 1, 4), receive(0, 5), reply(2, 64, 2, 0, 0, 4),
			reply(2, 64, 2, 0, 0, 3), reply(2, 64, 2, 0, 0, 2), reply(2, 64, 2, 1, 1, 1), reply(2, 64, 2, 1, 2, 0),
		}},
		{"raised: calls under way count as posted", []step{
			receive(0, 1), reply(2, 64, 2, 2, 2, 0),
			receive(1, 1), receive(0, 2), reply(8, 64, 8, 7, 7, 1), reply(8, 64, 8, 1, 8, 0),
		}},
		{"a dropped call posts nothing", []step{
			receive(0, 1), reply(64, 64, 8, 8, 8, 0),
			receive(7, 1), receive(6, 2), drop(6, 1), reply(64, 64, 8, 2, 8, 0),
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewGranter(8)
			if n := g.Start(); n != 1 {
				t.Fatalf("Start() = %d, want 1", n)
			}
			for i, s := range tt.steps {
				switch s.what {
				case "receive":
					g.Received()
				case "drop":
					g.Dropped()
				case "reply":
					grant, post := g.Reply(s.requested, s.allow)
					if grant != s.grant || post != s.post {
						t.Errorf("step %d: Reply(%d, %d) = %d, %d, want %d, %d",
							i, s.requested, s.allow, grant, post, s.grant, s.post)
					}
				}
				if posted, active := g.State(); posted != s.posted || active != s.active {
					t.Errorf("step %d, %s: State() = %d, %d, want %d, %d", i, s.what, posted, active, s.posted, s.active)
				}
			}
		})
	}
}

func TestGranterShort(t *testing.T) {
	tests := []struct {
		name   string
		others int // calls under way beside the one answered
		short  int
		want   uint32
	}{
		{"one of eight", 0, 1, 7},
		{"seven of eight", 0, 7, 1},
		{"all, and another call is under way", 1, 7, 1},
		{"all: the next call would find no receive", 0, 8, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewGranter(8)
			g.Start()
			g.Received()
			if tt.others > 0 { // let the client have as many receives as it needs for these
				g.Reply(uint32(1+tt.others), 8)
				for range 1 + tt.others {
					g.Received()
				}
			}
			grant, post := g.Reply(8, 8)
			if grant != 8 || post != 8-tt.others {
				t.Fatalf("Reply() = %d, %d, want 8, %d", grant, post, 8-tt.others)
			}
			if got := g.Short(tt.short); got != tt.want {
				t.Errorf("Short(%d) = %d, want %d", tt.short, got, tt.want)
			}
		})
	}
}

package roce

import (
	"testing"
	"time"
)

// TestPlausible checks which identifications in a row are plausible.
func TestPlausible(t *testing.T) {
	type step struct {
		id    uint16
		after time.Duration
		want  bool
	}
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"the first, whatever it is", []step{{54321, 0, true}}},
		{"counting", []step{{100, 0, true}, {101, 0, true}, {112, 0, true}}},
		{"wrapping", []step{{0xFFFF, 0, true}, {0, 0, true}, {0xFFFE, 0, true}}},
		{"as far as may be", []step{{30000, 0, true}, {31024, 0, true}, {30000, 0, true}}},
		{"too far", []step{{30000, 0, true}, {31025, 0, false}, {30001, 0, true}}},
		{"too far back", []step{{30000, 0, true}, {28975, 0, false}, {30001, 0, true}}},
		{"further a millisecond later", []step{
			{30000, 0, true}, {32048, time.Millisecond, true}, {34097, time.Millisecond, false}}},
		{"anything after a while", []step{{30000, 0, true}, {62767, 32 * time.Millisecond, true}}},
		{"of a new system call", []step{{30000, 0, true}, {0, 0, true}, {1023, 0, true}}},
		{"just above that", []step{{30000, 0, true}, {1024, 0, false}}},
		{"elsewhere, twice", []step{
			{30000, 0, true}, {50000, 0, false}, {50001, 0, true}, {50002, 0, true}}},
		{"elsewhere, far apart", []step{
			{30000, 0, true}, {50000, 0, false}, {52000, 0, false}, {53000, 0, true}}},
		{"doubt passes", []step{
			{30000, 0, true}, {50000, 0, false}, {30001, 0, true}, {50001, 0, false}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s identifications
			now := time.Unix(1e9, 0)
			for i, step := range tt.steps {
				now = now.Add(step.after)
				got := s.plausible(step.id, now)
				if got {
					s.note(step.id, now)
				}
				if got != step.want {
					t.Fatalf("step %d, identification %d: %v", i, step.id, got)
				}
			}
		})
	}
}

// TestPast: only the latest requests are remembered.
func TestPast(t *testing.T) {
	var p past
	for id := range uint32(1000) {
		p.add(question{id: id}, nil)
	}
	if len(p.refusals) != maxPast {
		t.Errorf("%d are remembered, want %d", len(p.refusals), maxPast)
	}
	for id := range uint32(1000) {
		if got := p.refusal(question{id: id}) != nil; got != (id >= 1000-maxPast) {
			t.Fatalf("request %d is remembered: %v", id, got)
		}
	}
}

package spread

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSpread(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   []float64
		want Spread
	}{
		{"one", []float64{7}, Spread{7, 7, 7}},
		{"two", []float64{3, 1}, Spread{1.5, 2, 2.5}},
		{"five", []float64{50, 10, 30, 20, 40}, Spread{20, 30, 40}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := append([]float64(nil), tt.in...)
			if diff := cmp.Diff(tt.want, Of(in)); diff != "" {
				t.Errorf("Of (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.in, in); diff != "" {
				t.Errorf("the values have changed:\n%s", diff)
			}
		})
	}
	if got := Median(nil); !math.IsNaN(got) {
		t.Errorf("got a median of %v of nothing", got)
	}
}

// TestInterval: the ranks match tables of the binomial distribution, or are one further out.
func TestInterval(t *testing.T) {
	for _, tt := range []struct{ n, low, high int }{{1, 1, 1}, {5, 1, 5}, {20, 5, 16}, {100, 40, 61}, {200, 86, 115}} {
		var values []float64
		for i := range tt.n {
			values = append(values, float64((i*7919)%tt.n+1)) // each of 1 to n, shuffled
		}
		if low, high := Interval(values); low != float64(tt.low) || high != float64(tt.high) {
			t.Errorf("of %d values the interval is from rank %v to %v, want %d to %d",
				tt.n, low, high, tt.low, tt.high)
		}
	}
	if low, high := Interval(nil); !math.IsNaN(low) || !math.IsNaN(high) {
		t.Errorf("got %v to %v of nothing", low, high)
	}
}

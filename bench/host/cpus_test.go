package host

import (
	"slices"
	"testing"
)

func TestParseCPUs(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []int
	}{{"0", []int{0}}, {"3,1,2", []int{3, 1, 2}}, {"", nil}, {"1,", nil}, {"a", nil}, {"0-3", nil}} {
		got, err := ParseCPUs(tt.in)
		if !slices.Equal(got, tt.want) || (err != nil) != (tt.want == nil) {
			t.Errorf("%q: got %v, error %v, want %v", tt.in, got, err, tt.want)
		}
		if err == nil && FormatCPUs(got) != tt.in {
			t.Errorf("%q: got %q back", tt.in, FormatCPUs(got))
		}
	}
}

package bench

import "testing"

func TestFormatSize(t *testing.T) {
	for _, tt := range []struct {
		in   int
		want string
	}{
		{0, "0 B"}, {1, "1 B"}, {1023, "1023 B"}, {1024, "1 KiB"}, {1536, "1.5 KiB"}, {2047, "2.0 KiB"}, {64 << 10, "64 KiB"},
		{100<<10 + 1, "100 KiB"}, {1 << 20, "1 MiB"}, {4 << 20, "4 MiB"}, {1 << 30, "1024 MiB"},
	} {
		if got := FormatSize(tt.in); got != tt.want {
			t.Errorf("FormatSize(%d): got %q, want %q", tt.in, got, tt.want)
		}
	}
}

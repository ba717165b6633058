package files

import (
	"testing"
)

func TestModeChange(t *testing.T) {
	for _, tt := range []struct {
		change string
		mode   uint32
		dir    bool
		want   uint32
	}{
		{"644", 0o777, false, 0o644},
		{"0644", 0o4777, false, 0o644},
		{"4755", 0, false, 0o4755},
		{"7777", 0, false, 0o7777},
		{"0", 0o7777, false, 0},
		{"755", 0o2775, true, 0o2755}, // a directory keeps set-ID
		{"0755", 0o6775, true, 0o6755},
		{"00755", 0o6775, true, 0o755},
		{"2755", 0o775, true, 0o2755},
		{"1777", 0o755, true, 0o1777},
		{"777", 0o1755, true, 0o777},
		{"u+x", 0o644, false, 0o744},
		{"u+x,go-w", 0o666, false, 0o744},
		{"go-rwx", 0o777, false, 0o700},
		{"a=r", 0o777, false, 0o444},
		{"ugo=rw", 0o777, false, 0o666},
		{"a=rX", 0o644, false, 0o444},
		{"a=rX", 0o755, false, 0o555},
		{"a=rX", 0o600, true, 0o555},
		{"u+x,a+X", 0o644, false, 0o755},
		{"+x", 0o644, false, 0o755},
		{"+w", 0o444, false, 0o644}, // as the umask 022 has it
		{"-w", 0o666, false, 0o466},
		{"=rw", 0o777, false, 0o644},
		{"=", 0o777, false, 0},
		{"u=", 0o777, false, 0o077},
		{"g=u", 0o740, false, 0o770},
		{"o=g-w", 0o670, false, 0o675},
		{"u=rwx,g=u-w,o=", 0, false, 0o750},
		{"u-r+w", 0o400, false, 0o200},
		{"u+s", 0o755, false, 0o4755},
		{"g+s", 0o755, true, 0o2755},
		{"+s", 0o755, false, 0o6755},
		{"a-s", 0o6755, true, 0o755},
		{"g-s", 0o6755, true, 0o4755},
		{"u+t", 0o755, true, 0o755},
		{"o+t", 0o755, true, 0o1755},
		{"+t", 0o755, true, 0o1755},
		{"g=rx", 0o2770, true, 0o2750},
		{"g=rx", 0o2770, false, 0o750},
		{"g=rxs", 0o770, true, 0o2750},
		{"u=rwx", 0o170700, false, 0o700},
	} {
		m, err := parseModeChange(tt.change)
		if err != nil {
			t.Errorf("%s: %v", tt.change, err)
			continue
		}
		if got := m.apply(tt.mode, tt.dir, 0o022); got != tt.want {
			t.Errorf("%s of %o (directory: %v): got %o, want %o", tt.change, tt.mode, tt.dir, got, tt.want)
		}
	}
	for _, s := range []string{"", "8", "10000", "77777777777777", "u", "x", "u+", "u+y", "u+x,", ",u+x", "u+x go-w", "b+x", "u+ug", "-1", "0x1f", "+ x"} {
		if m, err := parseModeChange(s); err == nil && s != "u+" {
			t.Errorf("%q: got %v, want an error", s, m)
		}
	}
}

// FuzzModeChange: any text is a change or an error, and a change of a mode leads to a mode.
func FuzzModeChange(f *testing.F) {
	for _, s := range []string{"644", "u+x,go-w", "a=rX", "g=u-w+s", "="} {
		f.Add(s, uint32(0o644), true)
	}
	f.Fuzz(func(t *testing.T, s string, mode uint32, dir bool) {
		m, err := parseModeChange(s)
		if err != nil {
			return
		}
		got := m.apply(mode, dir, 0o022)
		if got&^modeAll != 0 {
			t.Errorf("%q of %o: got %o", s, mode, got)
		}
	})
}

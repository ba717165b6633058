package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// barState is what is known of a transfer.
type barState struct {
	what     string
	done     int64 // bytes
	size     int64 // bytes of all files that were found
	copied   int   // files
	found    int   // files; 0: it is one, or none
	complete bool  // no further files will be found
	samples  []barSample
}

// barSample is what was done by some time.
type barSample struct {
	at   time.Time
	done int64
}

// rateSamples is over how many samples, at most, the rate is the mean.
const rateSamples = 25

func newBarState(what string, size int64, now time.Time) barState {
	return barState{what: what, size: max(size, 0), complete: size > 0, samples: []barSample{{now, 0}}}
}

// sample notes what is done now.
func (s *barState) sample(now time.Time) {
	if len(s.samples) > rateSamples {
		s.samples = append(s.samples[:0], s.samples[1:]...)
	}
	s.samples = append(s.samples, barSample{now, s.done})
}

// rate is how many bytes were transferred in a second, lately.
func (s *barState) rate() float64 {
	first, last := s.samples[0], s.samples[len(s.samples)-1]
	seconds := last.at.Sub(first.at).Seconds()
	if seconds <= 0 {
		return 0
	}
	return float64(last.done-first.done) / seconds
}

// part returns which part of the whole is done, if that is known.
func (s *barState) part() (float64, bool) {
	switch {
	case !s.complete || s.done > s.size: // or the file has no size, or has grown
		return 0, false
	case s.size > 0:
		return float64(s.done) / float64(s.size), true
	case s.found > 0:
		return float64(s.copied) / float64(s.found), true
	}
	return 0, false
}

// line describes it in so many columns at most:
//
//	get [########            ]  40% 3 of 7 files, 40.0 MB of 100 MB, 12.5 MB/s, 5s left
//	get 3 files, 40.0 MB, 12.5 MB/s
func (s *barState) line(columns int) string {
	part, known := s.part()
	var words []string
	switch {
	case known && s.found > 1:
		words = append(words, fmt.Sprintf("%d of %d files", s.copied, s.found))
	case s.found > 1 || s.found == 1 && !s.complete:
		words = append(words, fmt.Sprintf("%d files", s.copied))
	}
	switch {
	case known && s.size > 0:
		words = append(words, metric(s.done)+" of "+metric(s.size))
	case s.done > 0 || len(words) == 0:
		words = append(words, metric(s.done))
	}
	rate := s.rate()
	if s.done > 0 {
		words = append(words, metric(int64(rate))+"/s")
	}
	if known && rate > 0 && s.done < s.size {
		left := time.Duration(min(float64(s.size-s.done)/rate, 1e9)) * time.Second
		words = append(words, left.String()+" left")
	}
	text := strings.Join(words, ", ")
	if known {
		text = fmt.Sprintf("%3d%% %s", int(100*part), text)
		if wide := min(40, columns-utf8.RuneCountInString(s.what)-len(text)-4); wide >= 10 {
			full := int(float64(wide) * part)
			text = "[" + strings.Repeat("#", full) + strings.Repeat(" ", wide-full) + "] " + text
		}
	}
	all := []rune(s.what + " " + text)
	return string(all[:min(len(all), max(columns, 0))])
}

// metric returns bytes with two digits or three.
func metric(bytes int64) string {
	const units = "kMGTPE"
	if bytes < 1000 {
		return fmt.Sprintf("%d B", bytes)
	}
	n, i := float64(bytes)/1000, 0
	for ; n >= 999.5; i++ {
		n /= 1000
	}
	if n < 99.95 {
		return fmt.Sprintf("%.1f %cB", n, units[i])
	}
	return fmt.Sprintf("%.0f %cB", n, units[i])
}

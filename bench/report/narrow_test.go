package report

import (
	"encoding/base64"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

// phone is the width of a narrow screen in CSS pixels.
const phone = 400

// pictureText returns the SVG in an attribute.
func pictureText(t *testing.T, attr string) string {
	t.Helper()
	svg, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(attr, "data:image/svg+xml;base64,"))
	if err != nil {
		t.Fatal(err)
	}
	return string(svg)
}

var (
	fixedWidth = regexp.MustCompile(`(?:^|[^-])\b(?:min-)?width:\s*([0-9.]+)(px|rem|em)`)
	gridWidth  = regexp.MustCompile(`minmax\(([0-9.]+)(px|rem|em)`)
	viewBox    = regexp.MustCompile(`viewBox="0 0 ([0-9.]+) ([0-9.]+)"`)
	fontSize   = regexp.MustCompile(`font-size:([0-9.]+)px`)
)

// TestPageNarrow checks that the page fits a screen of 400 px: its width is the device's width, no
// element is wider, tables scroll within their boxes, and charts have a narrow form with text of at
// least 10 px.
func TestPageNarrow(t *testing.T) {
	page := pageOf(t, sample())
	if !strings.Contains(page, `<meta name="viewport" content="width=device-width, initial-scale=1">`) {
		t.Error("got no viewport as wide as the device")
	}
	for _, re := range []*regexp.Regexp{fixedWidth, gridWidth} {
		for _, m := range re.FindAllStringSubmatch(page, -1) {
			px, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			if m[2] != "px" {
				px *= 16
			}
			if px > phone {
				t.Errorf("got %q, want at most %d px", m[0], phone)
			}
		}
	}

	tables, charts := 0, 0
	elements, _ := parse(t, page)
	var before string // class of the previous element
	for _, e := range elements {
		class, media, srcset := "", "", ""
		for _, a := range e.Attr {
			switch a.Name.Local {
			case "class":
				class = a.Value
			case "media":
				media = a.Value
			case "srcset":
				srcset = a.Value
			}
		}
		if e.Name.Local == "table" {
			if tables++; !strings.Contains(before, "wide") && !strings.Contains(before, "points") {
				t.Errorf("got a table in %q, want it in what scrolls", before)
			}
		}
		before = class
		if !strings.Contains(media, "max-width: 40rem") {
			continue
		}
		charts++
		svg := pictureText(t, srcset)
		box := viewBox.FindStringSubmatch(svg)
		if box == nil {
			t.Fatal("got a chart without a viewBox: it does not scale")
		}
		if width, _ := strconv.ParseFloat(box[1], 64); width > phone {
			t.Errorf("got a chart %v px wide", width)
		}
		for _, m := range fontSize.FindAllStringSubmatch(svg, -1) {
			if px, _ := strconv.ParseFloat(m[1], 64); px < 10 {
				t.Errorf("got text of %v px", px)
			}
		}
	}
	if tables < 3 || charts == 0 || charts%2 != 0 {
		t.Errorf("got %d tables and %d narrow charts", tables, charts)
	}
	for _, rule := range []string{".wide { overflow-x: auto; }", ".points { overflow-x: auto; }"} {
		if !strings.Contains(page, rule) {
			t.Errorf("got no %s", rule)
		}
	}
}

// TestFolded: a title is broken into as many lines as it needs.
func TestFolded(t *testing.T) {
	f := figure{light, narrowForm}
	style := f.style(13)
	const title = "Calls a second: 256 B by inline reply, 8 calls in flight on each"
	for _, width := range []vg.Length{100, 300, 1000} {
		lines := strings.Split(folded(title, style, width), "\n")
		for _, l := range lines {
			if w := style.Width(l); w > width {
				t.Errorf("at %v: got a line %v wide: %q", width, w, l)
			}
		}
		if got := strings.Join(lines, " "); got != title {
			t.Errorf("at %v: got %q", width, got)
		}
		if width == 1000 && len(lines) != 1 {
			t.Errorf("got %d lines where one has room", len(lines))
		}
	}
}

package report

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

// parse returns the elements of a document, and all of its text. Markup is HTML or SVG.
func parse(t *testing.T, markup string) (elements []xml.StartElement, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(markup))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var b strings.Builder
	for {
		switch token, err := d.Token(); token := token.(type) {
		case nil:
			if err != io.EOF {
				t.Fatal(err)
			}
			return elements, b.String()
		case xml.StartElement:
			elements = append(elements, token.Copy())
		case xml.CharData:
			b.Write(token)
		}
	}
}

// pageOf returns the report as HTML.
func pageOf(t *testing.T, r *bench.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := writePage(&b, r, charts(r)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPageContained: neither the page nor its charts refer to anything outside.
func TestPageContained(t *testing.T) {
	const embedded = "data:image/svg+xml;base64,"
	pictures := 0
	elements, text := parse(t, pageOf(t, small()))
	for _, e := range elements {
		if slices.Contains([]string{"script", "link", "iframe", "object", "embed", "base", "form"}, e.Name.Local) {
			t.Errorf("got an element <%s>", e.Name.Local)
		}
		for _, a := range e.Attr {
			switch {
			case !refers(a):
			case !strings.HasPrefix(a.Value, embedded):
				t.Errorf("got <%s %s=%q>, want data", e.Name.Local, a.Name.Local, a.Value)
			default:
				pictures++
				svg, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(a.Value, embedded))
				if err != nil {
					t.Fatal(err)
				}
				checkSVG(t, string(svg))
			}
		}
	}
	for _, bad := range []string{"url(", "@import", "http:", "https:"} {
		if strings.Contains(text, bad) { // includes the style
			t.Errorf("got %q in the text", bad)
		}
	}
	if want := 4 * len(charts(small())); pictures != want || want == 0 {
		t.Errorf("got %d pictures, want %d: each chart for a light and a dark page, wide and narrow", pictures, want)
	}
}

// refers reports whether an attribute names something to load or to run.
func refers(a xml.Attr) bool {
	return slices.Contains([]string{"src", "srcset", "href", "action", "data", "poster", "background"}, a.Name.Local) ||
		strings.HasPrefix(a.Name.Local, "on") || strings.Contains(a.Value, "url(")
}

func checkSVG(t *testing.T, svg string) {
	t.Helper()
	elements, _ := parse(t, svg)
	if len(elements) == 0 || elements[0].Name.Local != "svg" {
		t.Fatalf("got no SVG: %.80q", svg)
	}
	texts := 0
	for _, e := range elements {
		if e.Name.Local == "text" {
			texts++
		}
		for _, a := range e.Attr {
			if refers(a) {
				t.Errorf("got <%s %s=%q> in a chart", e.Name.Local, a.Name.Local, a.Value)
			}
		}
	}
	if texts == 0 {
		t.Error("got a chart without texts")
	}
}

// TestPageEscapes: text from outside, such as the server's address and its errors, stays text.
func TestPageEscapes(t *testing.T) {
	const hostile = `"><script>alert('1' & 2)</script><img src=//host/x>`
	r := small()
	r.Server, r.Grid, r.Conditions = hostile, hostile, []string{hostile}
	r.LeftOut[0].Why, r.Advice.Why = hostile, []string{hostile}
	for i := range r.Measured {
		r.Measured[i].Path, r.Measured[i].Way = hostile, hostile
	}
	r.Measured = append(r.Measured, small().Measured...)
	r.Crossovers[0].Path = hostile

	page := pageOf(t, r)
	elements, text := parse(t, page)
	images := 0
	for _, e := range elements {
		switch e.Name.Local {
		case "script":
			t.Error("got a script")
		case "img":
			images++
		}
	}
	if want := len(charts(r)); images != want {
		t.Errorf("got %d images, want the %d charts", images, want)
	}
	// The server, the grid, a condition, a reason, a sentence, the crossover, and the points.
	if got := strings.Count(text, hostile); got < 7 {
		t.Errorf("got the text %d times, want it wherever it was put", got)
	}
}

// TestPageFirst: the most important parts come first.
func TestPageFirst(t *testing.T) {
	page := pageOf(t, small())
	at := 0
	for _, want := range []string{
		"For iwarp: inline threshold 5 KiB for calls.",
		"chunks from 4 KiB</div>", "for payload of calls", "at 16 KiB the chunk 2.00 times as fast</div>",
		"13.1 GB/s</div>", "read chunk, 1 MiB, 8 calls in flight, 1 connection: 0.936 of raw TCP",
		"9.50 µs</div>", "inline reply, 1 KiB, 1 call in flight, 1 connection: 1.34 times raw TCP&#39;s 7.10 µs",
		"rpcrdma serve --inline 5KiB", "rpcrdma.Config{InlineSend: 5120}", "<img", "TCP congestion control reno", "a Send is at most 65536 bytes", "iwarp, inline call",
	} {
		i := strings.Index(page[at:], want)
		if i < 0 {
			t.Fatalf("got no %q after byte %d", want, at)
		}
		at += i
	}
}

func TestPagePartial(t *testing.T) {
	for name, r := range partial() {
		t.Run(name, func(t *testing.T) {
			elements, text := parse(t, pageOf(t, r))
			if len(elements) == 0 {
				t.Error("got nothing")
			}
			for _, bad := range []string{"NaN", "Inf", "%!"} {
				if strings.Contains(text, bad) {
					t.Errorf("got %s", bad)
				}
			}
		})
	}
}

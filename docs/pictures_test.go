package docs_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxPicture is the size in bytes of the largest SVG: they are written by hand.
const maxPicture = 10_000

var picture = regexp.MustCompile(`!\[[^]]+\]\(([^)]+\.svg)\)`)

// TestPictures checks that the SVGs of the documents are small, well-formed, have a title and a
// description, and contain nothing active; and that README.md and docs/*.md show all of them, and
// no others.
func TestPictures(t *testing.T) {
	docs, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	referenced := make(map[string]bool)
	for _, doc := range append(docs, "../README.md") {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range picture.FindAllStringSubmatch(string(text), -1) {
			file := filepath.Join(filepath.Dir(doc), m[1])
			if rel, err := filepath.Rel("../docs", file); err == nil && strings.HasPrefix(file, "..") {
				file = rel
			}
			referenced[file] = true
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: %v", doc, err)
			}
		}
	}
	files, err := filepath.Glob("pictures/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no pictures: %v", err)
	}
	others, err := filepath.Glob("*.svg")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, others...)
	for _, file := range files {
		if !referenced[file] {
			t.Errorf("no document shows %s", file)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkPicture(string(b)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// checkPicture says what is wrong with an SVG.
func checkPicture(svg string) error {
	if len(svg) > maxPicture {
		return errors.New("too large")
	}
	d := xml.NewDecoder(strings.NewReader(svg))
	texts := make(map[string]bool)
	for element := ""; ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			element = token.Name.Local
			switch element {
			case "script", "image", "foreignObject", "a":
				return errors.New("element " + element)
			}
		case xml.CharData:
			if s := string(token); strings.Contains(s, "@import") || strings.Contains(s, "url(") {
				return errors.New("something external")
			} else if strings.TrimSpace(s) != "" {
				texts[element] = true
			}
		case xml.EndElement:
			element = ""
		}
	}
	if !texts["title"] || !texts["desc"] {
		return errors.New("no title, or no desc")
	}
	return nil
}

// TestCheckPicture checks that each kind of mistake in an SVG is found.
func TestCheckPicture(t *testing.T) {
	const head = `<svg xmlns="http://www.w3.org/2000/svg"><title>A</title>`
	for _, tt := range []struct {
		name, svg string
		ok        bool
	}{
		{"right", head + `<desc>B</desc><text>C</text></svg>`, true},
		{"no description", head + `</svg>`, false},
		{"empty description", head + `<desc> </desc></svg>`, false},
		{"not closed", head + `<desc>B</desc>`, false},
		{"bad entity", head + `<desc>B & C</desc></svg>`, false},
		{"script", head + `<desc>B</desc><script>C</script></svg>`, false},
		{"font from elsewhere", head + `<desc>B</desc><style>@import "x";</style></svg>`, false},
		{"too large", head + `<desc>` + strings.Repeat("B", maxPicture) + `</desc></svg>`, false},
	} {
		if err := checkPicture(tt.svg); (err == nil) != tt.ok {
			t.Errorf("%s: got error %v, want none: %v", tt.name, err, tt.ok)
		}
	}
}

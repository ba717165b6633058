package report

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page is the data of page.html.
type page struct {
	Advice     string
	Settings   []setting
	Why        []string
	Cards      []card
	About      string
	Conditions []string
	Charts     []picture // of the recommended path, and of all paths together
	More       []album   // of the other paths

	Crossovers []crossover
	Band       string

	Sizes      []string
	Yardsticks []yardstick
	PingPong   string
	AboutRatio string

	Head     []cell
	Columns  []string
	Sections []rows
	Loopback string

	LeftOut int
	Total   int
	Reasons []reason
}

// card is one of the figures at the top.
type card struct{ Figure, What, Note string }

// picture is a chart in both themes, as data URIs.
type picture struct {
	Title, About string
	Light        template.URL
	Dark         template.Srcset

	NarrowLight, NarrowDark template.Srcset // for narrow screens
}

// album has the charts of one path.
type album struct {
	Path   bench.Path
	Charts []picture
}

// crossover is a row about one path and direction.
type crossover struct{ Path, Direction, Chunk, Where, Gain string }

// cell is a cell of the first header row, over several columns.
type cell struct {
	Text string
	Span int
}

// rows has the rows of one path and way.
type rows struct {
	Title string
	Rows  [][]string
}

// writePage writes the HTML with these charts.
func writePage(w io.Writer, r *bench.Result, all []chart) error {
	p := page{
		Advice: advice(r), Settings: settings(&r.Advice),
		Band: aboutBand(), Why: r.Advice.Why,
		Cards: cards(r), About: about(r), Conditions: conditions(r),
		PingPong: pingPong(&r.Yardsticks), AboutRatio: aboutRatio, Total: len(r.Measured),
	}
	for i := range all {
		p.place(all[i].picture(), all[i].path, r)
	}
	for _, d := range bench.Decisions(r.Crossovers) {
		p.Crossovers = append(p.Crossovers,
			crossover{string(d.Path), d.Direction(), string(d.Chunk), d.Where(), d.Gain()})
	}
	p.Sizes, p.Yardsticks = yardsticks(&r.Yardsticks)
	p.Head, p.Columns = head()
	for _, s := range sections(r) {
		part := rows{Title: s.title()}
		for _, m := range s.measured {
			var cells []string
			for _, c := range columns {
				cells = append(cells, c.cell(m))
			}
			part.Rows = append(part.Rows, cells)
		}
		p.Sections = append(p.Sections, part)
	}
	if hasLoopback(r) {
		p.Loopback = oneProcess
	}
	p.LeftOut, p.Reasons = leftOut(r)
	p.Total += p.LeftOut

	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, &p); err != nil {
		return fmt.Errorf("the HTML of the report: %w", err)
	}
	_, err := b.WriteTo(w)
	return err
}

// place adds a picture to its section.
func (p *page) place(pic picture, path bench.Path, r *bench.Result) {
	if path == "" || path == paths(r)[0] {
		p.Charts = append(p.Charts, pic)
		return
	}
	i := slices.IndexFunc(p.More, func(a album) bool { return a.Path == path })
	if i < 0 {
		i, p.More = len(p.More), append(p.More, album{Path: path})
	}
	p.More[i].Charts = append(p.More[i].Charts, pic)
}

func (c *chart) picture() picture {
	pic := picture{Title: c.title, About: c.about}
	uri := func(t theme, f form) string {
		return "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(c.svg(t, f))
	}
	pic.Light, pic.Dark = template.URL(uri(light, wideForm)), template.Srcset(uri(dark, wideForm))
	pic.NarrowLight, pic.NarrowDark = template.Srcset(uri(light, narrowForm)), template.Srcset(uri(dark, narrowForm))
	return pic
}

// head returns the two header rows of the table.
func head() (groups []cell, names []string) {
	for i, c := range columns {
		names = append(names, c.name)
		if i > 0 && c.group != "" && c.group == columns[i-1].group {
			groups[len(groups)-1].Span++
			continue
		}
		groups = append(groups, cell{c.group, 1})
	}
	return groups, names
}

package report

import (
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// form is the shape of a chart.
type form struct {
	width   vg.Length // in points
	margin  vg.Length
	stacked bool // the panels are one below the other
	bare    bool // without title and about, which the page shows itself
	ticks   int  // most ticks along an axis
}

// The forms: a file; a picture in a page; a picture in a page on a narrow screen.
var (
	fileForm   = form{width: 960, margin: 14, ticks: maxTicks}
	wideForm   = form{width: 960, margin: 6, ticks: maxTicks, bare: true}
	narrowForm = form{width: 360, margin: 4, ticks: 6, bare: true, stacked: true}
)

// height returns the height of a chart with so many panels.
func (f *form) height(panels int) vg.Length {
	if f.stacked {
		return vg.Length(60 + 240*panels)
	}
	return 440
}

// widerFont is how much wider a font may be if the page replaces the one measured here.
const widerFont = 1.15

// sans returns a font with the metrics of Arial and Helvetica.
func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

// figure draws charts in a theme and a form.
type figure struct {
	theme
	form
}

func (f *figure) style(size vg.Length) text.Style {
	return text.Style{Color: f.text, Font: sans(size),
		XAlign: draw.XLeft, YAlign: draw.YTop, Handler: plot.DefaultTextHandler}
}

// draw draws the whole chart.
func (f *figure) draw(c *chart, dc draw.Canvas) {
	if f.background != nil {
		dc.FillPolygon(f.background, []vg.Point{dc.Min, {X: dc.Max.X, Y: dc.Min.Y}, dc.Max, {X: dc.Min.X, Y: dc.Max.Y}})
	}
	dc = draw.Crop(dc, f.margin, -f.margin, f.margin, -f.margin)
	if !f.bare {
		f.heading(c, &dc)
	}
	dc.Min.Y += f.legend(c, dc) + 8

	f.panels(c, dc)
}

// heading draws title and about along the upper edge of dc, and cuts it off.
func (f *figure) heading(c *chart, dc *draw.Canvas) {
	title, about := f.style(17), f.style(12)
	about.Color = f.faint
	dc.FillText(title, vg.Point{X: dc.Min.X, Y: dc.Max.Y}, c.title)
	dc.Max.Y -= 22
	if c.about != "" {
		dc.FillText(about, vg.Point{X: dc.Min.X, Y: dc.Max.Y}, c.about)
		dc.Max.Y -= 16
	}
	dc.Max.Y -= 8
}

// panels draws the panels, side by side or one below the other.
func (f *figure) panels(c *chart, dc draw.Canvas) {
	n := len(c.panels)
	tiles := draw.Tiles{Rows: 1, Cols: n, PadX: 24}
	plots := [][]*plot.Plot{nil}
	if f.stacked {
		tiles = draw.Tiles{Rows: n, Cols: 1, PadY: 14}
		plots = make([][]*plot.Plot, n)
	}
	width := dc.Size().X / vg.Length(tiles.Cols)
	for i := range c.panels {
		row := i % tiles.Rows
		plots[row] = append(plots[row], f.panel(&c.panels[i], width))
	}
	for i, row := range plot.Align(plots, tiles, dc) {
		for j, canvas := range row {
			plots[i][j].Draw(canvas)
		}
	}
}

// panel makes a plot of p for about this width.
func (f *figure) panel(p *panel, width vg.Length) *plot.Plot {
	plt := plot.New()
	plt.BackgroundColor = nil
	const axis = 60 // the title is centred to the right of it
	plt.Title.Text = folded(p.title, f.style(13), width-axis)
	plt.Title.TextStyle.Font, plt.Title.TextStyle.Color = sans(13), f.text
	plt.Title.Padding = 8
	f.axis(&plt.X, p.x)
	f.axis(&plt.Y, p.y)

	grid := plotter.NewGrid()
	grid.Vertical = draw.LineStyle{Color: f.grid, Width: .8}
	grid.Horizontal = grid.Vertical
	plt.Add(grid)
	if p.level != 0 {
		plt.Add(&level{at: p.level, style: draw.LineStyle{Color: f.faint, Width: 1.2}})
	}
	for _, l := range slices.Backward(p.lines) { // the first line is on top
		f.line(plt, l)
	}
	for _, m := range p.marks {
		dashed := draw.LineStyle{Color: f.text, Width: 1, Dashes: []vg.Length{2, 3}}
		plt.Add(&crossing{mark: m, line: dashed, text: f.style(11.5)})
	}
	if p.low != (point{}) {
		plt.X.Min, plt.X.Max = p.low.x, p.high.x
		plt.Y.Min, plt.Y.Max = min(plt.Y.Min, p.low.y), max(plt.Y.Max, p.high.y)
	}
	plt.X.Min, plt.X.Max = p.x.around(plt.X.Min, plt.X.Max)
	plt.Y.Min, plt.Y.Max = p.y.around(plt.Y.Min, plt.Y.Max)
	return plt
}

func (f *figure) axis(a *plot.Axis, x axis) {
	a.Scale = plot.LogScale{}
	a.Tick.Marker = ticker{x, f.ticks}
	a.Tick.Length = 4
	a.Tick.LineStyle = draw.LineStyle{Color: f.faint, Width: .8}
	a.Tick.Label.Font, a.Tick.Label.Color = sans(11), f.faint
	a.Label.Text = x.label
	a.Label.TextStyle.Font, a.Label.TextStyle.Color = sans(11.5), f.faint
	a.Label.Padding = 4
	a.LineStyle = draw.LineStyle{Color: f.faint, Width: .8}
	a.Padding = 0
}

// line adds l, which may be empty.
func (f *figure) line(plt *plot.Plot, l line) {
	if len(l.points) == 0 {
		return
	}
	xy := make(plotter.XYs, len(l.points))
	for i, p := range l.points {
		xy[i].X, xy[i].Y = p.x, p.y
	}
	plt.Add(&plotter.Line{XYs: xy, LineStyle: f.stroke(l.look)})
	if !l.look.plain {
		plt.Add(&plotter.Scatter{XYs: xy, GlyphStyle: f.glyph(l.look)})
	}
}

func (f *figure) stroke(l look) draw.LineStyle {
	s := draw.LineStyle{Color: f.palette[l.color], Width: 2}
	if l.dashed {
		s.Dashes = []vg.Length{5, 3}
	}
	if l.plain {
		s.Width = 1.4
	}
	return s
}

// glyph returns a different shape for each colour, for people who cannot tell the colours apart.
func (f *figure) glyph(l look) draw.GlyphStyle {
	shapes := [...]draw.GlyphDrawer{
		blue: draw.CircleGlyph{}, vermilion: draw.BoxGlyph{}, green: draw.PyramidGlyph{}, purple: draw.CrossGlyph{},
		orange: draw.RingGlyph{}, sky: draw.SquareGlyph{}, grey: draw.TriangleGlyph{},
		strong: draw.PlusGlyph{}, brown: draw.BoxGlyph{},
	}
	return draw.GlyphStyle{Color: f.palette[l.color], Radius: 3.2, Shape: shapes[l.color]}
}

// legend draws the names of all lines along the lower edge, and returns its height.
func (f *figure) legend(c *chart, dc draw.Canvas) vg.Length {
	const sample, space, row = 24, 22, 18
	style := f.style(12)
	style.YAlign = draw.YCenter

	type place struct {
		line
		x   vg.Length
		row int
	}
	var places []place
	x, rows := vg.Length(0), 0
	for _, p := range c.panels {
		for _, l := range p.lines {
			if len(l.points) == 0 ||
				slices.ContainsFunc(places, func(other place) bool { return other.name == l.name }) {
				continue
			}
			width := sample + 6 + style.Width(l.name)*widerFont
			if x > 0 && x+width > dc.Size().X {
				x, rows = 0, rows+1
			}
			places = append(places, place{l, x, rows})
			x += width + space
		}
	}
	height := vg.Length(rows+1) * row
	for _, p := range places {
		left, y := dc.Min.X+p.x, dc.Min.Y+height-vg.Length(p.row)*row-row/2
		dc.StrokeLine2(f.stroke(p.look), left, y, left+sample, y)
		if !p.look.plain {
			dc.DrawGlyphNoClip(f.glyph(p.look), vg.Point{X: left + sample/2, Y: y})
		}
		dc.FillText(style, vg.Point{X: left + sample + 6, Y: y}, p.name)
	}
	return height
}

// folded breaks s between words into lines of at most this width.
func folded(s string, style text.Style, width vg.Length) string {
	var lines []string
	for _, word := range strings.Fields(s) {
		if n := len(lines); n > 0 && style.Width(lines[n-1]+" "+word)*widerFont <= width {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return strings.Join(lines, "\n")
}

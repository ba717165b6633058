package report

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// crossing draws a mark: a vertical line over the whole height, with its text beside the upper end.
type crossing struct {
	mark
	line draw.LineStyle
	text text.Style
}

// Plot draws the mark.
func (m *crossing) Plot(c draw.Canvas, p *plot.Plot) {
	norm := p.X.Norm(m.x)
	if norm < 0 || norm > 1 {
		return
	}
	x := c.X(norm)
	c.StrokeLine2(m.line, x, c.Min.Y, x, c.Max.Y)
	style, at := m.text, vg.Point{X: x + 5, Y: c.Max.Y - 3}
	if at.X+style.Width(m.mark.text) > c.Max.X {
		style.XAlign, at.X = draw.XRight, x-5
	}
	c.FillText(style, at, m.mark.text)
}

// level draws a horizontal line over the whole width.
type level struct {
	at    float64
	style draw.LineStyle
}

// Plot draws the line.
func (l *level) Plot(c draw.Canvas, p *plot.Plot) {
	y := c.Y(p.Y.Norm(l.at))
	c.StrokeLine2(l.style, c.Min.X, y, c.Max.X, y)
}

// DataRange makes the plot's range include the line.
func (l *level) DataRange() (xmin, xmax, ymin, ymax float64) {
	inf := float64(1 << 62)
	return inf, -inf, l.at, l.at
}

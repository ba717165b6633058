package report

import (
	"bytes"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// dotsPerInch makes two pixels of a point.
const dotsPerInch = 144

// png draws c for a file of its own.
func (c *chart) png() ([]byte, error) {
	canvas := vgimg.NewWith(vgimg.UseWH(chartWidth, chartHeight), vgimg.UseDPI(dotsPerInch))
	f := figure{light}
	f.draw(c, draw.New(canvas))
	var b bytes.Buffer
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(&b)
	return b.Bytes(), err
}

// svg draws c for a page.
func (c *chart) svg(t theme) ([]byte, error) {
	canvas := vgsvg.New(chartWidth, chartHeight)
	t.background = nil
	f := figure{t}
	f.draw(c, draw.New(canvas))
	var b bytes.Buffer
	_, err := canvas.WriteTo(&b)
	// The font of the measures is rarely there, but others have the same.
	return bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;")), err
}

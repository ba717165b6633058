package report

import (
	"bytes"
	"io"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// dotsPerInch makes two pixels of a point.
const dotsPerInch = 144

// writePNG draws c for a file of its own.
func (c *chart) writePNG(w io.Writer) error {
	f := figure{light, fileForm}
	canvas := vgimg.NewWith(vgimg.UseWH(f.width, f.height(len(c.panels))), vgimg.UseDPI(dotsPerInch))
	f.draw(c, draw.New(canvas))
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
	return err
}

// svg draws c for a page.
func (c *chart) svg(t theme, in form) []byte {
	t.background = nil
	f := figure{t, in}
	canvas := vgsvg.New(f.width, f.height(len(c.panels)))
	f.draw(c, draw.New(canvas))
	var b bytes.Buffer
	_, _ = canvas.WriteTo(&b) // fails if b does, which does not
	// The font of the measures is rarely there, but others have the same.
	return bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
}

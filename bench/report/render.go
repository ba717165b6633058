package report

import (
	"bytes"
	"io"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// dotsPerInch makes two pixels per point.
const dotsPerInch = 144

// writePNG draws c as a file.
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
	_, _ = canvas.WriteTo(&b) // a bytes.Buffer does not fail
	// The font used for measuring is rarely installed; the others have the same metrics.
	return bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
}

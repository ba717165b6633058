package report

import "image/color"

// theme has the colours of a chart.
type theme struct {
	background color.Color // nil means none
	text       color.Color
	faint      color.Color // less important text, and axes
	grid       color.Color
	palette    [9]color.Color
}

// Indices in a palette, which has the colours of Okabe and Ito: people with impaired colour vision
// can distinguish them.
const (
	blue = iota
	vermilion
	green
	purple
	orange
	sky
	grey
	strong // the colour of text
	brown
)

func rgb(hex uint32) color.Color {
	return color.NRGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 255}
}

var light = theme{
	background: color.White,
	text:       rgb(0x1f2328), faint: rgb(0x656d76), grid: rgb(0xdfe3e8),
	palette: [9]color.Color{
		blue: rgb(0x0072b2), vermilion: rgb(0xd55e00), green: rgb(0x009e73), purple: rgb(0xb0579b),
		orange: rgb(0xe69f00), sky: rgb(0x56b4e9), grey: rgb(0x8b949e), strong: rgb(0x1f2328), brown: rgb(0x7a3b12),
	},
}

var dark = theme{
	text: rgb(0xe6edf3), faint: rgb(0x9198a1), grid: rgb(0x2b313a),
	palette: [9]color.Color{
		blue: rgb(0x4aa3df), vermilion: rgb(0xff8c42), green: rgb(0x2fc79a), purple: rgb(0xe08fcb),
		orange: rgb(0xf2c14e), sky: rgb(0x8fd3ff), grey: rgb(0x8b949e), strong: rgb(0xe6edf3), brown: rgb(0xb98b6a),
	},
}

package report

import (
	"os"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

func TestLookCharts(t *testing.T) {
	for name, r := range map[string]func() *bench.Result{"full": sample, "quick": quick} {
		for _, c := range charts(r()) {
			b, err := c.png()
			if err != nil {
				t.Fatal(err)
			}
			os.WriteFile("/tmp/h8/r/"+name+"-"+c.name+".png", b, 0o666)
			b, err = c.svg(dark)
			os.WriteFile("/tmp/h8/r/"+name+"-"+c.name+".svg", b, 0o666)
		}
	}
}

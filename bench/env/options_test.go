package env

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

func TestRead(t *testing.T) {
	defaults := Options{
		Starts:  5,
		Rounds:  4,
		Time:    100 * time.Millisecond,
		Limit:   time.Minute,
		Sockets: host.Sockets{Congestion: host.DefaultCongestion},
	}
	for _, tt := range []struct {
		name string
		env  map[string]string
		want func(*Options) // changes to the defaults; nil for an error
		err  string
	}{
		{name: "defaults", want: func(*Options) {}},
		{
			name: "all",
			env: map[string]string{
				"BENCH_STARTS": "2", "BENCH_ROUNDS": "3", "BENCH_TIME": "2s", "BENCH_CPUS": "4,2",
				"BENCH_CONGESTION": "cubic", "BENCH_PROFILE": "/tmp",
				"BENCH_SIZE": "5", "BENCH_CONNS": "6",
			},
			want: func(o *Options) {
				o.Starts, o.Rounds, o.Time, o.CPUs, o.Profile = 2, 3, 2*time.Second, []int{4, 2}, "/tmp"
				o.Sockets.Congestion, o.Size, o.Conns = "cubic", 5, 6
			},
		},
		{
			name: "the system's congestion control",
			env:  map[string]string{"BENCH_CONGESTION": "system"},
			want: func(o *Options) { o.Sockets.Congestion = "" },
		},
		{name: "starts", env: map[string]string{"BENCH_STARTS": "1.5"}, err: `parsing "1.5"`},
		{name: "no starts", env: map[string]string{"BENCH_STARTS": "0"}, err: "BENCH_STARTS: 0"},
		{name: "rounds", env: map[string]string{"BENCH_ROUNDS": "many"}, err: `parsing "many"`},
		{name: "no rounds", env: map[string]string{"BENCH_ROUNDS": "0"}, err: "BENCH_ROUNDS: 0"},
		{name: "time", env: map[string]string{"BENCH_TIME": "3"}, err: "missing unit"},
		{name: "no time", env: map[string]string{"BENCH_TIME": "0s"}, err: "rounds of 0s"},
		{name: "CPUs", env: map[string]string{"BENCH_CPUS": "0,x"}, err: `parsing "x"`},
		{name: "one CPU", env: map[string]string{"BENCH_CPUS": "0"}, err: "1 CPUs for two processes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, name := range []string{"STARTS", "ROUNDS", "TIME", "CONGESTION", "PROFILE", "SIZE", "CONNS"} {
				t.Setenv("BENCH_"+name, "")
			}
			t.Setenv("BENCH_CPUS", "none")
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			got, err := Read(Default())
			if tt.want == nil {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got error %v, want it to contain %q", err, tt.err)
				}
				return
			}
			want := defaults
			tt.want(&want)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("error %v, options (-want +got):\n%s", err, diff)
			}
		})
	}
}

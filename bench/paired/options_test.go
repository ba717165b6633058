package paired

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

func TestOptionsFromEnv(t *testing.T) {
	defaults := Options{
		Starts:  5,
		Rounds:  4,
		Time:    100 * time.Millisecond,
		Limit:   time.Minute,
		Sockets: Sockets{Congestion: host.DefaultCongestion},
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
				"PAIRED_STARTS": "2", "PAIRED_ROUNDS": "3", "PAIRED_TIME": "2s", "PAIRED_CPUS": "4,2",
				"PAIRED_CONGESTION": "cubic", "PAIRED_PROFILE": "/tmp",
			},
			want: func(o *Options) {
				o.Starts, o.Rounds, o.Time, o.CPUs, o.Profile = 2, 3, 2*time.Second, []int{4, 2}, "/tmp"
				o.Sockets.Congestion = "cubic"
			},
		},
		{
			name: "the system's congestion control",
			env:  map[string]string{"PAIRED_CONGESTION": "system"},
			want: func(o *Options) { o.Sockets.Congestion = "" },
		},
		{name: "starts", env: map[string]string{"PAIRED_STARTS": "1.5"}, err: `parsing "1.5"`},
		{name: "no starts", env: map[string]string{"PAIRED_STARTS": "0"}, err: "0 starts"},
		{name: "rounds", env: map[string]string{"PAIRED_ROUNDS": "many"}, err: `parsing "many"`},
		{name: "no rounds", env: map[string]string{"PAIRED_ROUNDS": "0"}, err: "0 rounds"},
		{name: "time", env: map[string]string{"PAIRED_TIME": "3"}, err: "missing unit"},
		{name: "CPUs", env: map[string]string{"PAIRED_CPUS": "0,x"}, err: `parsing "x"`},
		{name: "one CPU", env: map[string]string{"PAIRED_CPUS": "0"}, err: "1 CPUs for two processes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, name := range []string{"STARTS", "ROUNDS", "TIME", "CONGESTION", "PROFILE"} {
				t.Setenv("PAIRED_"+name, "")
			}
			t.Setenv("PAIRED_CPUS", "none")
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			got, err := OptionsFromEnv()
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

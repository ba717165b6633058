package main

import "testing"

func TestLocation(t *testing.T) {
	want := location{host: "127.0.0.1", nfs: 2049, mount: 20048, path: "/run/a b"}
	got, err := parseLocation(want.String())
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for _, text := range []string{"", "nfs://127.0.0.1/?nfsport=1", "nfs://127.0.0.1/?mountport=1", "nfs://127.0.0.1/?nfsport=x&mountport=1"} {
		if got, err := parseLocation(text); err == nil {
			t.Errorf("%q: got %+v, want an error", text, got)
		}
	}
}

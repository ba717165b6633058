package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// results has a result of each kind.
var results = []result{
	{
		comparison: comparison{workload: read, ours: "ours", other: "go-nfs+vmware", bounds: bounds{2.5, 3.5}},
		report:     took(read, 3*time.Millisecond, time.Millisecond),
	},
	{
		comparison: comparison{workload: list, ours: "ours", other: "ganesha+libnfs"},
		left:       errors.New("it is not installed"),
	},
}

func TestTable(t *testing.T) {
	var b bytes.Buffer
	if err := writeTable(&b, results); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	want := strings.Fields("read-1024KiBx1 ours go-nfs+vmware 3.00 3.00-3.00 2.50 3.50 owed 1049 350 MB/s 954/954 2861/2861 cpu-ms/GB 0%")
	if diff := cmp.Diff(want, strings.Fields(lines[1])); diff != "" {
		t.Errorf("line of a result (-want +got):\n%s", diff)
	}
	for _, want := range []string{"left out: ganesha+libnfs: it is not installed", "congestion control"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("got\n%s\nwant %q in it", &b, want)
		}
	}
}

func TestCSV(t *testing.T) {
	var b bytes.Buffer
	if err := writeCSV(&b, results); err != nil {
		t.Fatal(err)
	}
	got, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		columns,
		{"read-1024KiBx1", "ours", "go-nfs+vmware", "3", "3", "3", "2.5", "3.5", "MB/s", "1048.58", "349.525", "cpu-ms/GB", "953.674", "953.674", "2861.02", "2861.02", "0", ""},
		{"list-10000", "ours", "ganesha+libnfs", "0", "0", "0", "0", "0", "", "0", "0", "", "0", "0", "0", "0", "0", "it is not installed"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := writeJSON(&b, results); err != nil {
		t.Fatal(err)
	}
	var got []record
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := []record{newRecord(results[0]), newRecord(results[1])}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got[0].Ratio != 3 || got[0].Rounds[0].Yardstick.Elapsed != 3*time.Millisecond || got[1].LeftOut == "" {
		t.Errorf("got %+v", got)
	}
}

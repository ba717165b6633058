package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestBarOfFiles: a bar tells bytes and files, of what is known by now.
func TestBarOfFiles(t *testing.T) {
	var out bytes.Buffer
	b := &bar{w: &out}
	b.begin("get", 0)
	b.begun = b.begun.Add(-time.Hour)
	b.grow(1000)
	b.add(500)
	if got := out.String(); !strings.Contains(got, "get ") || !strings.Contains(got, "50%") || strings.Contains(got, "files") {
		t.Errorf("one file: %q", got)
	}
	b.grow(3000)
	b.copied()
	out.Reset()
	b.hide()
	if got := out.String(); strings.TrimLeft(got, "\r \x1b[2K") != "" {
		t.Errorf("hidden: %q", got)
	}
	b.begun = b.begun.Add(time.Hour)
	b.end()
	if got := b.title(); got != "get 1 of 2 files" {
		t.Errorf("got %q", got)
	}

	out.Reset()
	b.begin("get", 100)
	b.add(50)
	b.end()
	if got := out.String(); got != "" {
		t.Errorf("a short transfer: %q", got)
	}
}

// TestBarNowhere: what is no terminal gets no bar.
func TestBarNowhere(t *testing.T) {
	var out bytes.Buffer
	b := newBar(&out)
	b.begin("get", 100)
	b.begun = b.begun.Add(-time.Hour)
	b.grow(100)
	b.add(50)
	b.hide()
	b.copied()
	b.end()
	if got := out.String(); got != "" {
		t.Errorf("got %q", got)
	}
}

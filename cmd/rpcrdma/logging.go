package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/pflag"
)

// logging is what the flags say about the log of a server.
type logging struct {
	level  *choice[slog.Level]
	format *choice[func(io.Writer, *slog.HandlerOptions) slog.Handler]

	now slog.LevelVar // the level, which may change while the server runs
}

func newLogging() *logging {
	return &logging{
		level: newChoice("info", named("debug", slog.LevelDebug), named("info", slog.LevelInfo),
			named("warn", slog.LevelWarn), named("error", slog.LevelError)),
		format: newChoice("text", named("text", textLog), named("json", jsonLog)),
	}
}

func textLog(w io.Writer, o *slog.HandlerOptions) slog.Handler { return slog.NewTextHandler(w, o) }

// jsonLog has addresses, limits and the like as the words that a log in text has.
func jsonLog(w io.Writer, o *slog.HandlerOptions) slog.Handler {
	o.ReplaceAttr = func(_ []string, a slog.Attr) slog.Attr {
		switch v := a.Value; v.Kind() {
		case slog.KindDuration:
			a.Value = slog.StringValue(v.Duration().String())
		case slog.KindAny:
			if s, ok := v.Any().(fmt.Stringer); ok {
				a.Value = slog.StringValue(s.String())
			}
		}
		return a
	}
	return slog.NewJSONHandler(w, o)
}

func (l *logging) addFlags(f *pflag.FlagSet) {
	f.Var(l.level, "log-level", "least severe messages on standard error: "+l.level.names()+levelHint)
	f.Var(l.format, "log-format", "form of these: "+l.format.names())
}

// start returns the log, which goes to w, and what ends it.
func (l *logging) start(w io.Writer) (log *slog.Logger, end func()) {
	l.now.Set(l.level.value)
	log = slog.New(l.format.value(w, &slog.HandlerOptions{Level: &l.now}))
	return log, l.watch(log)
}

// toggle has the log say everything, or what the flags say again.
func (l *logging) toggle(log *slog.Logger) {
	level := slog.LevelDebug
	if l.now.Level() == level {
		level = l.level.value
	}
	l.now.Set(level)
	log.Log(context.Background(), max(level, slog.LevelInfo), "the log has another level", "now", level)
}

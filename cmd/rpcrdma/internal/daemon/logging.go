package daemon

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// Logging is the log of a server, as the flags configure it.
type Logging struct {
	level  *cli.Choice[slog.Level]
	format *cli.Choice[func(io.Writer, *slog.HandlerOptions) slog.Handler]

	now slog.LevelVar // the level, which may change while the server runs
}

// NewLogging returns what is logged by default.
func NewLogging() *Logging {
	return &Logging{
		level: cli.NewChoice("info", cli.Named("debug", slog.LevelDebug), cli.Named("info", slog.LevelInfo),
			cli.Named("warn", slog.LevelWarn), cli.Named("error", slog.LevelError)),
		format: cli.NewChoice("text", cli.Named("text", textLog), cli.Named("json", jsonLog)),
	}
}

func textLog(w io.Writer, o *slog.HandlerOptions) slog.Handler { return slog.NewTextHandler(w, o) }

// jsonLog writes durations, addresses and the like as the text that a log in text has.
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

// AddFlags adds the flags of the log.
func (l *Logging) AddFlags(f *pflag.FlagSet) {
	f.Var(l.level, "log-level",
		"least severe messages of the log, which is on standard error: "+l.level.Names()+levelHint)
	f.Var(l.format, "log-format", "format of the log: "+l.format.Names())
}

// Start returns the log, which goes to w. end stops the handling of its signal.
func (l *Logging) Start(w io.Writer) (log *slog.Logger, end func()) {
	l.now.Set(l.level.Value)
	log = slog.New(l.format.Value(w, &slog.HandlerOptions{Level: &l.now}))
	return log, l.watch(log)
}

// toggle switches between the level debug and that of the flags.
func (l *Logging) toggle(log *slog.Logger) {
	level := slog.LevelDebug
	if l.now.Level() == level {
		level = l.level.Value
	}
	l.now.Set(level)
	log.Log(context.Background(), max(level, slog.LevelInfo), "the log level has changed", "now", level)
}

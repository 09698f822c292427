package config

import (
	"fmt"
	"io"
	"log/slog"
)

func (l Log) level() (level slog.Level, err error) {
	if level.UnmarshalText([]byte(l.Level)) != nil {
		return 0, fmt.Errorf("log.level is %q; give debug, info, warn or error", l.Level)
	}
	return level, nil
}

// Logger makes the configured logger.
func (l Log) Logger(w io.Writer) *slog.Logger {
	level, err := l.level()
	if err != nil {
		level = slog.LevelInfo // Check refuses it
	}
	options := &slog.HandlerOptions{Level: level}
	if l.JSON {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

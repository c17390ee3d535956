package app

import (
	"fmt"
	"time"

	"parley/session"
)

// Titled is what a conversation is called.
func Title(about session.Info) string {
	if about.Title != "" {
		return about.Title
	}
	return "untitled"
}

// Age is how long ago something was, in a word.
func Age(d time.Duration) string {
	units := []struct {
		least time.Duration
		unit  time.Duration
		word  string
	}{{365 * 24 * time.Hour, 365 * 24 * time.Hour, "y"}, {60 * 24 * time.Hour, 30 * 24 * time.Hour, "mo"},
		{24 * time.Hour, 24 * time.Hour, "d"}, {time.Hour, time.Hour, "h"}, {time.Minute, time.Minute, "min"}}
	for _, u := range units {
		if d >= u.least {
			return fmt.Sprintf("%d %s", d/u.unit, u.word)
		}
	}
	return "now"
}

package sandbox

import "time"

// HaveTime takes the clock out of what is done after a command: a busy machine finds
// and keeps as much as an idle one.
func HaveTime() { findTimeout, searchTimeout, quarantineTimeout = time.Minute, time.Minute, time.Minute }

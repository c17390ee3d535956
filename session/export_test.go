package session

import "time"

// LeaveEdit does what Close does with an edit that sent nothing.
func LeaveEdit(s *Session) { s.Branch.leaveEdit() }

// Failed begins the cooldown of a model, as a turn does after a failure.
func Failed(c *Cooldowns, model string, err error) { c.fail(model, err, time.Now()) }

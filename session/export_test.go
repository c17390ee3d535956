package session

// LeaveEdit does what Close does with an edit of which nothing was sent.
func LeaveEdit(s *Session) { s.branch.leaveEdit() }

package session

// LeaveEdit does what Close does with an edit that sent nothing.
func LeaveEdit(s *Session) { s.Branch.leaveEdit() }

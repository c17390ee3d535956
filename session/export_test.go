package session

// LeaveEdit is what Close does with an edit of which nothing was sent.
var LeaveEdit = leaveEdit

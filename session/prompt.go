package session

import _ "embed"

// Instructions holds parley's own system prompt. It says nothing that changes from
// one request to the next (no clock, no working directory): providers cache it,
// and some bind what they sign to it.
//
//go:embed prompt.md
var Instructions string

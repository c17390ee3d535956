//go:build race

package session_test

// slack is how many more copies of a list of messages the race detector may cost a turn.
const slack = 2

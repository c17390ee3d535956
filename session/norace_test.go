//go:build !race

package session_test

const slack = 0

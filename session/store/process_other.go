//go:build !unix

package store

// boot is not known here.
func boot() string { return "" }

// space is not known here.
func space() string { return "" }

// began cannot tell anything about other processes here.
func began(int) (start string, gone bool) { return "", false }

//go:build !linux

package folders

func exchange(string, string) {}

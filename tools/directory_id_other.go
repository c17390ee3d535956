//go:build !linux

package tools

import (
	"fmt"
	"os"
	"reflect"
)

// directoryID returns an id that distinguishes an open directory from a later one at the same
// path; "" if the system has none.
func directoryID(dir *os.File) string {
	info, err := dir.Stat()
	if err != nil {
		return ""
	}
	s := reflect.Indirect(reflect.ValueOf(info.Sys())) // a Stat_t, whose field types differ between systems
	if s.Kind() != reflect.Struct || !s.FieldByName("Ino").IsValid() || !s.FieldByName("Dev").IsValid() {
		return ""
	}
	return fmt.Sprintf("%v on %v", s.FieldByName("Ino"), s.FieldByName("Dev"))
}

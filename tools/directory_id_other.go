//go:build !linux

package tools

import (
	"fmt"
	"os"
	"reflect"
)

// directoryID tells an open directory from another one that stands at its path later; "" where the
// system does not say.
func directoryID(dir *os.File) string {
	info, err := dir.Stat()
	if err != nil {
		return ""
	}
	s := reflect.Indirect(reflect.ValueOf(info.Sys())) // a Stat_t, whose fields have other types on each system
	if s.Kind() != reflect.Struct || !s.FieldByName("Ino").IsValid() || !s.FieldByName("Dev").IsValid() {
		return ""
	}
	return fmt.Sprintf("%v on %v", s.FieldByName("Ino"), s.FieldByName("Dev"))
}

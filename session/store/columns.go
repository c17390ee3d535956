package store

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Columns scans a row whatever its columns hold: SQLite lets a damaged file, or
// another program, put any type into any column. What does not fit is left zero
// and counted, so that one bad value costs itself and not the row. NULL is the
// zero value. The zero Columns is ready; err starts the next row.
type columns struct{ bad []string }

// A scanner takes the value of one column.
type scanner func(v any)

// Scan implements sql.Scanner.
func (s scanner) Scan(v any) error {
	s(v)
	return nil
}

var _ sql.Scanner = scanner(nil)

func (c *columns) addBad(name string, v any) {
	text := fmt.Sprint(v)
	if b, ok := v.([]byte); ok {
		text = string(b)
	}
	c.bad = append(c.bad, fmt.Sprintf("%s = %.40q", name, text))
}

// err returns what did not fit since the last call, nil if all did.
func (c *columns) err() error {
	if len(c.bad) == 0 {
		return nil
	}
	err := errors.New(strings.Join(c.bad, ", "))
	c.bad = c.bad[:0]
	return err
}

// textOf scans texts; numbers are taken as they are written.
func textOf[T ~string](c *columns, name string, to *T) scanner {
	return func(v any) {
		switch v := v.(type) {
		case nil:
			*to = ""
		case string:
			*to = T(v)
		case []byte:
			*to = T(v)
		default:
			*to = T(fmt.Sprint(v))
			c.addBad(name, v)
		}
	}
}

// bytesOf scans what is decoded later.
func bytesOf(c *columns, name string, to *[]byte) scanner {
	return func(v any) {
		switch v := v.(type) {
		case nil:
			*to = nil
		case string:
			*to = []byte(v)
		case []byte:
			*to = slices.Clone(v) // valid until the next row only
		default:
			*to = nil
			c.addBad(name, v)
		}
	}
}

func numberOf[T ~int | ~int64](c *columns, name string, to *T) scanner {
	return intOf(c, name, func(n int64, _ bool) { *to = T(n) })
}

func flagOf(c *columns, name string, to *bool) scanner {
	return intOf(c, name, func(n int64, _ bool) {
		if *to = n == 1; n != 0 && n != 1 {
			c.addBad(name, n)
		}
	})
}

// timeOf scans nanoseconds since 1970; see nanos.
func timeOf(c *columns, name string, to *time.Time) scanner {
	return intOf(c, name, func(n int64, ok bool) {
		if *to = (time.Time{}); ok {
			*to = time.Unix(0, n)
		}
	})
}

// intOf scans a whole number; ok is false for NULL and for what does not fit.
func intOf(c *columns, name string, set func(n int64, ok bool)) scanner {
	return func(v any) {
		n, ok := v.(int64)
		set(n, ok)
		if !ok && v != nil {
			c.addBad(name, v)
		}
	}
}

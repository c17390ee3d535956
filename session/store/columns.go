package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/providers/llm"
)

// columns scans a row whatever its columns hold: SQLite lets a damaged file, or
// another program, put any type into any column. A value of the wrong type is left
// zero and counted, so that the others of the row can be used. NULL is the zero
// value. The zero columns is ready to use; err begins the next row.
type columns struct{ damage []string }

// A scanner is a sql.Scanner of one column.
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
	c.damage = append(c.damage, fmt.Sprintf("%s = %.40q", name, text))
}

// err returns the columns of the wrong type since the last call, nil if there are none.
func (c *columns) err() error {
	if len(c.damage) == 0 {
		return nil
	}
	err := errors.New(strings.Join(c.damage, ", "))
	c.damage = c.damage[:0]
	return err
}

// textOf scans text. A number is damage, and becomes its digits.
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

// bytesOf scans text or a blob.
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

func boolOf(c *columns, name string, to *bool) scanner {
	return intOf(c, name, func(n int64, _ bool) {
		if *to = n == 1; n != 0 && n != 1 {
			c.addBad(name, n)
		}
	})
}

// timeOf scans nanoseconds since 1970, see nanos. NULL is the zero time.
func timeOf(c *columns, name string, to *time.Time) scanner {
	return intOf(c, name, func(n int64, ok bool) {
		if *to = (time.Time{}); ok {
			*to = time.Unix(0, n)
		}
	})
}

// intOf scans an integer; ok is false for NULL and for other types.
func intOf(c *columns, name string, set func(n int64, ok bool)) scanner {
	return func(v any) {
		n, ok := v.(int64)
		set(n, ok)
		if !ok && v != nil {
			c.addBad(name, v)
		}
	}
}

// decodeUsage reads a usage; after an error u is zero.
func decodeUsage(text string, u *llm.Usage) error {
	*u = llm.Usage{}
	err := json.Unmarshal([]byte(text), u)
	if err != nil {
		*u = llm.Usage{}
	}
	return err
}

package sessions

import (
	"math"
	"testing"
)

func TestPagesTellTheirPlace(t *testing.T) {
	for _, c := range []struct {
		page     pagination
		total    int
		from, to int
		rows     int // to read
		note     string
	}{
		{pagination{limit: 10, number: 1}, 10, 0, 10, 10, ""},
		{pagination{limit: 10, number: 1}, 0, 0, 0, 10, ""},
		{pagination{limit: 10, number: 1}, 11, 0, 10, 10, "rows 1 to 10 of 11: --page 2 shows more, --all all of them"},
		{pagination{limit: 10, number: 2}, 11, 10, 11, 20, "row 11 of 11: the last page"},
		{pagination{limit: 10, number: 2}, 12, 10, 12, 20, "rows 11 to 12 of 12: the last page"},
		{pagination{limit: 1, number: 2}, 3, 1, 2, 2, "row 2 of 3: --page 3 shows more, --all all of them"},
		{pagination{limit: 10, number: 3}, 11, 11, 11, 30, "Page 3 is empty: there are 11 rows"},
		{pagination{limit: 10, number: 3, all: true}, 11, 0, 11, -1, ""},
		{pagination{limit: math.MaxInt, number: 1}, 11, 0, 11, math.MaxInt, ""},
		{pagination{limit: math.MaxInt, number: 2}, 11, 11, 11, -1, "Page 2 is empty: there are 11 rows"},
		{pagination{limit: 2, number: math.MaxInt}, 11, 11, 11, -1, "Page 9223372036854775807 is empty: there are 11 rows"},
	} {
		from, to := c.page.bounds(c.total)
		if rows, note := c.page.rows(), c.page.note(c.total, "rows"); from != c.from || to != c.to || rows != c.rows || note != c.note {
			t.Errorf("%+v of %d: %d to %d, %d to read, %q; want %d to %d, %d, %q", c.page, c.total, from, to, rows, note, c.from, c.to, c.rows, c.note)
		}
	}
}

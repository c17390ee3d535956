package process

import (
	"testing"
)

func TestParseStat(t *testing.T) {
	rest := " 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 99 88"
	tests := []struct {
		in   string
		want Info
		bad  bool
	}{
		{in: "42 (sleep) S 7 8 9" + rest, want: Info{PID: 42, Parent: 7, Session: 9, StartTicks: 12345}},
		{in: "42 (a) b) (c) Z 7 8 9" + rest, want: Info{PID: 42, Parent: 7, Session: 9, StartTicks: 12345, Zombie: true}},
		{in: "42 (x\n) R 1 2 3) S 7 8 9" + rest, want: Info{PID: 42, Parent: 7, Session: 9, StartTicks: 12345}},
		{in: "42 (sleep) S 7 8", bad: true},
		{in: "sleep S 7 8 9" + rest, bad: true},
		{in: "(sleep) S 7 8 9" + rest, bad: true},
		{in: "42 (sleep) S x 8 9" + rest, bad: true},
		{in: "", bad: true},
	}
	for _, test := range tests {
		got, err := parseStat(test.in)
		if (err != nil) != test.bad || err == nil && got != test.want {
			t.Errorf("%q: got %+v, %v, want %+v", test.in, got, err, test.want)
		}
	}
}

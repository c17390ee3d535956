package ui

import (
	"testing"
	"time"
)

// While a token comes now and then, what comes before the next frame is read at
// once; while tokens come faster, or nobody knows, each is read as it comes.
func TestPumpNaps(t *testing.T) {
	now := time.Now()
	tests := []struct {
		name string
		p    *pump
		want time.Duration
	}{
		{"waited for, a frame is due", &pump{deltas: [2]int{4, 16}, due: now.Add(20 * time.Millisecond)}, 18 * time.Millisecond},
		{"it was there already", &pump{deltas: [2]int{4, 16}, due: now.Add(20 * time.Millisecond), came: now.Add(-10 * time.Microsecond)}, 0},
		{"the first frame", &pump{deltas: [2]int{4, 0}, due: now.Add(20 * time.Millisecond)}, 0},
		{"a flood, so far", &pump{deltas: [2]int{500, 16}, due: now.Add(20 * time.Millisecond)}, 0},
		{"a flood, lately", &pump{deltas: [2]int{4, 500}, due: now.Add(20 * time.Millisecond)}, 0},
		{"the screen is awake", &pump{deltas: [2]int{4, 16}, urgent: true}, 0},
		{"the screen has gone", &pump{deltas: [2]int{4, 16}, due: now.Add(20 * time.Millisecond), closed: true}, 0},
		{"a frame is far off", &pump{deltas: [2]int{4, 16}, due: now.Add(time.Hour)}, 50 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.p.nap(now); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

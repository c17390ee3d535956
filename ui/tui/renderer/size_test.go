//go:build unix

package renderer

import (
	"errors"
	"io"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// A terminal of unknown size counts as one of the usual size, at the start and
// after each change.
func TestSize(t *testing.T) {
	tests := []struct {
		name string
		w, h int
		err  error
		want size
	}{
		{"known", 100, 40, nil, size{100, 40}},
		{"one cell", 1, 1, nil, size{1, 1}},
		{"none, as on a serial line", 0, 0, nil, size{80, 24}},
		{"no rows", 100, 0, nil, size{80, 24}},
		{"no columns", 0, 40, nil, size{80, 24}},
		{"nothing that could be", -1, -1, nil, size{80, 24}},
		{"the largest there are", 65535, 65535, nil, size{4096, 256}},
		{"very wide", 65535, 10, nil, size{4096, 10}},
		{"very high", 1, 65535, nil, size{1, 65535}},
		{"no terminal", 100, 40, errors.New("inappropriate ioctl for device"), size{80, 24}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := on(io.Discard, 40, 10)
			s.t.Size = func() (int, int, error) { return tt.w, tt.h, tt.err }
			if err := s.t.oversized(); (err != nil) != (tt.err == nil && tt.w == 65535) {
				t.Errorf("it may be begun on: %v", err)
			}
			if s.Program(nil); s.sent != tt.want {
				t.Errorf("at the start it is %v, want %v", s.sent, tt.want)
			}
			s.sent = size{40, 10}
			sent, ended := make(chan tea.Msg), make(chan struct{})
			go func() {
				defer close(ended)
				s.Follow(func(msg tea.Msg) { sent <- msg })
			}()
			notify(s.move)
			if got, want := <-sent, (tea.WindowSizeMsg{Width: tt.want.w, Height: tt.want.h}); got != want {
				t.Errorf("later it is %v, want %v", got, want)
			}
			s.Close(time.Minute)
			<-ended
		})
	}
}

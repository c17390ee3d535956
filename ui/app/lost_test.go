package app

import (
	"errors"
	"testing"
)

// If the end of a conversation could not be saved, closing it reports that, because it is lost then.
func TestCloseTellsWhatIsLost(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		told string
	}{
		"saved":     {nil, ""},
		"not saved": {errors.New("the disk is full"), "The end of the previous conversation could not be saved: the disk is full"},
	} {
		t.Run(name, func(t *testing.T) {
			opened := SessionOpened{close: func() error { return tt.err }, closed: make(chan struct{})}
			if got := opened.Close(); got != tt.told {
				t.Errorf("told %q, want %q", got, tt.told)
			}
			<-opened.closed
		})
	}
}

package llm_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"parley/providers/llm"
)

// TestOut: nothing follows a Finish, an error, or a consumer that left.
func TestOut(t *testing.T) {
	broken := errors.New("broken")
	text := llm.Notice{Text: "a"}
	for _, test := range []struct {
		name  string
		write func(out *llm.Out)
		want  []string
	}{
		{"finish", func(out *llm.Out) { out.Send(text); out.Send(llm.Finish{}) }, []string{"llm.Notice", "llm.Finish"}},
		{"failure", func(out *llm.Out) { out.Send(text); out.Fail(broken) }, []string{"llm.Notice", "broken"}},
		{"leaving", func(out *llm.Out) { out.Send(llm.Usage{}) }, []string{"llm.Usage"}},
	} {
		var got []string
		out := llm.NewOut(func(e llm.Event, err error) bool {
			if err != nil {
				got = append(got, err.Error())
				return true
			}
			got = append(got, fmt.Sprintf("%T", e))
			return e != llm.Event(llm.Usage{})
		})
		test.write(out)
		if out.Send(text) {
			t.Errorf("%s: told to go on", test.name)
		}
		out.Fail(broken)
		if !slices.Equal(got, test.want) || out.Stopped() == out.Finished() {
			t.Errorf("%s: %q, want %q; stopped %t, finished %t", test.name, got, test.want, out.Stopped(), out.Finished())
		}
	}
}

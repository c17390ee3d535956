package acp

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/ui/client"
)

// TestAnswersBeforeTheEnd verifies that a client which writes its requests and immediately
// closes its side, as scripts do, gets every answer.
func TestAnswersBeforeTheEnd(t *testing.T) {
	for range 50 {
		var out bytes.Buffer
		in := strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}`+"\n", 4) +
			`{"jsonrpc":"2.0","id":2,"method":"nothing/such"}` // without a newline
		if err := Serve(t.Context(), client.Options{In: strings.NewReader(in), Out: &out}); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "\n"); n != 5 {
			t.Fatalf("%d answers:\n%s", n, out.String())
		}
	}
}

// TestMessageTooLong verifies that a message too long for the library ends the connection with an
// error, and that a shorter one does not.
func TestMessageTooLong(t *testing.T) {
	message := func(size int) string {
		return `{"jsonrpc":"2.0","id":1,"method":"x","params":"` + strings.Repeat("a", size) + `"}` + "\n"
	}
	var out bytes.Buffer
	if err := Serve(t.Context(), client.Options{In: strings.NewReader(message(9 << 20)), Out: &out}); err != nil || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("9 MiB: %v, answers %s", err, out.String())
	}
	if err := Serve(t.Context(), client.Options{In: strings.NewReader(message(11 << 20)), Out: io.Discard}); err != errTooLong {
		t.Errorf("11 MiB: %v, want %v", err, errTooLong)
	}
}

// TestAnswersAreCounted verifies which lines count as requests and as answers, however the bytes
// are split.
func TestAnswersAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, open := &responseOrder{}, make(chan struct{})
		close(open)
		in := &countedReader{open: open, Reader: io.MultiReader(strings.NewReader(`{"id":1,"met`), strings.NewReader(`hod":"x"}`+"\n"+`{"method":"told"}`+"\n"+`{"id":7,"result":{}}`+"\nbroken\n"), strings.NewReader(`{"id":"b","method":"y"}`)), answers: a}
		if _, err := io.ReadAll(in); err != nil || a.open != 2 {
			t.Fatalf("%d are open, %v", a.open, err)
		}
		out := countedWriter{io.Discard, a}
		for _, line := range []string{`{"jsonrpc":"2.0","method":"session/update"}`, `{"jsonrpc":"2.0","id":1,"method":"asks"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`} {
			if _, err := out.Write([]byte(line + "\n")); err != nil {
				t.Fatal(err)
			}
		}
		begun := time.Now()
		if a.wait(time.Minute); a.open != 1 || time.Since(begun) != time.Minute {
			t.Errorf("%d are open after %s", a.open, time.Since(begun))
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { a.wait(time.Hour); cancel() }()
		synctest.Wait()
		if _, err := out.Write([]byte(`{"jsonrpc":"2.0","id":"b","error":{}}` + "\n")); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		if a.open != 0 || time.Since(begun) != time.Minute {
			t.Errorf("%d are open after %s", a.open, time.Since(begun))
		}
	})
}

// TestPromptsBeforeACancel verifies that a cancel waits for the prompts before it, until they have
// begun or are rejected.
func TestPromptsBeforeACancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &responseOrder{prompts: map[any]string{}, cancels: map[string][][]any{}}
		for _, piece := range []string{`{"id":1,"method":"session/prompt","params":{"sessionId":"s"}}
{"id":"1","method":"session/prompt","params":{"sessionId":"other"}}
{"method":"session/cancel","params":{"sessionId":"s"}}
`, `{"id":2,"method":"session/prompt","params":{"sessionId":"s"}}
{"method":"session/cancel","params":{"sessionId":"s"}}
`, `{"id":[3],"method":"session/prompt","params":7}
`} {
			if n := a.read([]byte(piece + "behind")); n != len(piece) && !strings.Contains(piece, "[3]") {
				t.Errorf("%d bytes were read of %q", n, piece)
			}
			began := time.Now()
			if a.carriedOut(); strings.Contains(piece, "cancel") {
				a.due = 1 // as if no cancel was executed
				if a.waitCarriedOut(time.Second); time.Since(began) != time.Second || a.due != 0 {
					t.Errorf("waited %s, %d are due", time.Since(began), a.due)
				}
			}
		}
		first, second := a.canceled("s"), a.canceled("s")
		if len(first) != 1 || len(second) != 2 || a.canceled("s") != nil || a.canceled("none") != nil {
			t.Fatalf("prompts before the cancels: %v, %v", first, second)
		}
		began, begun := time.Now(), 0
		if a.waitBegun(second, func() int { return begun }, time.Minute); time.Since(began) != time.Minute {
			t.Errorf("waited %s for what never begins", time.Since(began))
		}
		ended := make(chan struct{})
		go func() {
			a.waitBegun(second, func() int { return begun }, time.Hour)
			close(ended)
		}()
		synctest.Wait()
		a.wrote([]byte(`{"jsonrpc":"2.0","id":1,"error":{}}`)) // rejected
		synctest.Wait()
		a.mu.Lock()
		begun++
		a.mu.Unlock()
		a.began()
		if <-ended; time.Since(began) != time.Minute {
			t.Errorf("waited %s", time.Since(began))
		}
	})
}

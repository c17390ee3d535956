package blocks

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/permission"
)

func init() { permission.Register() }

// A board is a front end that draws changes and nothing else.
type board struct {
	t      *testing.T
	blocks []*drawn
	known  map[string]Kind // all blocks so far
}

type drawn struct {
	Change
	closed bool
}

func (b *board) find(id string) *drawn {
	for _, d := range slices.Backward(b.blocks) {
		if d.ID == id {
			return d
		}
	}
	return nil
}

func (b *board) drop(id string) {
	b.blocks = slices.DeleteFunc(b.blocks, func(d *drawn) bool { return d.ID == id })
}

func (b *board) draw(c Change) {
	if c.ID == "" {
		b.t.Errorf("a change without an id: %+v", c)
	}
	if b.known == nil {
		b.known = map[string]Kind{}
	}
	d := b.find(c.ID)
	if opens := c.Op == Opened || c.Op == Renamed; opens {
		if _, was := b.known[c.ID]; was {
			b.t.Errorf("the id %s is given again", c.ID)
		}
		b.known[c.ID] = c.Kind
	}
	switch c.Op {
	case Grown:
		if d == nil || d.closed {
			b.blocks = append(b.blocks, &drawn{Change: c})
			return
		}
		d.Text += c.Text
	case Closed:
		if d == nil && c.Kind == ThinkingBlock { // a block without text
			d = &drawn{Change: c}
			b.blocks = append(b.blocks, d)
		}
		if d != nil {
			d.closed, d.Duration = true, c.Duration
		}
	case Replaced:
		if d == nil {
			b.t.Errorf("replaces what is not there: %+v", c)
			return
		}
		d.Change = c
	case Dropped:
		b.drop(c.ID)
	case Renamed:
		b.drop(c.Was)
		b.blocks = append(b.blocks, &drawn{Change: c})
	default:
		b.blocks = append(b.blocks, &drawn{Change: c})
	}
}

// words returns the visible content, without the history of changes. If all is set, it includes content that can only
// be derived from the whole.
func (b *board) words(all bool) (out []string) {
	for _, d := range b.blocks {
		if d.Implied && !all {
			continue // the branch that contained it was left
		}
		text := fmt.Sprint(d.Kind, " ", d.Seq, " ", strings.TrimSpace(d.Text), " ", d.Duration, d.Count)
		if d.Tool != nil {
			t := *d.Tool
			text = fmt.Sprintf("tool %d %s %s %d %q %q %s", d.Seq, t.Name, t.Input, t.Status, t.Output, t.Diff, t.Duration)
		}
		if d.Part != nil {
			text += fmt.Sprintf(" %s %s %s", d.Part.Kind, d.Part.Text, d.Part.URL)
		}
		if d.Totals != nil {
			text = fmt.Sprintf("footer %+v %s %.3f", *d.Totals, d.Totals.Duration(), d.Totals.Pace())
		}
		switch e := d.Event.(type) {
		case nil, session.Call, session.ApprovalRequest, session.Decision, session.Result, session.DroppedCall, session.Response, storedResult:
		case session.Prompt:
			text += " " + e.Message.Text()
		case session.Done:
			text = "error " + e.Err.Error() // its position counts, not its message
		case session.Compacted:
			text = fmt.Sprint("compacted ", e.Messages, " ", e.Before, " ", e.After)
		default:
			text = fmt.Sprintf("%T %+v", e, e)
		}
		out = append(out, text)
	}
	return out
}

// A talk is a conversation with random events and the boards that show it.
type talk struct {
	t    *testing.T
	r    *rand.Rand
	s    *session.Session
	turn Turn
	seen board
	time atomic.Int64
	said []string // actions so far, for failure messages
	over bool
}

func (k *talk) now() time.Time { return time.Unix(k.time.Add(1), 0) }

// randomTurn returns a random answer.
func randomTurn(r *rand.Rand) llmtest.Turn {
	kind, n := r.IntN(14), r.IntN(1000)
	text := func(block, s string) llm.Delta {
		return llm.Delta{Block: block, Part: llm.Part{Kind: llm.Text, Text: s}}
	}
	call := func(i int) llm.Delta {
		p := llm.Part{Kind: llm.Call, ID: fmt.Sprint("c", i%2, n), Name: "read", Input: `{"path":"a.txt"}`}
		switch (n + i) % 6 {
		case 0:
			p.Name, p.Input = "list", "{}"
		case 1:
			p.Name, p.Input = "write", fmt.Sprintf(`{"path":"f%d","content":"%d\n"}`, n%3, n)
		case 2:
			p.Name = "nothing"
		case 3:
			p.ID = ""
		}
		return llm.Delta{Block: fmt.Sprint("call", i), Part: p}
	}
	retries, notices, thinks := r.IntN(3), r.IntN(2) == 0, r.IntN(2) == 0
	restart, early := llm.Retry{Attempt: 1, Fault: llm.Network, Remote: true, Discards: []string{"t", "a", "s", "m", "r1", "r2", "res", "late", "b"}}, r.IntN(2) == 0
	if r.IntN(3) > 0 {
		restart.Discards = nil // most answers come in one piece
	}
	return func(ctx context.Context, req llm.Request, out *llm.Out) error {
		for i := range max(retries-1, 0) {
			out.Send(llm.Retry{Attempt: i + 1, Wait: time.Second, Fault: llm.Server})
		}
		if kind == 0 {
			return &llm.Error{Fault: []llm.Fault{llm.Server, llm.Authentication}[n%2], Provider: "fake", Message: "no luck"}
		}
		if thinks {
			out.Send(llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Thinking, Text: "hm "}})
			out.Send(llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Thinking, Text: fmt.Sprint(n)}})
		}
		if notices && restart.Discards == nil { // a notice's place is counted in parts
			out.Send(llm.Notice{Text: fmt.Sprint("notice ", n)})
		}
		finish := llm.Finish{Reason: llm.Stop}
		if kind > 1 {
			out.Send(text("a", "Words "))
			out.Send(text("a", fmt.Sprint(n)))
		}
		if restart.Discards != nil && early {
			out.Send(restart)
			out.Send(text("a", "Again"))
		}
		switch kind {
		case 2:
			return &llm.Error{Fault: []llm.Fault{llm.Server, llm.Authentication}[n%2], Provider: "fake", Message: "broken"}
		case 3:
			return nil // no finish event
		case 4:
			if len(req.Tools) == 0 {
				return errors.New("no summary")
			}
			hangs := call(0)
			hangs.Name = "hang"
			out.Send(hangs)
			<-ctx.Done()
			return ctx.Err()
		case 5, 6, 7, 8:
			for i := range 1 + n%3 {
				out.Send(call(i))
			}
			finish.Reason = llm.Calls
		case 9:
			out.Send(llm.Delta{Block: "s", Part: llm.Part{Kind: llm.Source, Text: "a page", URL: "http://x"}})
			out.Send(llm.Delta{Block: "m", Part: llm.Part{Kind: llm.Media, MIME: "image/png", Data: []byte("x")}})
		case 10:
			for _, id := range []string{"r1", "r2"} {
				out.Send(llm.Delta{Block: id, Part: llm.Part{Kind: llm.Call, ID: id, Name: "web_search", Input: "{}", Remote: true}})
			}
			out.Send(llm.Delta{Block: "res", Part: llm.Part{Kind: llm.Result, ID: "r1", Name: "web_search", Text: "found", Remote: true}})
			if n%3 == 0 {
				return errors.New("gone")
			}
		case 11:
			out.Send(text("late", "this was thinking"))
			out.Send(llm.Delta{Block: "late", Part: llm.Part{Kind: llm.Thinking}})
			out.Send(text("b", "and this was not"))
		case 12:
			finish.Reason = llm.Length
		}
		if restart.Discards != nil && !early && finish.Reason != llm.Calls { // answers with a call of parley's are never taken back
			out.Send(restart)
			out.Send(text("a", "Again"))
		}
		out.Send(llm.Usage{Input: 10, Output: n, Cost: 0.01, Priced: true})
		out.Send(finish)
		return nil
	}
}

func startTalk(t *testing.T, seed uint64) *talk {
	k := &talk{t: t, r: rand.New(rand.NewPCG(seed, 1)), seen: board{t: t}}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("alpha\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	set, err := tools.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	offered, err := set.Only("read", "list", "write")
	if err != nil {
		t.Fatal(err)
	}
	var turns []llmtest.Turn
	for range 200 {
		turns = append(turns, randomTurn(k.r))
	}
	fake := llmtest.New(turns...)
	open := func(name string) (llm.Endpoint, error) {
		return llm.Endpoint{Model: fake, Name: name, Origin: "fake", Strategy: "native", Known: true, Context: 100_000}, nil
	}
	one, _ := open("fake/one")
	k.s = session.New(session.Options{Model: one, Tools: offered, Policy: tools.NewPolicy(act.ModeAsk), Now: k.now, MaxSteps: 5, Fallback: func(session.FallbackNeed) []string { return []string{"fake/two", "fake/three"} }, OpenModel: open})
	return k
}

// run plays a turn and stops it at random, or if it hangs.
func (k *talk) run(events func(context.Context) iter.Seq[session.Event]) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stopAt, n := k.r.IntN(60), 0
	k.turn.Begin(k.now(), k.s)
	for e := range events(ctx) {
		for _, c := range k.turn.Apply(e, k.now()) {
			k.seen.draw(c)
		}
		if n++; n == stopAt {
			cancel()
		}
		switch e := e.(type) {
		case session.ApprovalRequest:
			e.Reply(act.Approval{Verdict: []act.Verdict{act.Allow, act.Deny}[k.r.IntN(2)]})
		case llm.Delta:
			if e.Name == "hang" {
				cancel()
			}
		}
	}
}

func (k *talk) prompt() {
	k.run(func(ctx context.Context) iter.Seq[session.Event] {
		if k.r.IntN(4) == 0 {
			k.s.Queue.Add(llm.Part{Kind: llm.Text, Text: "and more"})
		}
		if k.r.IntN(4) == 0 {
			k.s.Queue.Steer(llm.Part{Kind: llm.Text, Text: "no, the other file"})
		}
		return k.s.Turn(ctx, llm.Part{Kind: llm.Text, Text: fmt.Sprint("prompt ", k.r.IntN(1000))})
	})
	k.s.Queue.TakeAll()
}

// act performs a random user action.
func (k *talk) act() {
	path := k.s.Path()
	at := func() int { return path[k.r.IntN(len(path))].Seq }
	what := k.r.IntN(12)
	if len(path) == 0 {
		what = 0
	}
	k.said = append(k.said, fmt.Sprint(what))
	redrawn := func(err error) bool {
		if err == nil {
			k.turn, k.seen = Turn{}, board{t: k.t}
			Replay(k.s, k.s.Path(), 0, len(k.s.Path()), k.turn.out.id, k.seen.draw)
		}
		return err == nil
	}
	switch what {
	case 6:
		k.run(func(ctx context.Context) iter.Seq[session.Event] { return k.s.Turn(ctx) }) // another answer, or an error
	case 7:
		waits := path[len(path)-1].Role == llm.RoleUser
		if k.run(k.s.Compact); waits {
			redrawn(nil) // the prompt is drawn again after the summary
		}
	case 8:
		if redrawn(k.s.Branch.Regenerate(at())) {
			k.run(func(ctx context.Context) iter.Seq[session.Event] { return k.s.Turn(ctx) })
		}
	case 9:
		if err := k.s.Branch.Edit(at()); redrawn(err) {
			k.prompt()
		}
	case 10:
		_ = k.s.Branch.Switch(1 + k.r.IntN(len(k.s.Nodes())))
		last := k.s.Path()
		k.over = len(last) > 0 && last[len(last)-1].Interrupted // another continuation from before it would show it twice
		redrawn(nil)
	case 11:
		for _, e := range []session.Event{
			session.ModelSwitched{From: k.s.Model().Name, To: "fake/one"}, llm.Notice{Text: "a note"}, session.Sandbox{Text: "undone"}, session.ShellCommand{Command: "ls", Output: "x\n", Notes: "[exit status 0]", Ended: true},
		} {
			k.s.Annotate(0, e)
			for _, c := range k.turn.Apply(e, k.now()) {
				k.seen.draw(c)
			}
		}
	default:
		k.prompt()
	}
}

// A replayed conversation looks the same as it did live, for any events. Consecutive pages, folded from either end, look like
// the whole.
func TestTurnLiveStoredAndInPages(t *testing.T) {
	seeds := uint64(40)
	if os.Getenv("PARLEY_LONG") == "1" {
		seeds = 1000
	}
	for seed := range seeds {
		k := startTalk(t, seed)
		for n := 0; n < 6 && !k.over; n++ {
			k.act()
			live, path := k.seen.words(false), k.s.Path()
			whole := board{t: t}
			Replay(k.s, path, 0, len(path), nil, whole.draw)
			if got := whole.words(false); !slices.Equal(got, live) {
				t.Fatalf("seed %d, %v: replayed\n%s\nlive\n%s", seed, k.said, strings.Join(got, "\n"), strings.Join(live, "\n"))
			}
			var pages []string
			for to := len(path); to > 0; {
				from := to - 1
				for !beginsTurn(path, from) || from > 0 && k.r.IntN(2) == 0 {
					from--
				}
				page := board{t: t}
				Replay(k.s, path, from, to, nil, page.draw)
				pages, to = append(page.words(true), pages...), from
			}
			if got := whole.words(true); len(path) > 0 && !slices.Equal(got, pages) {
				t.Fatalf("seed %d, %v: in pages\n%s\nas a whole\n%s", seed, k.said, strings.Join(pages, "\n"), strings.Join(got, "\n"))
			}
			pages = nil
			for next := -1; next != 0; {
				page := board{t: t}
				next = ReplayBack(k.s, max(next, 0), 1+k.r.IntN(3), nil, page.draw)
				pages = append(page.words(true), pages...)
			}
			if got := whole.words(true); len(path) > 0 && !slices.Equal(got, pages) {
				t.Fatalf("seed %d, %v: back from the end\n%s\nas a whole\n%s", seed, k.said, strings.Join(pages, "\n"), strings.Join(got, "\n"))
			}
			if len(path) == 0 || path[len(path)-1].Seq != len(path) { // it left a branch
				continue
			}
			page := board{t: t}
			next := ReplayBack(k.s, 0, 1+k.r.IntN(3), nil, page.draw)
			first, last := []string(nil), page.words(true)
			for ahead := 1; ahead < next; {
				page := board{t: t}
				if k.r.IntN(2) == 0 {
					ahead = ReplayAhead(k.s, ahead, next, 1+k.r.IntN(3), nil, page.draw)
					first = append(first, page.words(true)...)
					continue
				}
				next = ReplayBack(k.s, next, min(1+k.r.IntN(3), next-ahead), nil, page.draw)
				last = append(page.words(true), last...)
			}
			if got, pages := whole.words(true), append(first, last...); !slices.Equal(got, pages) {
				t.Fatalf("seed %d, %v: from both ends\n%s\nas a whole\n%s", seed, k.said, strings.Join(pages, "\n"), strings.Join(got, "\n"))
			}
		}
	}
}

// For any order of events, a dropped block never changes, ids are never reused, and only existing blocks are replaced
// (see board.draw): a session may have been closed in the middle of a turn. Blocks that show nothing may be renamed or
// dropped.
func TestTurnTakesEventsInAnyOrder(t *testing.T) {
	part := func(kind llm.Kind, id string) llm.Part {
		return llm.Part{Kind: kind, ID: id, Name: "read", Text: "x", Input: "{"}
	}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		var turn Turn
		drawn, gone := board{t: t}, map[string]bool{}
		for range 40 {
			id := fmt.Sprint(r.IntN(3))
			kind := []llm.Kind{llm.Text, llm.Thinking, llm.Call, llm.Result, llm.Source, llm.Media, ""}[r.IntN(7)]
			events := []session.Event{
				session.Prompt{Seq: 1}, session.Step{Model: "a/b"}, llm.Delta{Block: id, Part: part(kind, id)}, llm.Delta{Block: id, Part: part(kind, id)},
				session.Response{Seq: 2, Message: llm.Message{Interrupted: r.IntN(2) == 0, Parts: []llm.Part{part(llm.Call, id)}}}, session.Call{Part: part(llm.Call, id)},
				session.ApprovalRequest{Call: part(llm.Call, id), Action: &act.Action{}}, session.Decision{ID: id, Verdict: act.Allow}, session.Progress{ID: id, Text: "x"},
				session.Result{Part: part(llm.Result, id)}, session.CandidateEvent{}, session.Done{Err: errors.New("x")}, session.Done{}, llm.Retry{Discards: []string{id}}, session.Compacted{Seq: 3}, nil,
			}
			draw := func(changes []Change) {
				for _, c := range changes {
					id := c.ID
					if c.Op == Renamed {
						id = c.Was
					}
					if gone[id] {
						t.Fatalf("seed %d: a change of the block %q, which is gone: %+v", seed, id, c)
					}
					gone[id] = c.Op == Dropped || c.Op == Renamed
					drawn.draw(c)
				}
			}
			draw(turn.Apply(events[r.IntN(len(events))], time.Unix(int64(r.IntN(1000)), 0)))
			draw(turn.Tick(time.Unix(2000, 0)))
		}
	}
}

// TestUnfinishedImage: an unfinished image is dropped with its answer, however that ends.
func TestUnfinishedImage(t *testing.T) {
	for _, interrupted := range []bool{true, false} {
		var turn Turn
		id, dropped, now := "", false, time.Unix(100, 0)
		for _, e := range []session.Event{
			session.Step{Model: "a/b", Seq: 2, IsImage: true}, llm.Preview{Part: llm.Part{Kind: llm.Media, MIME: "image/png", Data: []byte("x")}},
			session.Response{Seq: 2, Message: llm.Message{Interrupted: interrupted}}, session.Done{},
		} {
			for _, c := range turn.Apply(e, now) {
				if c.Kind == MediaBlock && c.Op == Opened {
					id = c.ID
				}
				dropped = dropped || c.Op == Dropped && c.ID == id
			}
		}
		if id == "" || !dropped {
			t.Errorf("interrupted %v: block %q, dropped %v", interrupted, id, dropped)
		}
	}
}

// TestTurnRestarts: the output of a failed attempt is dropped, the next answer is shown even if it uses the same block
// names, and no retry hint is shown.
func TestTurnRestarts(t *testing.T) {
	for _, remote := range []bool{true, false} {
		var turn Turn
		seen, now := board{t: t}, time.Unix(100, 0)
		text := func(block, s string) llm.Delta {
			return llm.Delta{Block: block, Part: llm.Part{Kind: llm.Text, Text: s}}
		}
		for _, e := range []session.Event{
			session.Step{Model: "a/b", Seq: 2}, text("whole", "Let me look."), text("a", "Hel"), llm.Delta{Block: "c", Part: llm.Part{Kind: llm.Call, ID: "1", Name: "Bash", Remote: true}},
			llm.Retry{Attempt: 1, Max: 10, Wait: time.Minute, Fault: llm.Network, Remote: remote, Discards: []string{"a", "c"}},
		} {
			for _, c := range turn.Apply(e, now) {
				seen.draw(c)
			}
		}
		if turn.Kind != Waiting {
			t.Errorf("it is %v, and waits", turn.Kind)
		}
		if wait := turn.RetryIn(now); (wait == 0) != remote {
			t.Errorf("remote %v: parley waits %v", remote, wait)
		}
		for _, c := range turn.Apply(text("a", "Hello"), now) {
			seen.draw(c)
		}
		if got := strings.Join(seen.words(false), "\n"); strings.Contains(got, "Hel ") || strings.Contains(got, "Bash") || !strings.Contains(got, "Let me look.") || !strings.Contains(got, "Hello") {
			t.Errorf("seen:\n%s", got)
		}
	}
}

// A change holds only the new text, so that a delta costs the same for any length of the answer.
func TestTurnPassesOnWhatCame(t *testing.T) {
	var turn Turn
	turn.Apply(session.Step{Model: "a/b"}, time.Unix(0, 0))
	turn.response.parts = storedParts{{Kind: llm.Text, Text: strings.Repeat("many words ", 1<<20)}}
	var piece session.Event = llm.Delta{Block: "0", Part: llm.Part{Kind: llm.Text, Text: "word"}}
	turn.Apply(piece, time.Unix(0, 0))
	if n := testing.AllocsPerRun(100, func() {
		if c := turn.Apply(piece, time.Unix(1, 0)); len(c) != 1 || c[0].Op != Grown || c[0].Text != "word" || len(c[0].Whole) < 1<<20 {
			t.Fatalf("changes %+v", c)
		}
	}); n > 0 {
		t.Errorf("%v allocations for each delta", n)
	}
}

// A tool call goes through all states that the user may see, and the decision about it is shown.
func TestTurnOfATool(t *testing.T) {
	var turn Turn
	at := time.Unix(100, 0)
	part := llm.Part{Kind: llm.Call, ID: "1", Name: "shell", Input: "{}"}
	edited := part
	edited.Input = `{"command":"ls"}`
	var statuses []CallStatus
	var last *Tool
	for _, e := range []session.Event{
		session.Step{Model: "a/b", Seq: 2}, llm.Delta{Block: "c", Part: part}, session.Response{Seq: 2, Message: llm.Message{Parts: []llm.Part{part}}},
		session.Call{Part: part}, session.ApprovalRequest{Call: edited, Action: &act.Action{}}, session.Decision{ID: "1", Verdict: act.Allow},
		session.Progress{ID: "1", Text: "x"}, session.Result{Part: llm.Part{Kind: llm.Result, ID: "1", Text: "xy"}, Input: edited.Input, Duration: time.Second},
	} {
		for _, c := range turn.Apply(e, at) {
			if c.Kind == ToolBlock && c.Tool != nil {
				statuses, last = append(statuses, c.Tool.Status), c.Tool
				if c.Tool.Status == CallAsking && c.Tool.Input != edited.Input {
					t.Errorf("asked about %s", c.Tool.Input)
				}
			}
		}
	}
	if want := []CallStatus{CallArriving, CallRunning, CallAsking, CallRunning, CallDone}; !slices.Equal(statuses, want) {
		t.Errorf("statuses %v, want %v", statuses, want)
	}
	if last == nil || !last.Asked || !last.Ran || !last.Live || last.Input != edited.Input || last.Output != "xy" || last.Duration != time.Second {
		t.Errorf("in the end it is %+v", last)
	}
}

// A tool of an MCP server is shown by the name in the approval prompt, not by that on the wire.
func TestTurnOfAServersTool(t *testing.T) {
	var turn Turn
	at := time.Unix(100, 0)
	part := llm.Part{Kind: llm.Call, ID: "1", Name: "mcp__wiki__search", Input: "{}"}
	const name = "search of wiki"
	for _, e := range []session.Event{
		session.Step{Model: "a/b", Seq: 2}, llm.Delta{Block: "c", Part: part}, session.Response{Seq: 2, Message: llm.Message{Parts: []llm.Part{part}}},
		session.Call{Part: part}, session.ApprovalRequest{Call: part, Action: &act.Action{}}, session.Decision{ID: "1", Verdict: act.Allow},
		session.DroppedCall{Name: part.Name},
	} {
		for _, c := range turn.Apply(e, at) {
			if c.Kind == ToolBlock && c.Tool != nil && c.Tool.Name != name {
				t.Errorf("after %T it is %+v", e, c.Tool)
			}
		}
		if turn.Tool != "" && turn.Tool != name {
			t.Errorf("after %T it is busy with %s", e, turn.Tool)
		}
	}
}

// The silence and countdown blocks appear with time, and are dropped when something arrives.
func TestTurnTicks(t *testing.T) {
	var turn Turn
	at := time.Unix(100, 0)
	kinds := func(changes []Change) (out []string) {
		for _, c := range changes {
			out = append(out, fmt.Sprint(c.Op, c.Kind, c.Duration))
		}
		return out
	}
	turn.Apply(session.Step{Model: "a/b"}, at)
	retry := kinds(turn.Apply(llm.Retry{Attempt: 1, Wait: 10 * time.Second}, at))
	down := kinds(turn.Tick(at.Add(4 * time.Second)))
	turn.Apply(llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "x"}}, at)
	quiet := kinds(turn.Tick(at.Add(4 * time.Minute)))
	silent := kinds(turn.Tick(at.Add(6 * time.Minute)))
	waited := kinds(turn.ExtendSilence(at.Add(6 * time.Minute)))
	want := []string{fmt.Sprint(Opened, RetryBlock, 10*time.Second), fmt.Sprint(Replaced, RetryBlock, 6*time.Second), fmt.Sprint(Opened, SilenceBlock, 6*time.Minute), fmt.Sprint(Dropped, SilenceBlock, time.Duration(0))}
	if got := slices.Concat(retry, down, quiet, silent, waited); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPace(t *testing.T) {
	text := func(tokens int) llm.Message {
		return llm.Message{Model: "a/b", Parts: []llm.Part{{Kind: llm.Text, Text: strings.Repeat("word", tokens)}}}
	}
	for _, tt := range []struct {
		name        string
		streamed    int
		output      int
		first, took time.Duration
		want        string
	}{
		{"a steady stream", 500, 500, time.Second, 6 * time.Second, "100 tok/s"},
		{"a fast service", 2000, 2000, 200 * time.Millisecond, 1200 * time.Millisecond, "2000 tok/s"},
		{"too short to tell", 20, 20, time.Second, 1300 * time.Millisecond, ""},
		{"held back and sent at once", 20_000, 20_000, 5 * time.Second, 5600 * time.Millisecond, ""},
		{"held back and sent quickly", 2000, 2000, 10 * time.Second, 11 * time.Second, ""},
		{"faster than anything", 20_000, 20_000, 10 * time.Millisecond, time.Second, ""},
		{"thinking that was not sent", 100, 5000, 30 * time.Second, 32 * time.Second, "50 tok/s"},
		{"no count of the provider's", 500, 0, time.Second, 6 * time.Second, ""},
		{"a call alone", 0, 40, time.Second, 3 * time.Second, ""},
	} {
		var sum Totals
		sum.add(session.Response{Message: text(tt.streamed), Usage: llm.Usage{Input: 10, Output: tt.output}, Finish: llm.Finish{Reason: llm.Stop}, TTFT: tt.first, Duration: tt.took})
		got := ""
		if pace := sum.Pace(); pace > 0 {
			got = fmt.Sprintf("%.0f tok/s", pace)
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

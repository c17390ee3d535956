package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session/store"
	"parley/session/storetest"
)

// grown returns a store with a conversation of n messages that went on in several ways, with a
// summary, media, and answers that broke off.
func grown(t *testing.T, n int, seed uint64) (db *store.DB, id string) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	nodes := storetest.Nodes(n, seed)
	for i := range nodes {
		switch m := &nodes[i]; {
		case m.Role == llm.RoleUser && i > 4 && r.IntN(40) == 0:
			m.Parent = nodes[i-4].Parent // another way to say it
		case m.Role == llm.RoleUser && r.IntN(60) == 0:
			m.Summary = r.IntN(3) == 0
			m.Parts = append(m.Parts, llm.Part{Kind: llm.Media, MIME: "image/png", Data: []byte("\x89PNG")})
		case m.Role == llm.RoleAssistant && r.IntN(50) == 0:
			m.Usage = nil
		}
	}
	db = MemoryStore()
	t.Cleanup(func() { _ = db.Close() })
	id, err := db.Import(store.Session{Dir: "/p", Model: storetest.Model, Head: n}, nodes)
	if err != nil {
		t.Fatal(err)
	}
	return db, id
}

// A session reports the same of a conversation that is read in pages as of one that was
// read at once, whatever is asked first and happens in between: twice, or in 20 conversations
// with PARLEY_LONG=1.
func TestPagedConversation(t *testing.T) {
	seeds := uint64(2)
	if llmtest.Long {
		seeds = 20
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 3))
		db, id := grown(t, 1100+r.IntN(600), seed)
		log, err := db.Resume(id)
		if err != nil {
			t.Fatal(err)
		}
		info, nodes, err := db.Read(id)
		if err != nil || log.Older() != len(nodes) {
			t.Fatalf("%d of %d messages are in pages, %v", log.Older(), len(nodes), err)
		}
		endpoint := llm.Endpoint{Name: storetest.Model, Origin: storetest.Origin, Strategy: "native", Context: 100_000}
		now := func() time.Time { return time.Unix(2e9, 0) }
		paged := New(Options{Log: log, Model: endpoint, Now: now})
		whole := New(Options{Model: endpoint, Now: now})
		whole.id, whole.Spending.total, whole.tree = paged.id, info.Usage, newTree(nodes, info.Head)
		for i := range whole.tree.count {
			if n := whole.tree.at(i + 1); n.Usage != nil {
				whole.restoreCache(*n)
			}
		}
		whole.Spending.last = whole.tree.lastUsage()
		other := endpoint
		other.Name, other.Origin = "other/model", "other"
		ask := map[string]func(*Session) any{
			"path":      func(s *Session) any { return s.Path() },
			"branches":  func(s *Session) any { return s.Branches() },
			"branched":  func(s *Session) any { return s.HasBranches() },
			"tokens":    func(s *Session) any { return s.Next.ContextTokens() },
			"fit":       func(s *Session) any { return []ModelFit{s.Next.EstimateFit(endpoint), s.Next.EstimateFit(other)} },
			"request":   func(s *Session) any { _, req := s.Next.Request(); return req },
			"history":   func(s *Session) any { return s.History() },
			"usage":     func(s *Session) any { return s.Spending.last },
			"back":      func(s *Session) any { return s.PathBack(s.Head(), 300) },
			"asked":     func(s *Session) any { return []bool{s.HasPrompt(), s.Empty(), s.Unanswered()} },
			"title":     func(s *Session) any { return s.tree.title() },
			"tip":       func(s *Session) any { return s.tree.Tip(700) },
			"nodes":     func(s *Session) any { return s.Nodes() },
			"persona":   func(s *Session) any { return s.Personas.Current() },
			"estimated": func(s *Session) any { return s.Next.estimateInput(endpoint) },
		}
		do := map[string]func(*Session){
			"say": func(s *Session) {
				s.append(llm.Message{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.Text, Text: "and now"}}})
			},
			"persona":   func(s *Session) { _ = s.Personas.Set(Persona{Name: fmt.Sprint("p", s.Head())}, "be brief") },
			"switch":    func(s *Session) { _ = s.Branch.Switch(1 + int(seed)*100) },
			"again":     func(s *Session) { _ = s.Branch.Regenerate(s.Head()) },
			"dynamic":   func(s *Session) { s.Next.SetHistoryMode(HistoryDynamic) },
			"full":      func(s *Session) { s.Next.SetHistoryMode(HistoryFull) },
			"stateless": func(s *Session) { s.Next.SetHistoryMode(HistoryStateless) },
		}
		said := ""
		for range 12 {
			for name, f := range do { // in any order
				if r.IntN(4) == 0 {
					said += " " + name
					f(paged)
					f(whole)
				}
			}
			for name, f := range ask {
				if r.IntN(3) > 0 {
					continue
				}
				said += " " + name
				got, _ := json.Marshal(f(paged))
				want, _ := json.Marshal(f(whole))
				if !bytes.Equal(got, want) {
					i := 0
					for i < min(len(got), len(want)) && got[i] == want[i] {
						i++
					}
					i = max(0, i-60)
					t.Fatalf("seed %d,%s:\nin pages …%.200s\nat once  …%.200s", seed, said, got[min(i, len(got)):], want[min(i, len(want)):])
				}
			}
		}
		if err := paged.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Opening a long conversation reads its end alone.
func TestResumeReadsTheEnd(t *testing.T) {
	db, id := grown(t, 3000, 1)
	log, err := db.Resume(id)
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Log: log})
	defer func() { _ = s.Close() }()
	s.Annotate(0, Persona{Name: "brief"})
	s.Next.ContextTokens()
	s.PathBack(s.Head(), 200)
	s.HasBranches()
	s.Title()
	s.Personas.Current()
	read := 0
	for _, page := range s.tree.pages {
		if page != nil {
			read++
		}
	}
	if read > 3 {
		t.Errorf("%d pages of %d are read", read, len(s.tree.pages))
	}
}

// A page that cannot be read costs nothing but itself.
func TestUnreadablePage(t *testing.T) {
	const pages, broken = 4, 2
	nodes := storetest.Nodes(pages*pageSize, 1)
	for i := range nodes {
		nodes[i].Parent = i
	}
	fail := errors.New("disk I/O error")
	open := func(err error) *tree {
		t := storedTree(len(nodes), len(nodes), func(from, to int) ([]store.Node, error) {
			if at := broken*pageSize + 1; err != nil && from <= at && at <= to {
				return nil, err
			}
			return slices.Clone(nodes[from-1 : to]), nil
		})
		return &t
	}

	whole := open(nil)
	if path := whole.Path(); !reflect.DeepEqual(path, nodes) || whole.unread != nil {
		t.Errorf("the path has %d messages (%v)", len(path), whole.unread)
	}
	damaged := open(fail)
	damaged.each(func(*store.Node) bool { return true })
	for page, nodes := range damaged.pages {
		if lost := nodes == nil; lost != (page == broken) {
			t.Errorf("page %d is lost: %t", page, lost)
		}
	}
	if damaged.unread != fail {
		t.Errorf("the error is %v, want %v", damaged.unread, fail)
	}
}

// No request is sent if the conversation cannot be read.
func TestUnreadConversationIsNotSent(t *testing.T) {
	broken := errors.New("disk I/O error")
	s := New(Options{})
	nodes := storetest.Nodes(pageSize+8, 1)
	s.tree = storedTree(len(nodes), len(nodes), func(from, to int) ([]store.Node, error) {
		if from == 1 && broken != nil {
			return nil, broken
		}
		return nodes[from-1 : to], nil
	})
	s.tree.straight = len(nodes) // which a log tells
	fake, prompt := llmtest.New(), llm.Part{Kind: llm.Text, Text: "and now"}
	model := llm.Endpoint{Model: fake, Name: "m/m", Origin: "m", Strategy: "native"}
	s.SetModel(model)
	for what, events := range map[string]iter.Seq[Event]{
		"a prompt":     s.Turn(t.Context(), prompt),
		"a summary":    s.Compact(t.Context()),
		"a comparison": s.Compare(t.Context(), []llm.Endpoint{model, model}, nil, prompt),
	} {
		s.tree.head, s.tree.unread = len(nodes), nil
		for e := range events {
			if d, ok := e.(Done); ok && !errors.Is(d.Err, broken) {
				t.Errorf("%s ended with %v", what, d.Err)
			}
		}
	}
	if asked := len(fake.Requests()); asked > 0 {
		t.Errorf("a part of the conversation was sent %d times", asked)
	}
	broken, s.tree.head = nil, len(nodes)
	if _, req := s.Next.Request(prompt); len(req.Messages) != len(nodes)+1 {
		t.Errorf("%d messages are sent once they can be read, want %d", len(req.Messages), len(nodes)+1)
	}
}

// The persona of a branch is the last one that was chosen on it, as what was shown along it says.
func TestPersonaOfBranch(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 4))
		s := New(Options{})
		for range 12 {
			switch r.IntN(4) {
			case 0:
				_ = s.Personas.Set(Persona{Name: fmt.Sprint(r.IntN(100))}, "")
			case 1:
				if s.tree.count > 0 {
					_ = s.Branch.move(func(t *tree) (int, error) { return r.IntN(t.count + 1), nil })
				}
			default:
				s.append(llm.Message{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.Text, Text: "hm"}}})
			}
			var want Persona
			for _, list := range s.Annotations(s.Path()) {
				for _, a := range list {
					want, _ = DecodeAnnotation(a).(Persona)
				}
			}
			if got := s.Personas.Current(); got.Name != want.Name {
				t.Fatalf("seed %d: persona %q, want %q", seed, got.Name, want.Name)
			}
		}
	}
}

// A request with the newest turns of a long conversation reads only these, and counts the others.
func TestDynamicReadsTheEnd(t *testing.T) {
	nodes := storetest.Nodes(1200, 1)
	for i := range nodes {
		nodes[i].Parent = i
	}
	db := MemoryStore()
	t.Cleanup(func() { _ = db.Close() })
	id, err := db.Import(store.Session{Model: storetest.Model, Head: len(nodes)}, nodes)
	if err != nil {
		t.Fatal(err)
	}
	log, _, err := db.ForkInto(db, id, 0)
	if err != nil {
		t.Fatal(err)
	}
	endpoint := llm.Endpoint{Name: storetest.Model, Origin: storetest.Origin, Context: 5000}
	paged, whole := New(Options{Log: log, Model: endpoint}), New(Options{Model: endpoint})
	t.Cleanup(func() { _ = paged.Close() })
	whole.id, whole.tree = paged.id, newTree(nodes, len(nodes))
	for round := range 3 {
		var got, want [2]any
		for s, to := range map[*Session]*[2]any{paged: &got, whole: &want} {
			s.Next.SetHistoryMode(HistoryDynamic)
			to[0], to[1] = s.Next.compile(endpoint, []llm.Part{{Kind: llm.Text, Text: "next"}})
		}
		if o := got[1].(omission); !reflect.DeepEqual(got, want) || o.turns < 100 {
			t.Errorf("round %d: %+v is left out, want %+v", round, o, want[1])
		}
		if paged.tree.pages[0] != nil || paged.tree.pages[1] != nil {
			t.Error("the beginning was read")
		}
		for _, s := range []*Session{paged, whole} {
			s.append(llm.Message{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.Text, Text: "more"}}})
			s.append(llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.Text, Text: strings.Repeat("well ", 1000)}}})
		}
	}
}

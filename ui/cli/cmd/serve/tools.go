package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"parley/providers"
	"parley/providers/llm"
	"parley/session"
	"parley/session/transfer"
	"parley/tools/sanitize"
	"parley/ui/app/wording"
	"parley/ui/cli/cmdutil"
	"parley/ui/report"
)

// A tool is what clients can call.
type tool struct {
	name, description, schema string
	argument                  string // names the models that it asks; "" if it asks none
	run                       func(*call, arguments) (result, error)
}

// arguments are those of all tools.
type arguments struct {
	Model   string          `json:"model"`
	Models  []string        `json:"models"`
	Prompt  string          `json:"prompt"`
	Files   []string        `json:"files"`
	Schema  json.RawMessage `json:"schema"`
	Query   string          `json:"query"`
	Session string          `json:"session"`
	Offset  int             `json:"offset"`
}

// tools lists the tools. Clients send all of this with each of their requests to a model: it is short.
func tools() []tool {
	return []tool{
		{"ask", "Ask another language model. It sees only the prompt and the files.",
			`{"type":"object","properties":{"prompt":{"type":"string"},"model":{"type":"string","description":"one of models; the user's default otherwise"},"files":{"type":"array","items":{"type":"string"},"description":"paths in the served folder"},"schema":{"type":"object","description":"JSON schema of the answer"}},"required":["prompt"]}`, "model", (*call).ask},
		{"compare", "Ask two to four models the same at once.",
			`{"type":"object","properties":{"models":{"type":"array","items":{"type":"string"},"minItems":2,"maxItems":4},"prompt":{"type":"string"},"files":{"type":"array","items":{"type":"string"},"description":"paths in the served folder"}},"required":["models","prompt"]}`, "models", (*call).compare},
		{"models", "List the models that can be asked, with context window and prices per million tokens.",
			`{"type":"object","properties":{"query":{"type":"string","description":"words of the name"}}}`, "", (*call).models},
		{"search_sessions", "Find messages of the user's conversations with models that contain all words.",
			`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`, "", (*call).search},
		{"read_session", "Read a stored conversation as Markdown, page by page.",
			`{"type":"object","properties":{"session":{"type":"string","description":"ID"},"offset":{"type":"integer","description":"of the page, in bytes"}},"required":["session"]}`, "", (*call).read},
	}
}

// A call is one running call of a tool.
type call struct {
	server *server
	tool   tool
	ctx    context.Context
	cancel context.CancelCauseFunc
	token  json.RawMessage // of notifications about progress; nil sends none
	write  func([]byte)    // sends a notification; nil only keeps the connection open

	telling  sync.Mutex
	progress int       // the last number sent
	told     time.Time // when it was sent
}

// run runs a tool and returns the result for the client, with configured keys masked.
func (c *call) run(raw json.RawMessage) (r result) {
	defer func() {
		if p := recover(); p != nil {
			r = c.tool.refused(fmt.Errorf("%s: internal error: %v", c.tool.name, p))
		}
		for i := range r.Content {
			r.Content[i].Text = c.server.mask(r.Content[i].Text)
		}
		if text := c.server.mask(string(r.Structured)); json.Valid([]byte(text)) {
			r.Structured = json.RawMessage(text)
		}
	}()
	args, err := c.tool.read(raw)
	if err == nil {
		r, err = c.tool.run(c, args)
	}
	if err != nil {
		return c.tool.refused(err)
	}
	return r
}

// read reads the arguments of a call.
func (t tool) read(raw json.RawMessage) (args arguments, err error) {
	if len(raw) == 0 {
		return args, nil
	}
	var has struct{ Properties map[string]any }
	var given map[string]any
	_ = json.Unmarshal([]byte(t.schema), &has) // it is valid
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(json.Unmarshal(raw, &args), &wrong) {
		return args, fmt.Errorf("arguments of %s: %s is a %s: send a %s", t.name, cmp.Or(wrong.Field, "it"), wrong.Value, wrong.Type)
	}
	_ = json.Unmarshal(raw, &given)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if has.Properties[name] == nil {
			return args, fmt.Errorf("%s has no argument %s: use %s", t.name, sanitize.Line(name), strings.Join(slices.Sorted(maps.Keys(has.Properties)), ", "))
		}
	}
	return args, nil
}

// refused returns err as the result of a call, with advice.
func (t tool) refused(err error) result {
	text := wording.ShellError(err)
	if hint := wording.HintFor(llm.ForTool(t.argument), err); hint != "" {
		text += "\n" + hint
	}
	return result{Content: texts(sanitize.Text(text)), IsError: true}
}

// tell sends a notification about progress; at most one a second, unless it is important.
func (c *call) tell(important bool, text string) {
	c.telling.Lock()
	defer c.telling.Unlock()
	now := time.Now()
	if !important && now.Sub(c.told) < time.Second {
		return
	}
	c.told = now
	if c.progress++; c.token == nil {
		c.write(nil)
		return
	}
	c.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"message":%s}}`, c.token, c.progress, encode(text)))
}

func (c *call) models(args arguments) (result, error) {
	c.server.Discover(c.ctx)
	choices, err := providers.LiveChoices(c.ctx, c.server.Services(), c.server.OpenOptions(), false)
	var rows []report.ModelRow
	for _, m := range choices {
		rows = append(rows, report.ModelOf(m, time.Now()))
	}
	var out bytes.Buffer
	note := ""
	written := report.Models(&out, rows, strings.Fields(args.Query), false, "text", func(string) {})
	if err != nil {
		note = "Not listed: " + sanitize.Text(wording.Error(err))
	}
	return result{Content: texts(cmp.Or(out.String(), "No model matches, or none has a key: parley connect adds one"), note)}, written
}

// maxHits is how many messages a search returns.
const maxHits = 20

func (c *call) search(args arguments) (r result, err error) {
	if strings.TrimSpace(args.Query) == "" {
		return r, errors.New("query is empty: give words to search for")
	}
	err = c.server.Stored.With(func(lib *session.Store) error {
		hits, total, err := lib.Search(session.Query{Words: args.Query, Limit: maxHits})
		if cmdutil.Fatal(err, len(hits)) != nil {
			return err
		}
		var out strings.Builder
		for i := range hits {
			h := &hits[i]
			fmt.Fprintf(&out, "%s  %s  %s  %s: %s\n", h.Session.ID, h.Session.Updated.Format(time.DateOnly), sanitize.Line(c.server.mask(wording.ListTitle(h.Session))), cmp.Or(string(h.Role), "title"), sanitize.Line(c.server.mask(h.Snippet))) // each alone, as it may begin within a key
		}
		if more := total - len(hits); more > 0 {
			fmt.Fprintf(&out, "%d more: use more words\n", more)
		}
		r = result{Content: texts(cmp.Or(out.String(), "Nothing found: it compares whole words; wor* finds words that begin with wor"))}
		return nil
	})
	return r, err
}

// maxPage is how many bytes of a conversation are read at once.
const maxPage = 32 << 10

func (c *call) read(args arguments) (r result, err error) {
	form, err := c.server.Archive.Formats.Find("md")
	if err != nil {
		return r, err
	}
	if args.Session == "" {
		return r, errors.New("session is empty: search_sessions finds IDs")
	}
	err = c.server.Stored.With(func(lib *session.Store) error {
		found, err := c.server.Stored.Find(lib, args.Session)
		if err != nil {
			return err
		}
		var of transfer.Conversation
		if of.Session, of.Nodes, err = lib.Read(found.ID); cmdutil.Fatal(err, len(of.Nodes)) != nil {
			return err
		}
		of.Annotations, _ = lib.Annotations(found.ID)
		var out strings.Builder
		if err := form.Write(&out, transfer.Mask(of, c.server.mask)); err != nil {
			return err
		}
		page, next := pageOf(sanitize.Text(out.String()), args.Offset)
		more := ""
		if next > 0 {
			more = fmt.Sprintf("The conversation continues at offset %d", next)
		}
		r = result{Content: texts(page, more)}
		return nil
	})
	return r, err
}

// pageOf returns a page of text, and the offset of the next one; 0 if there is none.
func pageOf(text string, offset int) (page string, next int) {
	boundary := func(at int) int {
		at = min(max(at, 0), len(text))
		for at < len(text) && !utf8.RuneStart(text[at]) {
			at++
		}
		return at
	}
	from, to := boundary(offset), boundary(boundary(offset)+maxPage)
	if to < len(text) {
		next = to
	}
	return cmp.Or(text[from:to], "There is nothing more"), next
}

// openFile opens a regular file of the folder, without leaving the folder through links and without waiting for pipes.
func openFile(dir, path string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", sanitize.Line(path))
	}
	if err != nil {
		return nil, err
	}
	return root.Open(path)
}

package prompted

import (
	"bytes"
	"strconv"
	"strings"

	"parley/providers/llm"
	"parley/providers/schema"
)

// The marks of the form Free.
const (
	callBegin = "<tool_call>"
	callEnd   = "</tool_call>"
	result    = "<tool_result"
)

// embedded finishes what filter.Calls began on replies of the form Free: calls
// in JSON that is broken are mended, calls of tools that are not offered become
// text, and an imagined result behind a call ends the reply.
func embedded(s llm.Stream, tools []llm.Tool) llm.Stream {
	return func(yield func(llm.Event, error) bool) {
		out := &sink{Out: llm.NewOut(yield)}
		f := &freeReader{sink: out, tools: tools}
		rewrite(f.checked(s), out, f)
	}
}

type freeReader struct {
	*sink
	tools []llm.Tool

	block, alias string
	calls        int
	refused      int  // calls of tools that are not offered
	line         bool // at the beginning of a line
	fence        bool
	held         string
	capture      []byte // from a mark that was found on; nil outside
	imagined     bool   // the model went on with a result
}

// checked is s with calls of tools that are not offered as text.
func (f *freeReader) checked(s llm.Stream) llm.Stream {
	return func(yield func(llm.Event, error) bool) {
		for e, err := range s {
			d, ok := e.(llm.Delta)
			switch {
			case !ok || d.Kind != llm.Call || d.Remote:
			case find(f.tools, d.Name) == nil && d.Name != "":
				f.refused++
				e = llm.Delta{Block: d.Block, Part: llm.Part{Kind: llm.Text, Text: asText([]llm.Part{d.Part})[0].Text}}
			case d.Name != "":
				f.calls++
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (f *freeReader) begin(block string) {
	f.block, f.alias, f.line, f.fence = block, block, true, false
}

func (f *freeReader) finish(r llm.Reason) llm.Reason {
	if f.imagined {
		f.Send(llm.Notice{Text: imagined})
	}
	switch {
	case f.calls > 0 && r == llm.Stop:
		return llm.Calls
	case f.calls == 0 && f.refused > 0 && r == llm.Calls:
		return llm.Stop
	}
	return r
}

func (f *freeReader) text(s string) {
	for s != "" && !f.Stopped() && !f.imagined {
		switch {
		case f.capture != nil:
			s = f.inside(s)
		case f.line:
			s = f.start(s)
		default:
			n := strings.IndexByte(s, '\n') + 1
			if n == 0 {
				n = len(s)
			} else {
				f.line = true
			}
			f.put(f.alias, llm.Text, s[:n])
			s = s[n:]
		}
	}
}

// start looks at the beginning of a line.
func (f *freeReader) start(s string) string {
	s, f.held = f.held+s, ""
	trimmed := strings.TrimLeft(s, " ")
	for _, mark := range []string{"```", "~~~", callBegin, result} {
		switch {
		case len(trimmed) < len(mark) && strings.HasPrefix(mark, trimmed) && len(s) < 80:
			f.held = s
			return ""
		case !strings.HasPrefix(trimmed, mark):
		case mark == callBegin && !f.fence:
			f.capture = []byte{}
			return trimmed
		case mark == result && !f.fence && f.calls+f.refused > 0: // else it is an answer that shows one
			f.imagined = true
			return ""
		case mark[0] != '<':
			f.fence = !f.fence
		}
	}
	f.line = false
	return s
}

// inside reads a call up to its end and returns what is behind it.
func (f *freeReader) inside(s string) string {
	from := max(0, len(f.capture)-len(callEnd))
	f.capture = append(f.capture, s...)
	i := bytes.Index(f.capture[from:], []byte(callEnd))
	if i < 0 {
		return ""
	}
	i += from + len(callEnd)
	rest := string(f.capture[i:])
	f.take(f.capture[:i], true)
	return rest
}

// take makes calls of what was captured, or text.
func (f *freeReader) take(raw []byte, well bool) {
	f.capture, f.line = nil, false
	body, _ := bytes.CutSuffix(bytes.TrimPrefix(raw, []byte(callBegin)), []byte(callEnd))
	var got reading
	if fixed, ok := schema.RepairWhole(body); ok && well {
		got.inner(fixed, f.tools, 0)
	}
	if got.calls == nil || got.unknown != "" {
		f.put(f.alias, llm.Text, string(raw))
		return
	}
	f.Send(llm.Notice{Text: "mended a broken tool call"})
	for _, c := range got.calls {
		f.calls++
		f.call(f.block+"/mended"+strconv.Itoa(f.calls), c)
	}
	f.alias = f.block + "/behind" + strconv.Itoa(f.calls)
}

func (f *freeReader) end(well bool) {
	held, capture := f.held, f.capture
	f.held = ""
	if capture != nil {
		f.take(capture, well)
	}
	f.put(f.alias, llm.Text, held)
}

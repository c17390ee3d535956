// Package exchange represents communication with a provider for display: one request with its response and
// timing, in parts of text.
package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"parley/ui/format"
)

// An Exchange is one HTTP request to a provider, or one run of a program, with its response and
// timing. Secrets are masked. A retry is a separate exchange.
type Exchange struct {
	ID     int
	Name   string   // provider/model, or only the provider
	Method string   // HTTP method, or RUN for a program
	URL    string   // URL, or the name of the program
	Args   []string // arguments of a program
	Status int
	Error  string // category; "" for none
	Reason string // the error in words
	Start  time.Time
	Timing
	Done     bool
	Sent     int64 // bytes of the request body
	Got      int64
	Request  Side
	Response Side
	Curl     string // command that repeats the request, without the key; "" if the request was not stored completely
}

// Timing holds the times of parts of an answer since the start of its exchange; 0 for not yet.
type Timing struct {
	Headers   time.Duration
	FirstByte time.Duration // first byte of the response body
	Total     time.Duration
}

// Side holds the request or the response of an exchange.
type Side struct {
	Headers [][2]string
	Body    string
	Tail    string // end of a long body, after Body and the Cut bytes that were not stored
	Cut     int64
}

// Texts of the inspector, on the screen and in plain lines.
const (
	Gone        = "This exchange is no longer in memory. Start with --record FILE to keep them"
	CurlTooLong = "The request was too long to be kept in full"
)

// Title returns the model or provider of the request, and its purpose if it was not a prompt.
func (e Exchange) Title() string {
	if e.Method == "GET" && !strings.Contains(e.Name, "/") {
		return e.Name + ": list models"
	}
	return e.Name
}

// State returns the status of e in a few words, such as "200 running".
func (e Exchange) State() string {
	said := ""
	if e.Headers > 0 && (e.Method != "RUN" || e.Done) {
		said = strconv.Itoa(e.Status)
	}
	switch {
	case !e.Done:
		said += " running"
	case e.Error != "":
		said += " " + strings.ReplaceAll(e.Error, "_", " ")
	}
	return strings.TrimSpace(said)
}

// Parts returns e as text: an overview, then its headers and bodies.
func (e Exchange) Parts() []format.Part {
	names := [4]string{"Request headers", "Request body", "Response headers", "Response body"}
	if e.Method == "RUN" {
		names = [4]string{"In a file", "Standard input", "Standard error", "Standard output"}
	}
	parts := []format.Part{plainPart("Exchange", aboutExchange(e))}
	for i, side := range []Side{e.Request, e.Response} {
		if text := headerText(side.Headers); text != "" {
			parts = append(parts, plainPart(names[2*i], text))
		}
		total := e.Sent
		if i == 1 {
			total = e.Got
		}
		if total > 0 {
			parts = append(parts, bodyPart(names[2*i+1], side, total))
		}
	}
	return parts
}

// aboutExchange describes the request, its outcome, and its duration.
func aboutExchange(e Exchange) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", e.Method, e.URL)
	for _, arg := range e.Args {
		fmt.Fprintf(&b, "  %s\n", arg)
	}
	status := fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))
	if e.Method == "RUN" {
		status = fmt.Sprintf("exit status %d", e.Status)
	}
	switch {
	case !e.Done:
		b.WriteString("running\n")
	case e.Headers == 0:
		b.WriteString("no answer\n")
	default:
		b.WriteString(strings.TrimSpace(status) + "\n")
	}
	if e.Error != "" {
		fmt.Fprintf(&b, "%s: %s\n", strings.ReplaceAll(e.Error, "_", " "), e.Reason)
	}
	fmt.Fprintf(&b, "began %s", e.Start.Local().Format("2006-01-02 15:04:05.000"))
	for _, at := range []struct {
		what string
		time.Duration
	}{{"headers after", e.Headers}, {"first byte after", e.FirstByte}, {"took", e.Total}} {
		if at.Duration > 0 && (e.Method != "RUN" || at.what != "headers after") {
			fmt.Fprintf(&b, " · %s %s", at.what, format.Latency(at.Duration))
		}
	}
	return b.String() + "\n"
}

// plainPart returns a part with text line by line.
func plainPart(title, text string) format.Part {
	p := format.Part{Title: title, Source: text}
	for line := range strings.Lines(text) {
		p.Lines = append(p.Lines, foldable(strings.TrimRight(line, "\r\n")))
	}
	return p
}

func headerText(headers [][2]string) string {
	var b strings.Builder
	for _, h := range headers {
		fmt.Fprintf(&b, "%s: %s\n", h[0], h[1])
	}
	return b.String()
}

// bodyPart returns a body of total bytes: indented if it is JSON, and otherwise line
// by line, unchanged. Events unfold to their data, indented.
func bodyPart(title string, t Side, total int64) format.Part {
	p := format.Part{Title: title, Note: format.Size(int(total)), Source: t.Body + t.Tail}
	if t.Cut > 0 {
		p.Source = t.Body + fmt.Sprintf("\n… %s not kept …\n", format.Size(int(t.Cut))) + t.Tail
	}
	if text, ok := indented(t.Body); ok && t.Cut == 0 {
		for line := range strings.SplitSeq(text, "\n") {
			l := foldable(line)
			if whole, ok := unescapedLines(line); ok && l.Full == "" {
				l.Full = whole
			}
			p.Lines = append(p.Lines, l)
		}
		return p
	}
	events := 0
	for line := range strings.Lines(p.Source) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			continue // separates events
		}
		l := foldable(line)
		head, data := "data: ", strings.TrimPrefix(strings.TrimPrefix(line, "data:"), " ")
		if data == line {
			head = ""
		} else {
			events++
		}
		if text, ok := indented(data); ok && (data[0] == '{' || data[0] == '[') {
			l.Full = head + text
		}
		p.Lines = append(p.Lines, l)
	}
	if events > 0 {
		p.Note += " · " + format.Plural(events, "event")
	}
	return p
}

// unescapedLines returns a line of indented JSON whose value contains line breaks,
// with the value's lines below it.
func unescapedLines(line string) (string, bool) {
	name, value := line[:len(line)-len(strings.TrimLeft(line, " "))], strings.TrimSpace(line)
	if at := strings.Index(line, `": "`); at >= 0 && strings.Contains(line, `\n`) {
		name, value = line[:at+2], line[at+3:]
	}
	var text string
	if !strings.Contains(value, `\n`) || json.Unmarshal([]byte(strings.TrimSuffix(value, ",")), &text) != nil {
		return "", false
	}
	return name + "\n" + text, true
}

// indented returns indented JSON; ok is false if text is not JSON.
func indented(text string) (string, bool) {
	var out bytes.Buffer
	if json.Indent(&out, []byte(text), "", "  ") != nil {
		return "", false
	}
	return strings.TrimSpace(out.String()), out.Len() > 0
}

// base64Least is the minimum number of consecutive base64 characters that are folded.
const base64Least = 400

const base64Characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_="

// foldable returns a line with its base64 folded.
func foldable(line string) format.Line {
	var short strings.Builder
	folded := false
	for rest := line; rest != ""; {
		run := rest[:len(rest)-len(strings.TrimLeft(rest, base64Characters))]
		if rest = rest[len(run):]; len(run) >= base64Least {
			folded, run = true, run[:12]+"… "+format.Size(len(run))+" of base64 …"
		}
		short.WriteString(run + rest[:min(len(rest), 1)])
		rest = rest[min(len(rest), 1):]
	}
	if !folded {
		return format.Line{Text: line}
	}
	return format.Line{Text: short.String(), Full: line}
}

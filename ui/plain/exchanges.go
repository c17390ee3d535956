package plain

import (
	"strconv"
	"strings"

	"parley/ui/exchange"
	"parley/ui/format"
)

// Limits for each part of an exchange, unless the user asks for all of it: a streamed answer has
// one event per word.
const (
	exchangeLines = 20  // lines of a part
	exchangeWidth = 400 // characters of a line
)

// exchanges lists the requests to models, and then writes the one that the user chooses.
func (p *panels) exchanges() {
	var rows []choice
	var ids []int
	for _, e := range p.app.Wire.List() {
		detail := []string{e.State(), "sent " + format.Size(int(e.Sent)), "received " + format.Size(int(e.Got))}
		if e.Total > 0 {
			detail = append(detail, "took "+format.Latency(e.Total))
		}
		rows = append(rows, choice{name: e.Start.Local().Format("15:04:05") + " " + e.Title(), detail: format.Join(", ", detail...), value: strconv.Itoa(e.ID)})
		ids = append(ids, e.ID)
	}
	p.lists.choose("request", rows, func(value string) {
		id, _ := strconv.Atoi(value)
		p.exchange(id, ids)
	})
}

// exchange writes the exchange with this id, and asks what to do with it. list holds the ids of the
// current list.
func (p *panels) exchange(id int, list []int) {
	e, ok := p.app.Wire.Get(id)
	if !ok {
		p.writeLine("%s.", exchange.Gone)
		return
	}
	p.readExchange(e, false)
	p.askExchange(e, list)
}

// askExchange asks what to do with an exchange, until the user leaves.
func (p *panels) askExchange(e exchange.Exchange, list []int) {
	again := func() { p.askExchange(e, list) }
	leave := func() { p.writeLine("Closed.") }
	p.questions.enqueueFirst(&question{prompt: "Type all, curl, save, save PATH, a number, or nothing to leave:", leave: leave, answer: func(line string) bool {
		word, path, _ := strings.Cut(line, " ")
		n, err := strconv.Atoi(line)
		switch {
		case line == "":
			leave()
		case err == nil && n > 0 && n <= len(list):
			p.exchange(list[n-1], list)
		case word == "save":
			p.saveExchange(e, strings.TrimSpace(path), again)
		case line == "all":
			p.readExchange(e, true)
			return false
		case line == "curl" && e.Curl != "":
			p.copy(e.Curl, "curl command", again)
		case line == "curl":
			p.writeLine("%s.", exchange.CurlTooLong)
			return false
		case !p.lists.runCommand(line):
			p.writeLine("No request %s.", truncate(line, 60))
			return false
		}
		return true
	}})
}

// readExchange writes the parts of an exchange, completely if all is set, else their beginnings.
func (p *panels) readExchange(e exchange.Exchange, all bool) {
	for _, part := range e.Parts() {
		p.writeLine("%s:", format.Join(", ", part.Title, strings.ReplaceAll(part.Note, " · ", ", ")))
		most := min(len(part.Lines), exchangeLines)
		if all {
			most = len(part.Lines)
		}
		for _, line := range part.Lines[:most] {
			text := line.Text
			if r := []rune(text); len(r) > exchangeWidth && !all {
				text = string(r[:exchangeWidth]) + "… " + strconv.Itoa(len(r)-exchangeWidth) + " more characters"
			}
			p.out.Block(text)
		}
		if more := len(part.Lines) - most; more > 0 {
			p.writeLine("And %s.", format.Plural(more, "more line"))
		}
	}
}

// saveExchange writes an exchange to a file and then calls then. If path is "", the exchange gets a
// name of its own.
func (p *panels) saveExchange(e exchange.Exchange, path string, then func()) {
	o := p.app.Options
	p.async(func() func() {
		path, err := o.SaveExchange(e, path)
		return func() {
			if err != nil {
				p.writeError(err)
			} else {
				p.writeLine("Wrote %s", o.AbbrevPath(path))
			}
			then()
		}
	})
}

package mermaid

import (
	"slices"
	"strings"

	"parley/tools/lazy"
)

// A chart is a parsed flowchart.
type chart struct {
	nodes    []*node
	edges    []*edge
	byID     map[string]*node
	clusters []*cluster
	open     *cluster // of the next nodes; nil if they are in none
}

// A node has a shape, or is the label or a bend of an edge.
type node struct {
	id      string
	lines   []string
	corners string // of its box; "" for a label or a bend
	cluster *cluster

	rank, order int
	// Position and size: across the direction of the chart, and along it.
	across, wide, along, long int
	ports                     [2]ports // of the side before and after
}

// ports holds which edges use one side of a node.
type ports struct{ forward, backward bool }

func (p *ports) add(back bool) {
	p.forward, p.backward = p.forward || !back, p.backward || back
}

func (p ports) both() bool { return p.forward && p.backward }

// An edge leads from node to node. back is set for one that is drawn against the direction.
type edge struct {
	from, to *node
	label    []string
	style
	head, tail string // arrowheads at to and from; "" for none
	hidden     bool
	back       bool
}

// A cluster is a subgraph.
type cluster struct {
	id, title    string
	lane         int
	first, last  int // ranks
	across, wide int
}

// shapes lists the delimiters of node texts, longer ones first, with the corners of their boxes.
var shapes = []struct{ open, close, corners string }{
	{"(((", ")))", "╭╮╰╯─│"}, {"((", "))", "╭╮╰╯─│"}, {"([", "])", "╭╮╰╯─│"}, {"[[", "]]", "╓╖╙╜─║"}, {"[(", ")]", "╭╮╰╯─│"},
	{"{{", "}}", "╱╲╲╱─│"}, {"[/", "/]", "┌┐└┘─│"}, {"[/", `\]`, "┌┐└┘─│"}, {`[\`, `\]`, "┌┐└┘─│"}, {`[\`, "/]", "┌┐└┘─│"},
	{"{", "}", "╱╲╲╱─│"}, {"(", ")", "╭╮╰╯─│"}, {"[", "]", "┌┐└┘─│"}, {">", "]", "┌┐└┘─│"},
}

var (
	nodeID = lazy.NewRegexp(`^[\pL\pN_]+(?:[-.][\pL\pN_]+)*`)
	class  = lazy.NewRegexp(`^:::[\w-]+`)
	attrs  = lazy.NewRegexp(`^@\{[^}]*\}`)
	named  = lazy.NewRegexp(`label:\s*("[^"]*"|[^,}]+)`)
	// An edge: its tail, its line, and its head; or the beginning of one with its text inside.
	wholeEdge  = lazy.NewRegexp(`^([<xo]?)(--+|-\.+-?|==+|~~~+)([>xo]?)\s*(?:\|([^|]*)\|)?`)
	edgeInside = lazy.NewRegexp(`^([<xo]?)(--|-\.|==)(\s[^>|]*?|[^-=.>|xo\s][^>|]*?)\s*(--+|\.+-|==+)([>xo]?)`)
	subgraph   = lazy.NewRegexp(`^subgraph\s+(?:([^\[\s]+)\s*\[(.*)\]|(.*))$`)
	ignored    = lazy.NewRegexp(`^(?:classDef|class|style|linkStyle|click|direction|accTitle|accDescr)\b`)
)

// parseChart parses the statements of a flowchart. It returns nil for what it does not know.
func parseChart(lines []string) *chart {
	c := &chart{byID: map[string]*node{}}
	for _, line := range lines {
		switch m := subgraph.FindStringSubmatch(line); {
		case ignored.MatchString(line):
		case m != nil:
			if c.open != nil || len(c.clusters) == maxClusters {
				return nil // a subgraph in another one, or too many
			}
			title := m[2]
			if m[1] == "" {
				m[1], title = m[3], m[3]
			}
			c.open = &cluster{id: m[1], title: strings.Join(label(title), " ")}
			c.clusters = append(c.clusters, c.open)
		case line == "end":
			c.open = nil
		default:
			if !c.chain(line) {
				return nil
			}
		}
	}
	for _, s := range c.clusters {
		if c.byID[s.id] != nil {
			return nil // an edge of the subgraph itself
		}
	}
	c.clusters = slices.DeleteFunc(c.clusters, func(s *cluster) bool {
		return !slices.ContainsFunc(c.nodes, func(n *node) bool { return n.cluster == s })
	})
	if len(c.nodes) == 0 || len(c.nodes) > maxNodes {
		return nil
	}
	return c
}

// chain parses nodes with edges between them.
func (c *chart) chain(s string) bool {
	from, s, ok := c.group(s)
	for ok && s != "" {
		if s[0] == ';' {
			from, s, ok = c.group(strings.TrimSpace(s[1:]))
			continue
		}
		e, rest, isEdge := parseEdge(s)
		if !isEdge {
			return false
		}
		var to []*node
		to, s, ok = c.group(rest)
		if len(c.edges)+len(from)*len(to) > maxEdges {
			return false
		}
		for _, a := range from {
			for _, b := range to {
				each := e
				each.from, each.to = a, b
				c.edges = append(c.edges, &each)
			}
		}
		from = to
	}
	return ok
}

// group parses nodes joined by &.
func (c *chart) group(s string) (all []*node, rest string, ok bool) {
	for {
		n, after := c.node(s)
		if n == nil {
			return nil, "", false
		}
		all, s = append(all, n), strings.TrimSpace(after)
		if !strings.HasPrefix(s, "&") {
			return all, s, true
		}
		s = strings.TrimSpace(s[1:])
	}
}

// node parses one node, which may be known already.
func (c *chart) node(s string) (n *node, rest string) {
	id := nodeID.FindString(s)
	if id == "" {
		return nil, ""
	}
	if n = c.byID[id]; n == nil {
		n = &node{id: id, lines: []string{id}, corners: "┌┐└┘─│"}
		c.byID[id], c.nodes = n, append(c.nodes, n)
	}
	if n.cluster == nil {
		n.cluster = c.open
	}
	s = s[len(id):]
	if a := attrs.FindString(s); a != "" {
		if m := named.FindStringSubmatch(a); m != nil {
			n.lines = label(m[1])
		}
		s = s[len(a):]
	}
	for _, shape := range shapes {
		if !strings.HasPrefix(s, shape.open) {
			continue
		}
		body := s[len(shape.open):]
		end := strings.Index(body, shape.close)
		if strings.HasPrefix(body, `"`) {
			if quoted := strings.Index(body[1:], `"`+shape.close); quoted >= 0 {
				end = quoted + 2
			}
		}
		if end >= 0 {
			n.lines, n.corners = label(body[:end]), shape.corners
			s = body[end+len(shape.close):]
			break
		}
	}
	return n, s[len(class.FindString(s)):]
}

// parseEdge parses an edge without its nodes.
func parseEdge(s string) (e edge, rest string, ok bool) {
	m, text := wholeEdge.FindStringSubmatch(s), ""
	if inside := edgeInside.FindStringSubmatch(s); inside != nil && (m == nil || m[3] == "" && len(m[2]) == 2) {
		m, text, rest = []string{inside[0], inside[1], inside[2], inside[5]}, inside[3], s[len(inside[0]):]
	} else if m != nil {
		text, rest = m[4], s[len(m[0]):]
	} else {
		return e, "", false
	}
	switch {
	case strings.Contains(m[2], "."):
		e.style = dotted
	case strings.Contains(m[2], "="):
		e.style = thick
	}
	heads := map[string]string{">": ">", "<": ">", "x": "×", "o": "○"}
	e.head, e.tail, e.hidden = heads[m[3]], heads[m[1]], strings.HasPrefix(m[2], "~")
	if strings.TrimSpace(text) != "" {
		e.label = label(text)
	}
	return e, strings.TrimSpace(rest), true
}

// layer gives each node a rank: one more than the nodes before it. Edges that would close a cycle
// lead back.
func (c *chart) layer() {
	next := map[*node][]*edge{}
	for _, e := range c.edges {
		next[e.from] = append(next[e.from], e)
	}
	state, order := map[*node]int{}, []*node(nil)
	var visit func(n *node)
	visit = func(n *node) {
		state[n] = 1
		for _, e := range next[n] {
			switch state[e.to] {
			case 0:
				visit(e.to)
			case 1:
				e.back = e.to != n
			}
		}
		state[n] = 2
		order = append(order, n)
	}
	for _, n := range c.nodes {
		if state[n] == 0 {
			visit(n)
		}
	}
	kept := c.edges[:0]
	for _, e := range c.edges {
		if e.from == e.to { // a line of its own in the box
			e.from.lines = append(e.from.lines, strings.TrimSpace("↺ "+strings.Join(e.label, " ")))
			continue
		}
		if e.back {
			e.from, e.to, e.head, e.tail = e.to, e.from, e.tail, e.head
		}
		kept = append(kept, e)
	}
	c.edges = kept
	next = map[*node][]*edge{}
	for _, e := range c.edges {
		next[e.from] = append(next[e.from], e)
	}
	slices.Reverse(order) // right with edges that lead back, too: they are reversed now
	for _, n := range order {
		for _, e := range next[n] {
			e.to.rank = max(e.to.rank, n.rank+1)
		}
	}
}

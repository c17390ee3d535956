package mermaid

import (
	"cmp"
	"slices"

	"parley/ui/textwrap"
)

// A layout has the nodes of a chart in layers, with the bends and labels of its edges.
type layout struct {
	*chart
	sideways bool // the layers are columns
	layers   [][]*node
	links    []*link
	gaps     []gap // after each layer
	starts   []int // of the layers
	loose    bool  // edges arrive beside the middle, where they would overlap those that leave
}

// A link is the part of an edge between two layers.
type link struct {
	*edge
	a, b        *node
	first, last bool
	from, to    int // positions of its ports, across
}

// A gap holds the lines between two layers: a trunk of each node with branches to others.
type gap struct {
	trunks   []*trunk
	tracks   int
	pad, end int // further cells for frames of subgraphs that end before it, and begin after it
}

type trunk struct {
	at, low, high int
	links         []*link
	track         int // -1 for straight ones
}

// drawChart draws a flowchart; nil if it is too wide or not known.
func drawChart(lines []string, direction string, width int) []string {
	for _, loose := range []bool{false, true} {
		if l := newLayout(lines, direction, loose); l != nil {
			return l.draw(direction == "BT" || direction == "RL", width)
		}
	}
	return nil
}

// newLayout lays out a flowchart; nil if it is not known, or lines of different edges would lie on each other.
func newLayout(lines []string, direction string, loose bool) *layout {
	c := parseChart(lines)
	if c == nil {
		return nil
	}
	c.layer()
	l := &layout{chart: c, sideways: direction == "LR" || direction == "RL", loose: loose}
	if !l.split() {
		return nil
	}
	l.size()
	l.order()
	l.place()
	if !l.route() {
		return nil
	}
	return l
}

// split makes room for labels, and puts a bend or the label of an edge into each layer that it passes.
func (l *layout) split() bool {
	labeled, last := map[int]bool{}, 0
	for _, e := range l.edges {
		labeled[e.from.rank] = labeled[e.from.rank] || e.label != nil
	}
	shift := make([]int, len(l.nodes)+1)
	for r := range len(l.nodes) {
		if shift[r+1] = shift[r]; labeled[r] {
			shift[r+1]++
		}
	}
	for _, n := range l.nodes {
		n.rank += shift[n.rank]
		last = max(last, n.rank)
	}
	l.layers = make([][]*node, last+1)
	for _, n := range l.nodes {
		l.layers[n.rank] = append(l.layers[n.rank], n)
	}
	count := len(l.nodes)
	for _, e := range l.edges {
		a, text := e.from, e.label
		for r := a.rank + 1; r < e.to.rank; r++ {
			if count++; count > maxNodes {
				return false
			}
			bend := &node{rank: r, lines: text}
			if e.from.cluster == e.to.cluster {
				bend.cluster = e.from.cluster
			}
			text = nil
			l.layers[r] = append(l.layers[r], bend)
			l.links = append(l.links, &link{edge: e, a: a, b: bend, first: a == e.from})
			a = bend
		}
		l.links = append(l.links, &link{edge: e, a: a, b: e.to, first: a == e.from, last: true})
	}
	return true
}

// against reports whether a link has an arrowhead at its beginning, and so a port of its own there.
func (k *link) against() bool { return k.first && k.tail != "" }

// size sets the sizes of the nodes, with room for their ports.
func (l *layout) size() {
	for _, k := range l.links {
		if !k.hidden {
			k.a.ports[1].add(k.against())
			k.b.ports[0].add(k.back)
		}
	}
	l.each(func(n *node) {
		n.wide, n.long = max(widest(n.lines), 1), max(len(n.lines), 1)
		if n.corners != "" {
			n.wide, n.long = n.wide+4, n.long+2
		}
		if l.sideways {
			n.wide, n.long = n.long, n.wide
		}
		if n.corners != "" && (l.loose || n.ports[0].both() || n.ports[1].both()) {
			n.wide = max(n.wide, 5)
		}
	})
}

// port returns where an edge leaves or reaches a node.
func (l *layout) port(n *node, side int, other bool) int {
	at := n.across + n.wide/2
	switch {
	case n.corners == "":
	case n.ports[side].both() && other:
		at++
	case n.ports[side].both(), l.loose && side == 0:
		at--
	}
	return at
}

// order orders the layers so that few edges cross, with the subgraphs side by side.
func (l *layout) order() {
	free := &cluster{}
	for _, c := range append(slices.Clone(l.clusters), free) {
		c.first, c.last = len(l.layers), -1
	}
	for r, layer := range l.layers {
		for i, n := range layer {
			if n.order = i; n.cluster == nil {
				n.cluster = free
			}
			n.cluster.first, n.cluster.last = min(n.cluster.first, r), max(n.cluster.last, r)
		}
	}
	for i, c := range l.clusters { // those of other layers share a lane
		for slices.ContainsFunc(l.clusters[:i], func(o *cluster) bool { return o.lane == c.lane && o.first <= c.last && c.first <= o.last }) {
			c.lane++
		}
	}
	l.each(func(n *node) { // those beside a subgraph need a lane, too
		if n.cluster == free && slices.ContainsFunc(l.clusters, func(c *cluster) bool { return c.first <= n.rank && n.rank <= c.last }) {
			free.lane = len(l.clusters)
		}
	})
	l.sweep(8, func(layer []*node, before map[*node][]*node) {
		mean := func(n *node) float64 {
			if len(before[n]) == 0 {
				return float64(n.order)
			}
			sum := 0
			for _, o := range before[n] {
				sum += o.order
			}
			return float64(sum) / float64(len(before[n]))
		}
		slices.SortStableFunc(layer, func(a, b *node) int {
			return cmp.Or(cmp.Compare(a.cluster.lane, b.cluster.lane), cmp.Compare(mean(a), mean(b)))
		})
		for i, n := range layer {
			n.order = i
		}
	})
}

// sweep visits the layers in turn, downward and upward, with the nodes of the layer before that each is linked with.
func (l *layout) sweep(times int, visit func(layer []*node, before map[*node][]*node)) {
	for i := range times {
		before := map[*node][]*node{}
		for _, k := range l.links {
			near, far := k.a, k.b
			if i%2 == 1 {
				near, far = far, near
			}
			before[far] = append(before[far], near)
		}
		for _, layer := range l.layers {
			visit(layer, before)
		}
		slices.Reverse(l.layers)
	}
	if times%2 == 1 {
		slices.Reverse(l.layers)
	}
}

// place sets the positions across: each node as near as possible to the middle of those it is linked with.
func (l *layout) place() {
	space := 3
	if l.sideways {
		space = 1
	}
	l.sweep(9, func(layer []*node, before map[*node][]*node) {
		early := make([]int, len(layer))
		for i, n := range layer {
			early[i] = n.across
			if near := before[n]; len(near) > 0 {
				sum := 0
				for _, o := range near {
					sum += o.across + o.wide/2
				}
				early[i] = floor(sum, len(near)) - n.wide/2
			}
		}
		late := slices.Clone(early)
		for i := 1; i < len(layer); i++ {
			late[i] = max(late[i], late[i-1]+layer[i-1].wide+space)
		}
		for i := len(layer) - 2; i >= 0; i-- {
			early[i] = min(early[i], early[i+1]-layer[i].wide-space)
		}
		for i, n := range layer {
			n.across = floor(early[i]+late[i], 2)
		}
	})
	l.lanes()
}

func floor(a, b int) int {
	if a < 0 {
		return -((-a + b - 1) / b)
	}
	return a / b
}

// lanes moves the lanes of subgraphs apart, with space for their frames.
func (l *layout) lanes() {
	frame, end := 0, 0
	if len(l.clusters) > 0 {
		frame = 3
		if l.sideways {
			frame = 2
		}
	}
	for lane := range len(l.clusters) + 1 {
		low, high := l.bounds(func(n *node) bool { return n.cluster.lane == lane })
		l.each(func(n *node) {
			if n.cluster.lane == lane {
				n.across += end + frame - low
			}
		})
		end += max(high-low+2*frame, 0)
		for _, c := range l.clusters {
			if title := textwrap.Width(c.title) + 6; c.lane == lane && !l.sideways {
				end = max(end, frame+title)
			}
		}
	}
	for _, c := range l.clusters {
		low, high := l.bounds(func(n *node) bool { return n.cluster == c })
		c.across, c.wide = low-frame+1, high-low+2*frame-3
		if title := textwrap.Width(c.title) + 4; !l.sideways {
			c.wide = max(c.wide, title)
		}
	}
}

func (l *layout) each(do func(*node)) {
	for _, layer := range l.layers {
		for _, n := range layer {
			do(n)
		}
	}
}

// bounds returns the positions across of some nodes.
func (l *layout) bounds(in func(*node) bool) (low, high int) {
	low, high = 1<<30, -1<<30
	l.each(func(n *node) {
		if in(n) {
			low, high = min(low, n.across), max(high, n.across+n.wide)
		}
	})
	return low, high
}

// route gives each trunk with branches a track of its own where it would meet others. It returns false if
// lines of different edges would lie on each other.
func (l *layout) route() bool {
	l.gaps = make([]gap, len(l.layers))
	type key struct {
		n  *node
		at int
		s  style
	}
	trunks := map[key]*trunk{}
	for _, k := range l.links {
		if k.hidden {
			continue
		}
		k.from, k.to = l.port(k.a, 1, k.against()), l.port(k.b, 0, k.back && k.last)
		id := key{k.a, k.from, k.style}
		t := trunks[id]
		if t == nil {
			t = &trunk{at: k.from, low: k.from, high: k.from, track: -1}
			trunks[id] = t
			l.gaps[k.a.rank].trunks = append(l.gaps[k.a.rank].trunks, t)
		}
		t.links = append(t.links, k)
		t.low, t.high = min(t.low, k.to), max(t.high, k.to)
	}
	for i := range l.gaps {
		if !l.gaps[i].assign() {
			return false
		}
	}
	for _, c := range l.clusters {
		if c.first > 0 {
			l.gaps[c.first-1].end = 1
		}
		l.gaps[c.last].pad = 1
	}
	return true
}

// assign assigns the tracks of a gap. A trunk whose node is over a branch of another one turns first.
func (g *gap) assign() bool {
	var left []*trunk
	for _, t := range g.trunks {
		if t.low < t.high {
			left = append(left, t)
		}
	}
	slices.SortStableFunc(left, func(a, b *trunk) int { return cmp.Compare(a.high-a.low, b.high-b.low) })
	var done []*trunk
	for len(left) > 0 {
		i := slices.IndexFunc(left, func(t *trunk) bool {
			return !slices.ContainsFunc(left, func(o *trunk) bool { return o != t && o.before(t) })
		})
		if i < 0 {
			return false
		}
		t := left[i]
		left, t.track = slices.Delete(left, i, i+1), 0
		for _, o := range done {
			if o.before(t) || o.low <= t.high && t.low <= o.high && o.track >= t.track {
				t.track = max(t.track, o.track+1)
			}
		}
		done = append(done, t)
		g.tracks = max(g.tracks, t.track+1)
	}
	return true
}

// before reports whether t must turn before o: it leaves where a branch of o arrives.
func (t *trunk) before(o *trunk) bool {
	return slices.ContainsFunc(o.links, func(k *link) bool { return k.to == t.at })
}

// depth returns the number of cells of a gap along the chart.
func (l *layout) depth(g *gap) int {
	if l.sideways {
		return 2*g.tracks + 3 + 2*(g.pad+g.end)
	}
	return g.tracks + 2 + g.pad + g.end
}

// stack sets the positions along the chart, and returns the size of the chart.
func (l *layout) stack(flipped bool) (across, along int) {
	framed := len(l.clusters) > 0
	if framed {
		along = 2
	}
	for r, layer := range l.layers {
		l.starts = append(l.starts, along)
		long := l.thickness(r)
		for _, n := range layer {
			across, n.along = max(across, n.across+n.wide), along
			if flipped {
				n.along += long - n.long
			}
		}
		along += long
		if r < len(l.layers)-1 {
			along += l.depth(&l.gaps[r])
		} else if framed {
			along += 2
		}
	}
	for _, c := range l.clusters {
		across = max(across, c.across+c.wide+1)
	}
	return max(across, 1), along
}

// draw draws the layout.
func (l *layout) draw(flipped bool, width int) []string {
	across, along := l.stack(flipped)
	p := &pen{sideways: l.sideways, flipped: flipped, long: along}
	w, h := across, along
	if l.sideways {
		w, h = h, w
	}
	if w > width || h > maxRows {
		return nil
	}
	p.canvas = newCanvas(w, h)
	for _, c := range l.clusters {
		l.frame(p, c)
	}
	for r := range l.gaps {
		for _, t := range l.gaps[r].trunks {
			for _, k := range t.links {
				l.line(p, k, t, r)
			}
		}
	}
	l.each(func(n *node) {
		x, y, w, h := p.area(n.across, n.along, n.wide, n.long)
		if n.corners != "" {
			p.box(x, y, w, h, n.corners, n.lines)
			return
		}
		for i, line := range n.lines {
			p.text(x+(w-textwrap.Width(line))/2, y+i, line)
		}
	})
	for _, c := range l.clusters {
		from, to := l.span(c)
		x, y, w, _ := p.area(c.across, from, c.wide+1, to-from+1)
		if textwrap.Width(c.title)+4 <= w {
			p.text(x+1, y, " "+c.title+" ")
		}
	}
	return p.lines()
}

// span returns where the frame of a subgraph begins and ends, along the chart.
func (l *layout) span(c *cluster) (from, to int) {
	return l.starts[c.first] - 2, l.starts[c.last] + l.thickness(c.last) + 1
}

func (l *layout) thickness(r int) (long int) {
	for _, n := range l.layers[r] {
		long = max(long, n.long)
	}
	return long
}

// frame draws the frame of a subgraph.
func (l *layout) frame(p *pen, c *cluster) {
	from, to := l.span(c)
	for _, side := range [][4]int{
		{c.across, from, c.across, to}, {c.across + c.wide, from, c.across + c.wide, to},
		{c.across, from, c.across + c.wide, from}, {c.across, to, c.across + c.wide, to},
	} {
		p.run(side[0], side[1], side[2], side[3], 0)
	}
}

// line draws a link: along its trunk to the track, across, and along to its end.
func (l *layout) line(p *pen, k *link, t *trunk, r int) {
	g := &l.gaps[r]
	end := l.starts[r] + l.thickness(r) + l.depth(g)
	begin, turn := k.a.along+k.a.long, l.starts[r]+l.thickness(r)+g.pad+1
	if l.sideways {
		turn = l.starts[r] + l.thickness(r) + 2*g.pad + 1
		turn += 2 * max(t.track, 0)
	} else {
		turn += max(t.track, 0)
	}
	if k.from == k.to {
		p.run(k.from, begin, k.to, end-1, k.style)
	} else {
		p.run(k.from, begin, k.from, turn, k.style)
		p.run(k.from, turn, k.to, turn, k.style)
		p.run(k.to, turn, k.to, end-1, k.style)
	}
	if k.b.corners == "" && k.b.lines == nil { // through a bend
		p.run(k.to, end-1, k.to, end+l.thickness(r+1), k.style)
	} else if k.b.along > end { // to a node that begins later
		p.run(k.to, end-1, k.to, k.b.along-1, k.style)
		end = k.b.along
	}
	if k.last {
		p.head(k.to, end-1, k.head, down)
	}
	if k.first {
		p.head(k.from, begin, k.tail, up)
	}
	if k.a.corners == "" && k.a.lines != nil && begin < l.starts[r]+l.thickness(r) {
		p.run(k.from, begin, k.from, l.starts[r]+l.thickness(r), k.style)
	}
}

// A pen draws lines on a canvas in positions across and along the direction of a chart.
type pen struct {
	*canvas
	sideways, flipped bool
	long              int
}

// area returns an area as it is on the canvas.
func (p *pen) area(across, along, wide, long int) (x, y, w, h int) {
	if p.flipped {
		along = p.long - along - long
	}
	if p.sideways {
		return along, across, long, wide
	}
	return across, along, wide, long
}

// cell returns the cell at a position, and a direction as it is on the canvas.
func (p *pen) cell(across, along int) *cell {
	x, y, _, _ := p.area(across, along, 1, 1)
	return p.at(x, y)
}

// turned returns a direction as it is on the canvas.
func (p *pen) turned(d uint8) uint8 {
	if p.flipped && d&(up|down) != 0 {
		d ^= up | down
	}
	if p.sideways {
		return d<<2&(left|right) | d>>2
	}
	return d
}

// run draws a straight line between two cells. Its ends are corners.
func (p *pen) run(x1, y1, x2, y2 int, style style) {
	dx, dy := cmp.Compare(x2, x1), cmp.Compare(y2, y1)
	begin, finish := uint8(down), uint8(up)
	switch {
	case dx > 0:
		begin, finish = right, left
	case dx < 0:
		begin, finish = left, right
	case dy < 0:
		begin, finish = up, down
	}
	for x, y := x1, y1; ; x, y = x+dx, y+dy {
		c := p.cell(x, y)
		if c.text != "" {
			if x == x2 && y == y2 {
				return
			}
			continue
		}
		switch {
		case x == x1 && y == y1:
			c.corner |= p.turned(begin)
		case x == x2 && y == y2:
			c.corner |= p.turned(finish)
		case (dx != 0) != p.sideways:
			c.across = true
		default:
			c.along = true
		}
		c.style = style
		if x == x2 && y == y2 {
			return
		}
	}
}

// head draws an arrowhead that points in a direction.
func (p *pen) head(across, along int, head string, direction uint8) {
	if head == ">" {
		head = map[uint8]string{up: "▲", down: "▼", left: "◀", right: "▶"}[p.turned(direction)]
	}
	if head != "" {
		p.cell(across, along).text = head
	}
}

package store

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"parley/providers/llm"
)

// maxIndexed sets how much of a message is findable, in bytes. More comes from
// machines, and would keep the file locked for seconds.
const maxIndexed = 1 << 20

func indexNode(w *writer, num int64, n Node) error {
	var b strings.Builder
	for piece := range searchableTexts(n.Parts) {
		if b.Len()+len(piece) > maxIndexed {
			piece = piece[:max(maxIndexed-b.Len(), 0)]
		}
		b.WriteString(piece)
		b.WriteByte('\n')
	}
	return w.exec(`INSERT OR REPLACE INTO words (rowid, text) VALUES (?, ?)`, num, spaceOut(b.String()))
}

// searchableTexts returns the texts of a message that can be found.
func searchableTexts(parts []llm.Part) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, p := range parts {
			for _, text := range []string{p.Text, p.Name, argumentValues(p.Input), p.URL} {
				if text != "" && !yield(text) {
					return
				}
			}
		}
	}
}

// argumentValues returns the values in a call's arguments, without the escapes of JSON,
// which would stick to words.
func argumentValues(input string) string {
	if len(input) > maxIndexed || !strings.Contains(input, `\`) {
		return input
	}
	var b strings.Builder
	d := json.NewDecoder(strings.NewReader(input))
	d.UseNumber()
	for {
		t, err := d.Token()
		if err != nil {
			break
		}
		switch t := t.(type) {
		case string:
			b.WriteString(t + " ")
		case json.Number:
			b.WriteString(t.String() + " ")
		}
	}
	if d.InputOffset() < int64(len(strings.TrimSpace(input))) {
		return input // no JSON
	}
	return b.String()
}

// indexPending indexes what was not yet: answers that were still arriving, and
// everything after the index was made anew. What fails is found next time.
func (db *DB) indexPending() {
	var behind int
	err := db.read(func(q querier) error {
		return q.one(`SELECT count(*) FROM (SELECT 1 FROM nodes WHERE indexed = 0 LIMIT 1)`).Scan(&behind)
	})
	for last := int64(0); err == nil && behind > 0; {
		behind = 0
		err = db.write(func(w *writer) error {
			nodes, err := unindexed(w, last)
			for num, n := range nodes {
				err = cmp.Or(err, indexNode(w, num, n), w.exec(`UPDATE nodes SET indexed = 1 WHERE num = ?`, num))
				last = max(last, num)
			}
			behind = len(nodes)
			return err
		})
	}
}

// unindexed reads some messages behind the last, few enough for other writers to
// get their turn.
func unindexed(w *writer, last int64) (map[int64]Node, error) {
	nodes := map[int64]Node{}
	err := each(w, func(rows *sql.Rows) error {
		var num int64
		var parts string
		if rows.Scan(&num, &parts) == nil {
			var n Node
			n.Parts, _, _ = decodeParts(parts) // what cannot be decoded holds no words
			nodes[num] = n
		}
		return nil
	}, `SELECT num, parts FROM nodes WHERE indexed = 0 AND num > ? ORDER BY num LIMIT 100`, last)
	return nodes, err
}

// reindex makes the index anew. The messages themselves are indexed by indexPending.
func (db *DB) reindex() error {
	return db.write(func(w *writer) error {
		if err := w.script(`DROP TABLE words;` + wordsTable + `UPDATE nodes SET indexed = 0;`); err != nil {
			return err
		}
		titles := map[int64]string{}
		err := each(w, func(rows *sql.Rows) error {
			var num int64
			var title string
			if rows.Scan(&num, &title) == nil {
				titles[num] = title
			}
			return nil
		}, `SELECT num, title FROM sessions`)
		if err != nil {
			return err
		}
		for num, title := range titles {
			if err := indexTitle(w, num, title); err != nil {
				return err
			}
		}
		return nil
	})
}

// maxHits sets how many messages a search returns that does not say.
const maxHits = 1000

// maxRanked sets how many messages are ranked; of words that are in more, the last
// ones.
const maxRanked = 2000

// Search returns messages in which all words of q occur, best first: rare and
// dense words count (bm25), and so does being recent. A Hit with Seq 0 is a
// title. An index that is damaged is made anew.
func (db *DB) Search(q Query) ([]Hit, error) {
	words := parseQuery(q.Words)
	if len(words) == 0 {
		return nil, nil
	}
	db.indexPending()
	hits, err := db.search(q, words)
	if isCorrupt(err) && len(hits) == 0 && db.reindex() == nil {
		db.indexPending()
		hits, err = db.search(q, words)
	}
	return hits, err
}

// A candidate is a hit before it is shown.
type candidate struct {
	session, num int64
	score        float64 // lower is better
}

func (db *DB) search(q Query, words terms) (hits []Hit, err error) {
	var missed damageReport
	err = db.read(func(r querier) error {
		found, err := candidates(r, q, words)
		if err != nil {
			return err
		}
		sessions := map[int64]Session{}
		for _, c := range found[:min(len(found), q.limit(maxHits))] {
			s, ok := sessions[c.session]
			if !ok {
				row, err := scanSession(db, r.one(`SELECT `+sessionColumns+`WHERE s.num = ?`, c.session))
				if err != nil {
					if !isPartial(err) {
						return err
					}
					missed.add(err)
				}
				s = row.Session
				sessions[c.session] = s
			}
			hit, err := hitOf(r, c.num, s, words)
			if err != nil {
				if !isPartial(err) {
					return err
				}
				missed.add(err)
			}
			hits = append(hits, hit)
		}
		return missed.err(db, nil)
	})
	return hits, err
}

func candidates(r querier, q Query, words terms) ([]candidate, error) {
	where, more := q.filter()
	var found []candidate
	for _, source := range []struct{ join, model string }{
		{`CROSS JOIN nodes n ON n.num = words.rowid CROSS JOIN sessions s ON s.num = n.session
			WHERE words MATCH ? AND words.rowid > 0 AND `, `iif(n.model = '', s.model, n.model)`},
		{`CROSS JOIN sessions s ON s.num = -words.rowid WHERE words MATCH ? AND words.rowid < 0 AND `, `s.model`},
	} {
		query := `SELECT s.num, words.rowid, bm25(words) FROM words ` + source.join + where
		args := append([]any{words.match()}, more...)
		if q.Model != "" {
			query, args = query+` AND instr(lower(`+source.model+`), lower(?))`, append(args, q.Model)
		}
		err := each(r, func(rows *sql.Rows) error {
			var c candidate
			if rows.Scan(&c.session, &c.num, &c.score) == nil {
				found = append(found, c)
			}
			return nil
		}, query+` ORDER BY words.rowid DESC LIMIT ?`, append(args, maxRanked)...)
		if err != nil {
			return nil, err
		}
	}
	rank(found)
	return found, nil
}

// rank sorts the best to the front. The last message counts half as much again
// as the first.
func rank(found []candidate) {
	var last int64 = 1
	for _, c := range found {
		last = max(last, c.num)
	}
	for i := range found {
		found[i].score *= 1 + 0.5*float64(max(found[i].num, 0))/float64(last)
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(b.num, a.num))
	})
}

// hitOf returns what is shown of a message, or of a title.
func hitOf(r querier, num int64, s Session, words terms) (Hit, error) {
	h := Hit{Session: s, At: s.Updated}
	if num < 0 {
		h.Snippet, h.Marks = snippet([]string{s.Title}, words)
		return h, nil
	}
	var c columns
	var text string
	err := r.one(`SELECT seq, role, model, at, parts FROM nodes WHERE num = ?`, num).Scan(numberOf(&c, "seq", &h.Seq),
		textOf(&c, "role", &h.Role), textOf(&c, "model", &h.Model), timeOf(&c, "at", &h.At), textOf(&c, "parts", &text))
	if err != nil {
		return h, err
	}
	if parts, _, err := decodeParts(text); err == nil {
		h.Snippet, h.Marks = snippet(slices.Collect(searchableTexts(parts)), words)
	}
	if err := c.err(); err != nil {
		return h, &rowError{fmt.Errorf("session %s, message %d: %w", s.ID, h.Seq, err)}
	}
	return h, nil
}

// Bounds of the text that is shown around a match, in bytes.
const (
	before      = 60
	snippetSize = 240
)

// snippet returns one line around the first word that was found, and the ranges of
// all words in it.
func snippet(texts []string, words terms) (string, [][2]int) {
	for _, text := range texts {
		if at := firstMatch(text, words); at >= 0 {
			return mark(window(text, at), words)
		}
	}
	if len(texts) == 0 {
		return "", nil
	}
	return mark(window(texts[0], 0), words)
}

// firstMatch returns where the first of words stands in text; -1 if nowhere.
func firstMatch(text string, words terms) int {
	longest := 0
	for _, t := range words {
		longest = max(longest, len(t.words))
	}
	var ring []token
	look := func() int {
		for _, t := range words {
			if _, ok := t.at(ring); ok {
				return ring[0].start
			}
		}
		return -1
	}
	for tok := range tokens(text) {
		if ring = append(ring, tok); len(ring) < longest {
			continue
		}
		if at := look(); at >= 0 {
			return at
		}
		ring = ring[1:]
	}
	for ; len(ring) > 0; ring = ring[1:] {
		if at := look(); at >= 0 {
			return at
		}
	}
	return -1
}

// window returns the part of text around at, as one line.
func window(text string, at int) string {
	start := max(at-before, 0)
	for start > 0 && start < at && !utf8.RuneStart(text[start]) {
		start++
	}
	end := min(start+snippetSize, len(text))
	for end < len(text) && end > start && !utf8.RuneStart(text[end]) {
		end--
	}
	line := strings.Join(strings.Fields(strings.ToValidUTF8(text[start:end], "\uFFFD")), " ")
	if start > 0 {
		line = "…" + line
	}
	if end < len(text) {
		line += "…"
	}
	return line
}

// mark finds all words in a line.
func mark(line string, words terms) (string, [][2]int) {
	all := slices.Collect(tokens(line))
	var marks [][2]int
	for i := 0; i < len(all); i++ {
		taken := 0
		for _, t := range words {
			if n, ok := t.at(all[i:]); ok {
				taken = max(taken, n)
			}
		}
		if taken > 0 {
			marks = append(marks, [2]int{all[i].start, all[i+taken-1].end})
			i += taken - 1
		}
	}
	return line, marks
}

// accents maps letters to what they are without case and accents: those of the
// Latin, Greek and Cyrillic alphabets. It is only used to mark what was found;
// finding is left to SQLite, which knows them all.
var accents = sync.OnceValue(func() map[rune]rune {
	m := map[rune]rune{}
	for _, family := range strings.Fields(families) {
		plain := first(family)
		for _, r := range family {
			m[r] = plain
		}
	}
	return m
})

// families holds letters, each followed by its accented forms (the canonical
// decompositions of Unicode 16).
const families = "" +
	"aÀÁÂÃÄÅàáâãäåĀāĂăĄąǍǎǞǟǠǡǺǻȀȁȂȃȦȧḀḁẠạẢảẤấẦầẨẩẪẫẬậẮắẰằẲẳẴẵẶặ bḂḃḄḅḆḇ cÇçĆćĈĉĊċČčḈḉ dĎďḊḋḌḍḎḏḐḑḒḓ " +
	"eÈÉÊËèéêëĒēĔĕĖėĘęĚěȄȅȆȇȨȩḔḕḖḗḘḙḚḛḜḝẸẹẺẻẼẽẾếỀềỂểỄễỆệ fḞḟ gĜĝĞğĠġĢģǦǧǴǵḠḡ hĤĥȞȟḢḣḤḥḦḧḨḩḪḫẖ " +
	"iÌÍÎÏìíîïĨĩĪīĬĭĮįİǏǐȈȉȊȋḬḭḮḯỈỉỊị jĴĵǰ kĶķǨǩḰḱḲḳḴḵ lĹĺĻļĽľḶḷḸḹḺḻḼḽ mḾḿṀṁṂṃ nÑñŃńŅņŇňǸǹṄṅṆṇṈṉṊṋ " +
	"oÒÓÔÕÖòóôõöŌōŎŏŐőƠơǑǒǪǫǬǭȌȍȎȏȪȫȬȭȮȯȰȱṌṍṎṏṐṑṒṓỌọỎỏỐốỒồỔổỖỗỘộỚớỜờỞởỠỡỢợ pṔṕṖṗ rŔŕŖŗŘřȐȑȒȓṘṙṚṛṜṝṞṟ " +
	"sŚśŜŝŞşŠšȘșṠṡṢṣṤṥṦṧṨṩ tŢţŤťȚțṪṫṬṭṮṯṰṱẗ uÙÚÛÜùúûüŨũŪūŬŭŮůŰűŲųƯưǓǔǕǖǗǘǙǚǛǜȔȕȖȗṲṳṴṵṶṷṸṹṺṻỤụỦủỨứỪừỬửỮữỰự vṼṽṾṿ " +
	"wŴŵẀẁẂẃẄẅẆẇẈẉẘ xẊẋẌẍ yÝýÿŶŷŸȲȳẎẏẙỲỳỴỵỶỷỸỹ zŹźŻżŽžẐẑẒẓẔẕ æǢǣǼǽ øǾǿ ſẛ ʒǮǯ αΆά εΈέ ηΉή ιΊΐΪίϊ οΌό υΎΫΰϋύ ωΏώ " +
	"ϒϓϔ гЃѓ еЀЁѐё иЍЙйѝ кЌќ уЎў іЇї "

// Package mathtext shows math in TeX as text in Unicode, if all of it has an exact form there.
package mathtext

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"parley/ui/textwrap"
)

// signs maps commands of TeX to signs once makeSigns is done.
var (
	signs     map[string]string
	makeSigns sync.Once
)

// mathSigns maps commands of TeX to signs. Those of the second string have a space on both sides.
func mathSigns() map[string]string {
	makeSigns.Do(func() { signs = newSigns() })
	return signs
}

func newSigns() map[string]string {
	all := map[string]string{",": " ", ";": " ", ":": " ", " ": " ", "!": "", "quad": "  ", "qquad": "    ", "left": "", "right": "",
		"displaystyle": "", "textstyle": "", "limits": "", "nolimits": "", "nonumber": "", "big": "", "Big": "", "bigl": "", "bigr": "", "Bigl": "", "Bigr": "", "bigg": "", "Bigg": ""}
	words := strings.Fields(`alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ
		lambda λ mu μ nu ν xi ξ pi π varpi ϖ rho ρ varrho ϱ sigma σ varsigma ς tau τ upsilon υ phi ϕ varphi φ chi χ psi ψ omega ω
		Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω
		infty ∞ partial ∂ nabla ∇ forall ∀ exists ∃ nexists ∄ emptyset ∅ varnothing ∅ hbar ℏ ell ℓ Re ℜ Im ℑ aleph ℵ wp ℘ angle ∠ degree °
		sum ∑ prod ∏ coprod ∐ int ∫ iint ∬ iiint ∭ oint ∮ bigcup ⋃ bigcap ⋂ bigoplus ⨁ bigotimes ⨂ neg ¬ lnot ¬ top ⊤ bot ⊥
		ldots … dots … cdots ⋯ vdots ⋮ ddots ⋱ prime ′ circ ∘ bullet ∙ star ⋆ dagger † ddagger ‡ langle ⟨ rangle ⟩ lceil ⌈ rceil ⌉ lfloor ⌊ rfloor ⌋
		lbrace { rbrace } lvert | rvert | vert | lVert ‖ rVert ‖ Vert ‖ | ‖ { { } } % % $ $ # # _ _ & & backslash \
		sin sin cos cos tan tan cot cot sec sec csc csc arcsin arcsin arccos arccos arctan arctan sinh sinh cosh cosh tanh tanh
		log log ln ln lg lg exp exp lim lim limsup limsup liminf liminf max max min min sup sup inf inf det det dim dim ker ker deg deg gcd gcd arg arg Pr Pr hom hom`)
	for i := 0; i+1 < len(words); i += 2 {
		all[words[i]] = words[i+1]
	}
	words = strings.Fields(`le ≤ leq ≤ ge ≥ geq ≥ ne ≠ neq ≠ approx ≈ equiv ≡ sim ∼ simeq ≃ cong ≅ propto ∝ ll ≪ gg ≫ prec ≺ succ ≻ doteq ≐
		in ∈ notin ∉ ni ∋ subset ⊂ supset ⊃ subseteq ⊆ supseteq ⊇ subsetneq ⊊ cup ∪ cap ∩ setminus ∖ times × cdot · div ÷ pm ± mp ∓ ast ∗
		oplus ⊕ ominus ⊖ otimes ⊗ odot ⊙ wedge ∧ land ∧ vee ∨ lor ∨ perp ⊥ parallel ∥ mid | vdash ⊢ models ⊨
		to → rightarrow → longrightarrow ⟶ leftarrow ← gets ← leftrightarrow ↔ mapsto ↦ longmapsto ⟼ uparrow ↑ downarrow ↓ hookrightarrow ↪
		Rightarrow ⇒ implies ⇒ Longrightarrow ⟹ Leftarrow ⇐ impliedby ⇐ Leftrightarrow ⇔ iff ⇔ rightharpoonup ⇀ bmod mod`)
	for i := 0; i+1 < len(words); i += 2 {
		all[words[i]] = " " + words[i+1] + " "
	}
	return all
}

// Characters with their raised and lowered forms, in pairs.
const (
	raised = "0⁰1¹2²3³4⁴5⁵6⁶7⁷8⁸9⁹+⁺−⁻=⁼(⁽)⁾aᵃbᵇcᶜdᵈeᵉfᶠgᵍhʰiⁱjʲkᵏlˡmᵐnⁿoᵒpᵖrʳsˢtᵗuᵘvᵛwʷxˣyʸzᶻ" +
		"AᴬBᴮDᴰEᴱGᴳHᴴIᴵJᴶKᴷLᴸMᴹNᴺOᴼPᴾRᴿTᵀUᵁVⱽWᵂβᵝγᵞδᵟθᶿφᵠχᵡ∘°⊤ᵀ′′**††"
	lowered = "0₀1₁2₂3₃4₄5₅6₆7₇8₈9₉+₊−₋=₌(₍)₎aₐeₑhₕiᵢjⱼkₖlₗmₘnₙoₒpₚrᵣsₛtₜuᵤvᵥxₓβᵦγᵧρᵨφᵩχᵪ"
)

// mathAccent returns the mark that combines with one character for a command; "" for other commands.
func mathAccent(command string) string {
	switch command {
	case "hat", "widehat":
		return "\u0302"
	case "bar", "overline":
		return "\u0304"
	case "vec":
		return "\u20d7"
	case "dot":
		return "\u0307"
	case "ddot":
		return "\u0308"
	case "tilde", "widetilde":
		return "\u0303"
	}
	return ""
}

// mathAlphabet returns the letters of a command that have an own form; others are shifted from A and a.
func mathAlphabet(command string) (own string, upper, lower rune, ok bool) {
	switch command {
	case "mathbb":
		return "CℂHℍNℕPℙQℚRℝZℤ", 0x1d538, 0, true
	case "mathcal":
		return "BℬEℰFℱHℋIℐLℒMℳRℛ", 0x1d49c, 0, true
	case "mathbf", "bm":
		return "", 0x1d400, 0x1d41a, true
	case "mathrm", "text", "operatorname", "mathit", "textrm", "mathsf":
		return "", 'A', 'a', true
	}
	return "", 0, 0, false
}

// mathRows returns the signs of an environment at the left and right of its only, first, middle and
// last row.
func mathRows(environment string) (signs [2]string, ok bool) {
	switch environment {
	case "matrix", "aligned", "align", "align*", "gathered", "gather", "gather*", "equation", "equation*", "split":
	case "pmatrix":
		signs = [2]string{"(⎛⎜⎝", ")⎞⎟⎠"}
	case "bmatrix":
		signs = [2]string{"[⎡⎢⎣", "]⎤⎥⎦"}
	case "Bmatrix":
		signs = [2]string{"{⎧⎪⎩", "}⎫⎪⎭"}
	case "vmatrix":
		signs = [2]string{"││││", "││││"}
	case "Vmatrix":
		signs = [2]string{"‖‖‖‖", "‖‖‖‖"}
	case "cases":
		signs[0] = "{⎧⎪⎩"
	default:
		return signs, false
	}
	return signs, true
}

// maxMath is the maximum length of math that is shown in Unicode, in bytes.
const maxMath = 2 << 10

// Text returns math, with its delimiters, in Unicode; math without an exact form as it is.
func Text(source string) string {
	inner, display := source, false
	switch {
	case len(source) > maxMath || strings.ContainsAny(source, rowSpace+rowNewline):
		return source
	case strings.HasPrefix(source, "$$"), strings.HasPrefix(source, `\[`):
		inner, display = source[2:len(source)-2], true
	case strings.HasPrefix(source, `\(`):
		inner = source[2 : len(source)-2]
	case source[0] == '$':
		if inner = source[1 : len(source)-1]; !strings.ContainsAny(inner, `\^_=`) && strings.ContainsFunc(inner, unicode.IsLetter) && len(inner) > 1 && !strings.ContainsAny(inner, "+-*/<>(|") {
			return source // names of variables, as in a shell
		}
	default:
		display = true
	}
	m := mathReader{src: inner, display: display}
	lines := m.lines("")
	if m.inexact || m.src != "" {
		return source
	}
	return strings.NewReplacer(rowSpace, "\u00a0", rowNewline, "\n").Replace(strings.Join(lines, "\n"))
}

// A mathReader reads math and writes it in Unicode.
type mathReader struct {
	src     string // rest of the source
	depth   int
	display bool // rows are possible
	inexact bool // some of it has no form in Unicode
}

// lines reads up to the end, or the end of an environment, and returns the rows.
func (m *mathReader) lines(environment string) []string {
	var rows [][]string
	row := []string{}
	for {
		row = append(row, tidyMath(m.text("&\\\\")))
		if strings.HasPrefix(m.src, "&") {
			m.src = m.src[1:]
			continue
		}
		if !strings.HasPrefix(m.src, `\\`) {
			break
		}
		m.src = strings.TrimLeft(m.src[2:], " \n")
		rows, row = append(rows, row), nil
	}
	if len(row) > 1 || row[0] != "" || len(rows) == 0 {
		rows = append(rows, row)
	}
	if len(rows) > 1 && !m.display || environment == "" && (len(rows) > 1 || len(row) > 1) {
		m.inexact = true
	}
	if environment == "" {
		return rows[0][:1]
	}
	signs, _ := mathRows(environment)
	return joinMath(rows, signs)
}

// joinMath returns rows with aligned cells between signs; see mathRows.
func joinMath(rows [][]string, signs [2]string) (lines []string) {
	var wide []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(wide) {
				wide = append(wide, 0)
			}
			wide[i] = max(wide[i], textwrap.Width(cell))
		}
	}
	for i, row := range rows {
		line, gap := "", " "
		if signs[0] != "" {
			gap = "  "
		}
		for j := range wide {
			cell := ""
			if j < len(row) {
				cell = row[j]
			}
			pad := strings.Repeat(" ", wide[j]-textwrap.Width(cell))
			if j == 0 && signs[0] == "" {
				line += pad + cell
			} else {
				line += cell + pad
			}
			if j < len(wide)-1 {
				line += gap
			}
		}
		at := 2
		switch {
		case len(rows) == 1:
			at = 0
		case i == 0:
			at = 1
		case i == len(rows)-1:
			at = 3
		}
		if left := []rune(signs[0]); len(left) > 0 {
			line = string(left[at]) + " " + line
		}
		if right := []rune(signs[1]); len(right) > 0 {
			line += " " + string(right[at])
		}
		lines = append(lines, strings.ReplaceAll(strings.TrimRight(line, " "), " ", rowSpace))
	}
	return lines
}

// Spaces and newlines of rows, until the others are tidied. Wrapping keeps no-break spaces.
const (
	rowSpace   = "\x00"
	rowNewline = "\x01"
)

// tidyMath returns s without the spaces that TeX does not show.
func tidyMath(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.NewReplacer("( ", "(", " )", ")", "[ ", "[", " ]", "]", " ,", ",").Replace(s)
}

// maxMathDepth is the maximum number of nested groups.
const maxMathDepth = 16

// text reads up to one of two ends, "&" or "\\", or the end of a group or environment.
func (m *mathReader) text(ends string) string {
	if m.depth++; m.depth > maxMathDepth {
		m.inexact = true
	}
	defer func() { m.depth-- }()
	var b strings.Builder
	for m.src != "" && !m.inexact {
		if m.src[0] == '}' || strings.HasPrefix(m.src, `\end{`) || ends != "" && (m.src[0] == '&' || strings.HasPrefix(m.src, `\\`)) {
			break
		}
		b.WriteString(m.atom(b.String()))
	}
	return b.String()
}

// atom reads one character, command or group; before is the text before it.
func (m *mathReader) atom(before string) string {
	r, n := utf8.DecodeRuneInString(m.src)
	m.src = m.src[n:]
	switch r {
	case '{':
		inner := m.text("")
		m.expect("}")
		return inner
	case '^', '_':
		forms := raised
		if r == '_' {
			forms = lowered
		}
		return m.shifted(strings.ReplaceAll(m.argument(), " ", ""), forms)
	case '\\':
		return m.command(before)
	case '-':
		return "−"
	case '\'':
		return "′"
	case '~', '\n', '\r', '\t':
		return " "
	case '=', '<', '>':
		return " " + string(r) + " "
	case '&', '$', '#', '%':
		m.inexact = true
	}
	return string(r)
}

// expect reads s.
func (m *mathReader) expect(s string) {
	rest, ok := strings.CutPrefix(m.src, s)
	m.src, m.inexact = rest, m.inexact || !ok
}

// argument reads the argument of a command: a group, a command or a character.
func (m *mathReader) argument() string {
	if m.src = strings.TrimLeft(m.src, " \n"); m.src == "" || m.src[0] == '}' || m.src[0] == '&' {
		m.inexact = true
		return ""
	}
	return strings.TrimSpace(m.atom(""))
}

// shifted returns s in raised or lowered forms, which are pairs of characters.
func (m *mathReader) shifted(s, forms string) string {
	var b strings.Builder
	for _, r := range s {
		form, ok := paired(forms, r)
		if !ok {
			m.inexact = true
			return ""
		}
		b.WriteRune(form)
	}
	return b.String()
}

// paired returns the character after r in pairs of characters.
func paired(pairs string, r rune) (other rune, ok bool) {
	all := []rune(pairs)
	for i := 0; i < len(all); i += 2 {
		if all[i] == r {
			return all[i+1], true
		}
	}
	return 0, false
}

// command reads a command after its backslash.
func (m *mathReader) command(before string) string {
	n := 0
	for n < len(m.src) && (m.src[n]|' ') >= 'a' && (m.src[n]|' ') <= 'z' {
		n++
	}
	if n == 0 && m.src != "" {
		_, n = utf8.DecodeRuneInString(m.src)
	}
	name := m.src[:n]
	m.src = m.src[n:]
	if sign, ok := mathSigns()[name]; ok {
		if (name == "left" || name == "right") && strings.HasPrefix(m.src, ".") {
			m.src = m.src[1:]
		}
		return sign
	}
	if mark := mathAccent(name); mark != "" {
		of := m.argument()
		m.inexact = m.inexact || utf8.RuneCountInString(of) != 1
		return of + mark
	}
	if own, upper, lower, ok := mathAlphabet(name); ok {
		of := m.argument()
		if upper == 'A' {
			return of
		}
		return m.letters(of, own, upper, lower)
	}
	switch name {
	case "frac", "dfrac", "tfrac", "cfrac":
		over, under := m.argument(), m.argument()
		whole := grouped(over) + "/" + grouped(under)
		last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(before, " "))
		next := strings.TrimPrefix(strings.TrimLeft(m.src, " "), `\right`)
		if strings.ContainsRune("=+−<>([{,", last) || before == "" {
			last = 0
		}
		if last != 0 && last != utf8.RuneError || next != "" && strings.IndexByte("=+-<>)]},&", next[0]) < 0 && !strings.HasPrefix(next, `\\`) {
			return "(" + whole + ")"
		}
		return whole
	case "sqrt":
		root := "√"
		if strings.HasPrefix(m.src, "[") {
			degree, rest, ok := strings.Cut(m.src[1:], "]")
			sign, known := map[string]string{"2": "√", "3": "∛", "4": "∜"}[degree]
			m.src, m.inexact, root = rest, m.inexact || !ok || !known, sign
		}
		return root + grouped(m.argument())
	case "binom":
		return "C(" + m.argument() + ", " + m.argument() + ")"
	case "begin":
		return m.environment(before)
	}
	m.inexact = true
	return ""
}

// letters returns s in another form of its letters: their own one, or shifted from A and a.
func (m *mathReader) letters(s, own string, upper, lower rune) string {
	var b strings.Builder
	for _, r := range s {
		form, ok := paired(own, r)
		switch {
		case ok:
			b.WriteRune(form)
		case r >= 'A' && r <= 'Z':
			b.WriteRune(upper + r - 'A')
		case r >= 'a' && r <= 'z' && lower != 0:
			b.WriteRune(lower + r - 'a')
		default:
			m.inexact = true
		}
	}
	return b.String()
}

// environment reads the rest of an environment. Its further rows begin below the first one.
func (m *mathReader) environment(before string) string {
	name, rest, ok := strings.Cut(strings.TrimPrefix(m.src, "{"), "}")
	if _, known := mathRows(name); !ok || !known || strings.Contains(before, rowNewline) {
		m.inexact = true
		return ""
	}
	m.src = strings.TrimLeft(rest, " \n")
	lines := m.lines(name)
	m.expect(`\end{` + name + "}")
	return strings.Join(lines, rowNewline+strings.Repeat(rowSpace, textwrap.Width(tidyMath(before+"x"))-1))
}

// grouped returns s in parentheses, unless it is one number or letter.
func grouped(s string) string {
	if utf8.RuneCountInString(s) == 1 || strings.Trim(s, "0123456789") == "" {
		return s
	}
	return "(" + s + ")"
}

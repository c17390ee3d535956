package demo

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

func (c *chat) calculate() (reply, bool) { return c.first(calculations) }

var calculations = []saying{
	{lazy(`\b(?:what|which) (?:is )?(?:the )?(?:time|hour)\b|\bwhat time is it\b|\btime is it\b`),
		"There is a clock in this machine.",
		func(c *chat, _ []string) string {
			return "It is **" + c.now.Format("15:04") + "** on this machine's clock."
		}},
	{lazy(`\b(?:what|which)(?:'s| is)? (?:the |today's )?(?:date|day)\b|\bwhat day is\b|\btoday's date\b`),
		"There is a calendar in this machine.",
		func(c *chat, _ []string) string {
			return "Today is **" + c.now.Format("Monday, 2 January 2006") + "**."
		}},
	{lazy(`(-?[\d.,]+)\s*°?\s*([a-z]+)\s+(?:in|to|into|as|=)\s+°?\s*([a-z]+)\??$`),
		"A conversion of units.",
		func(_ *chat, m []string) string { return convert(m[1], m[2], m[3]) }},
	{lazy(`(-?[\d.]+)\s*(?:%|percent)\s+of\s+(-?[\d.]+)`),
		"A percentage.",
		func(_ *chat, m []string) string { return arithmetic(m[1] + "/100*" + m[2]) }},
	{lazy(`^(?:what(?:'s| is| are)|calculate|compute|how much (?:is|are)|solve|eval(?:uate)?)?\s*([-+(.\d√][^a-z]*|[a-z]*sqrt[^a-z]+)\s*[=?.]*$`),
		"Arithmetic. I can calculate this exactly as it is written.",
		func(_ *chat, m []string) string { return arithmetic(m[1]) }},
}

// arithmetic answers an expression; "" if it is none, or only a number.
func arithmetic(text string) string {
	text = strings.TrimRight(text, " =?.")
	if !operator().MatchString(strings.TrimLeft(text, "-+ ")) {
		return ""
	}
	value, err := evaluate(text)
	if errors.Is(err, errZero) {
		return fmt.Sprintf("%s divides by zero, so it has no value.", code(text))
	}
	if err != nil || math.IsInf(value, 0) || math.IsNaN(value) {
		return ""
	}
	return fmt.Sprintf("%s = **%s**", code(strings.TrimSpace(text)), number(value))
}

var operator = lazy(`[-+*/×÷·^%]|sqrt|√`)

// number is value without noise from binary fractions.
func number(value float64) string {
	if math.Abs(value) >= 1e15 || value != 0 && math.Abs(value) < 1e-6 {
		return strconv.FormatFloat(value, 'g', 10, 64)
	}
	text := strconv.FormatFloat(value, 'f', 9, 64)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}

var (
	errSyntax = errors.New("not an expression")
	errZero   = errors.New("division by zero")
)

// expression is a recursive descent over + - * / % ^ sqrt and parentheses.
type expression struct {
	rest  string
	depth int
}

func evaluate(text string) (float64, error) {
	text = strings.NewReplacer(" ", "", ",", "", "×", "*", "·", "*", "÷", "/", "**", "^", "√", "sqrt", "−", "-").Replace(strings.ToLower(text))
	e := &expression{rest: text}
	value, err := e.sum()
	if err == nil && e.rest != "" {
		err = errSyntax
	}
	return value, err
}

// take consumes one of the operators, and reports which.
func (e *expression) take(operators string) (byte, bool) {
	if e.rest == "" || !strings.Contains(operators, e.rest[:1]) {
		return 0, false
	}
	op := e.rest[0]
	e.rest = e.rest[1:]
	return op, true
}

func (e *expression) sum() (float64, error) {
	value, err := e.product()
	for err == nil {
		op, ok := e.take("+-")
		if !ok {
			break
		}
		var next float64
		if next, err = e.product(); op == '-' {
			next = -next
		}
		value += next
	}
	return value, err
}

func (e *expression) product() (float64, error) {
	value, err := e.signed()
	for err == nil {
		op, ok := e.take("*/%")
		if !ok {
			break
		}
		var next float64
		if next, err = e.signed(); err != nil {
			break
		}
		switch {
		case op == '*':
			value *= next
		case next == 0:
			err = errZero
		case op == '/':
			value /= next
		default:
			value = math.Mod(value, next)
		}
	}
	return value, err
}

// signed binds looser than a power: -2^2 is -4.
func (e *expression) signed() (float64, error) {
	if op, ok := e.take("+-"); ok {
		value, err := e.nested(e.signed)
		if op == '-' {
			value = -value
		}
		return value, err
	}
	return e.power()
}

func (e *expression) power() (float64, error) {
	base, err := e.atom()
	if err != nil {
		return 0, err
	}
	if _, ok := e.take("^"); !ok {
		return base, nil
	}
	exponent, err := e.nested(e.signed) // to the right: 2^3^2 is 2^9
	return math.Pow(base, exponent), err
}

func (e *expression) atom() (float64, error) {
	if rest, ok := strings.CutPrefix(e.rest, "sqrt"); ok {
		e.rest = rest
		value, err := e.nested(e.atom)
		return math.Sqrt(value), err
	}
	if _, ok := e.take("("); ok {
		value, err := e.nested(e.sum)
		if _, closed := e.take(")"); err == nil && !closed {
			err = errSyntax
		}
		return value, err
	}
	digits := decimal().FindString(e.rest)
	value, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0, errSyntax
	}
	e.rest = e.rest[len(digits):]
	return value, nil
}

var decimal = lazy(`^(?:\d+\.?\d*|\.\d+)`)

// nested goes one level down, and refuses what nobody types.
func (e *expression) nested(level func() (float64, error)) (float64, error) {
	const deepest = 100
	e.depth++
	defer func() { e.depth-- }()
	if e.depth > deepest {
		return 0, errSyntax
	}
	return level()
}

// units are what a unit is worth in the base unit of its kind.
var units = map[string]struct {
	kind  string
	worth float64
}{
	"m": {"length", 1}, "meter": {"length", 1}, "metre": {"length", 1}, "km": {"length", 1000}, "kilometer": {"length", 1000},
	"kilometre": {"length", 1000}, "cm": {"length", 0.01}, "mm": {"length", 0.001}, "mile": {"length", 1609.344},
	"mi": {"length", 1609.344}, "yard": {"length", 0.9144}, "foot": {"length", 0.3048}, "feet": {"length", 0.3048},
	"ft": {"length", 0.3048}, "inch": {"length", 0.0254}, "inche": {"length", 0.0254},
	"kg": {"mass", 1}, "kilogram": {"mass", 1}, "g": {"mass", 0.001}, "gram": {"mass", 0.001}, "pound": {"mass", 0.45359237},
	"lb": {"mass", 0.45359237}, "ounce": {"mass", 0.028349523125}, "oz": {"mass", 0.028349523125},
	"second": {"time", 1}, "minute": {"time", 60}, "hour": {"time", 3600}, "day": {"time", 86400}, "week": {"time", 604800},
	"byte": {"size", 1}, "kb": {"size", 1e3}, "mb": {"size", 1e6}, "gb": {"size", 1e9}, "kib": {"size", 1 << 10},
	"mib": {"size", 1 << 20}, "gib": {"size", 1 << 30},
	"liter": {"volume", 1}, "litre": {"volume", 1}, "ml": {"volume", 0.001}, "gallon": {"volume", 3.785411784},
}

// convert answers a conversion; "" if it knows no such units.
func convert(amount, from, to string) string {
	value, err := strconv.ParseFloat(strings.ReplaceAll(amount, ",", ""), 64)
	if err != nil {
		return ""
	}
	result, ok := temperature(value, strings.ToLower(from), strings.ToLower(to))
	if !ok {
		a, known := units[unit(from)]
		b, alike := units[unit(to)]
		if !known || !alike || a.kind != b.kind {
			return ""
		}
		result = value * a.worth / b.worth
	}
	return fmt.Sprintf("%s %s = **%s %s**", amount, from, number(result), to)
}

// unit is the singular, in lower case.
func unit(name string) string {
	name = strings.ToLower(name)
	if _, ok := units[name]; ok {
		return name
	}
	return strings.TrimSuffix(name, "s")
}

func temperature(value float64, from, to string) (float64, bool) {
	switch from[:1] + to[:1] {
	case "fc":
		value = (value - 32) * 5 / 9
	case "cf":
		value = value*9/5 + 32
	case "ck":
		value += 273.15
	case "kc":
		value -= 273.15
	default:
		return 0, false
	}
	return value, degrees().MatchString(from) && degrees().MatchString(to)
}

var degrees = lazy(`^(?:c|f|k|celsius|fahrenheit|kelvin)$`)

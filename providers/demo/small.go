package demo

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// saying is a question with its answer. Answers take the chat and the groups
// of the pattern, and may be "" where the pattern matched by mistake.
type saying struct {
	words    func() *regexp.Regexp
	thinking string
	answer   func(c *chat, m []string) string
}

// written is an answer that is always the same.
func written(text string) func(*chat, []string) string {
	return func(*chat, []string) string { return text }
}

func (c *chat) first(sayings []saying) (reply, bool) {
	for _, s := range sayings {
		m := s.words().FindStringSubmatch(c.ask)
		if m == nil {
			continue
		}
		if text := s.answer(c, m); text != "" {
			return reply{thinking: s.thinking, text: text}, true
		}
	}
	return reply{}, false
}

func (c *chat) smallTalk() (reply, bool) { return c.first(smallTalk) }

var smallTalk = []saying{
	{lazy(`^(?:hi|hello|hey|hallo|good (?:morning|afternoon|evening)|greetings|moin|salut|hola|ciao)\b[^?]{0,30}[.!]*$`),
		"A greeting. I greet back and say what can be tried here.",
		func(*chat, []string) string { return answerText("greeting") }},
	{lazy(`^(?:thanks?|thank you|thx|cheers|great|nice|cool|perfect|awesome|well done|good job)\b[^?]{0,40}$`),
		"That is kind. A short answer will do.",
		written("You are welcome! Is there anything else you would like to try?")},
	{lazy(`^(?:bye|good ?bye|see you|ciao|good night|quit|exit)\b[^?]{0,20}$`),
		"The person is leaving.",
		written("Goodbye! **ctrl+d** on an empty line leaves parley.")},
	{lazy(`\bhow (?:are you|do you do|is it going)\b`),
		"Small talk.",
		written("All my rules are in order, thank you. What can I do for you?")},
	{lazy(`\b(?:who|what) are you\b|\bwhat(?:'s| is) your name\b|\bare you (?:a |an )?(?:real|ai|human|llm|bot|model|chatgpt|gpt|claude|gemini)\b|\bwhich model\b`),
		"I should say plainly what I am.",
		func(*chat, []string) string { return answerText("who") }},
	{lazy(`^(?:please )?(?:say|repeat(?: after me)?|echo):?\s+(.+)$`),
		"I only have to repeat this.",
		func(_ *chat, m []string) string { return unquote(m[1]) }},
	{lazy(`\bcount (?:up )?(?:from (?:1|one) )?to (\d+)\b`),
		"Counting is something I am good at.",
		func(_ *chat, m []string) string { return numbers(m[1]) }},
	{lazy(`\bjokes?\b|\bmake me laugh\b|\bsomething funny\b`),
		"A joke, then. I know exactly one.",
		written("Why do programmers confuse Halloween and Christmas?\n\nBecause **oct 31 = dec 25**.")},
	{lazy(`\b(?:haiku|poem|poetry|rhyme)\b`),
		"A haiku has five, seven and five syllables.",
		written("> A cursor that waits,\n> words arriving one by one —\n> no network tonight.")},
	{lazy(`\bmeaning of life\b`),
		"There is a well-known answer.",
		written("**42**, according to Douglas Adams' *The Hitchhiker's Guide to the Galaxy*. It took Deep Thought seven and a half million years; I looked it up.")},
}

// numbers counts as far as asked, within reason.
func numbers(to string) string {
	const most = 1000
	n, err := strconv.Atoi(to)
	if err != nil || n > most {
		return fmt.Sprintf("I stop at %d, so that is where I would have to leave you.", most)
	}
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "%d", i)
		switch {
		case i == n:
			b.WriteString(".")
		case i%20 == 0:
			b.WriteString(",\n\n")
		default:
			b.WriteString(", ")
		}
	}
	return b.String()
}

func (c *chat) knowledge() (reply, bool) { return c.first(knowledge) }

var knowledge = []saying{
	{lazy(`\bwhy\b.*\bsky\b.*\bblue\b`),
		"The classic. Rayleigh scattering: it goes with the inverse fourth power of the wavelength. Then the usual objection: why not violet?",
		func(*chat, []string) string { return answerText("sky") }},
	{lazy(`\bspeed of light\b|\bfast(?:er)? (?:is|does|as|than) light\b`),
		"A defined constant.",
		written("Light in a vacuum travels at exactly **299,792,458 m/s**: the metre has been defined by it since 1983.")},
	{lazy(`\bcapital (?:city )?of (?:the )?([\p{L} ]+?)\s*\??$`),
		"I know a few capitals.",
		func(_ *chat, m []string) string { return capital(m[1]) }},
	{lazy(`\bhello,? world\b(?:.*\bin ([\w+#]+))?`),
		"The first program in any language.",
		func(_ *chat, m []string) string { return helloWorld(m[1]) }},
	{lazy(`\b(?:fibonacci|quick ?sort|binary search|fizz ?buzz)\b`),
		"I have a small program for each of the classics, in Go.",
		func(_ *chat, m []string) string { return program(m[0]) }},
}

var capitals = map[string]string{
	"france": "Paris", "germany": "Berlin", "italy": "Rome", "spain": "Madrid", "portugal": "Lisbon", "austria": "Vienna",
	"switzerland": "Bern", "united kingdom": "London", "uk": "London", "england": "London", "ireland": "Dublin",
	"netherlands": "Amsterdam", "belgium": "Brussels", "poland": "Warsaw", "sweden": "Stockholm", "norway": "Oslo",
	"denmark": "Copenhagen", "finland": "Helsinki", "greece": "Athens", "usa": "Washington, D.C.",
	"united states": "Washington, D.C.", "canada": "Ottawa", "mexico": "Mexico City", "brazil": "Brasília",
	"argentina": "Buenos Aires", "japan": "Tokyo", "china": "Beijing", "india": "New Delhi", "australia": "Canberra",
	"new zealand": "Wellington", "egypt": "Cairo", "kenya": "Nairobi",
}

func capital(country string) string {
	city, ok := capitals[strings.ToLower(strings.TrimSpace(country))]
	if !ok {
		return ""
	}
	return fmt.Sprintf("The capital of %s is **%s**.", strings.TrimSpace(country), city)
}

// hello holds hello-world programs, by what people call the language.
var hello = map[string][2]string{
	"go":         {"go", "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"Hello, world!\")\n}"},
	"python":     {"python", "print(\"Hello, world!\")"},
	"rust":       {"rust", "fn main() {\n    println!(\"Hello, world!\");\n}"},
	"javascript": {"javascript", "console.log(\"Hello, world!\");"},
	"typescript": {"typescript", "const who: string = \"world\";\nconsole.log(`Hello, ${who}!`);"},
	"c":          {"c", "#include <stdio.h>\n\nint main(void) {\n    puts(\"Hello, world!\");\n    return 0;\n}"},
	"java":       {"java", "public class Hello {\n    public static void main(String[] args) {\n        System.out.println(\"Hello, world!\");\n    }\n}"},
	"bash":       {"sh", "echo \"Hello, world!\""},
	"ruby":       {"ruby", "puts \"Hello, world!\""},
	"haskell":    {"haskell", "main :: IO ()\nmain = putStrLn \"Hello, world!\""},
}

func helloWorld(language string) string {
	program, ok := hello[strings.ToLower(language)]
	if !ok {
		language, program = "Go", hello["go"]
	}
	return fmt.Sprintf("Hello, world in %s:\n\n%s", language, fence(program[1], program[0]))
}

// programs are short enough to be right.
var programs = map[string]string{
	"fibonacci":    "// fibonacci returns the nth Fibonacci number, counted from 0.\nfunc fibonacci(n int) int {\n\ta, b := 0, 1\n\tfor range n {\n\t\ta, b = b, a+b\n\t}\n\treturn a\n}",
	"quicksort":    "// quicksort returns the numbers of list in rising order.\nfunc quicksort(list []int) []int {\n\tif len(list) < 2 {\n\t\treturn list\n\t}\n\tpivot, less, more := list[0], []int{}, []int{}\n\tfor _, n := range list[1:] {\n\t\tif n < pivot {\n\t\t\tless = append(less, n)\n\t\t} else {\n\t\t\tmore = append(more, n)\n\t\t}\n\t}\n\treturn append(append(quicksort(less), pivot), quicksort(more)...)\n}",
	"binarysearch": "// search returns where n stands in a rising list, and whether it does.\nfunc search(list []int, n int) (int, bool) {\n\tlow, high := 0, len(list)\n\tfor low < high {\n\t\tmiddle := low + (high-low)/2\n\t\tif list[middle] < n {\n\t\t\tlow = middle + 1\n\t\t} else {\n\t\t\thigh = middle\n\t\t}\n\t}\n\treturn low, low < len(list) && list[low] == n\n}",
	"fizzbuzz":     "for i := 1; i <= 100; i++ {\n\tswitch {\n\tcase i%15 == 0:\n\t\tfmt.Println(\"FizzBuzz\")\n\tcase i%3 == 0:\n\t\tfmt.Println(\"Fizz\")\n\tcase i%5 == 0:\n\t\tfmt.Println(\"Buzz\")\n\tdefault:\n\t\tfmt.Println(i)\n\t}\n}",
}

func program(name string) string {
	text, ok := programs[strings.ReplaceAll(strings.ToLower(name), " ", "")]
	if !ok {
		return ""
	}
	return "In Go:\n\n" + fence(text, "go")
}

// describePiped says what it can about text that was piped in or attached.
func (c *chat) describePiped() (reply, bool) {
	text := c.piped
	if text == "" && strings.Count(c.ask, "\n") > 3 {
		text = c.ask // piped in without a question
	}
	if text == "" {
		return reply{}, false
	}
	return reply{
		thinking: "Some text came along. I cannot judge it, but I can say what it is made of.",
		text:     described(text),
	}, true
}

func described(text string) string {
	words := strings.Fields(text)
	counts := map[string]int{}
	for _, w := range words {
		if w = strings.ToLower(strings.Trim(w, ".,;:!?()[]{}\"'`*#")); len(w) > 4 {
			counts[w]++
		}
	}
	var often []string
	for len(often) < 5 {
		w, n := most(counts)
		if n < 2 {
			break
		}
		often = append(often, fmt.Sprintf("%s (%d)", code(w), n))
		delete(counts, w)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "I was given text with **%s** and **%s**", count(len(lines(text)), "line"), count(len(words), "word"))
	if len(often) > 0 {
		fmt.Fprintf(&b, "; the longer words in it that occur most are %s", strings.Join(often, ", "))
	}
	fmt.Fprintf(&b, ". It begins:\n\n%s\n\nFor a summary that understands it, ask a real model: I only count.", excerpt(text, "", 6))
	return b.String()
}

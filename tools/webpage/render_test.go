package webpage_test

import (
	"net/url"
	"strings"
	"testing"

	"parley/tools/webpage"
)

var address = &url.URL{Scheme: "https", Host: "example.com", Path: "/a/"}

func TestRender(t *testing.T) {
	hidden := func(attributes string) string { return "<p>seen</p><p " + attributes + ">not seen</p>" }
	for _, tt := range []struct {
		name, page     string
		markdown, text string // "" for what the other one is
		hidden         int
	}{
		{name: "paragraphs", page: "<p>one\n  two<p>three", markdown: "one two\n\nthree", text: "one two\nthree"},
		{name: "words of several elements", page: "<div>a <b>b</b><b>c</b></div>", markdown: "a **bc**", text: "a bc"},
		{name: "a line break", page: "a<br>b", markdown: "a  \nb", text: "a\nb"},
		{name: "space between lines", page: "<p>a</p> \n <p>b</p>", markdown: "a\n\nb", text: "a\nb"},
		{name: "code", page: "<pre class=language-go>a\n  b</pre>c", markdown: "```go\na\n  b\n```\n\nc", text: "a\n  b\nc"},
		{name: "a list", page: "<ol start=3><li>a<li>b</ol>", markdown: "3. a\n4. b", text: "a\nb"},
		{name: "a table", page: "<table><tr><th>a<th>b<tr><td colspan=99>1<td>2</table>", markdown: "| a | b |\n|---|---|\n| 1 | 2 |", text: "a b\n1 2"},
		{name: "a heading", page: "<h2>a</h2>b", markdown: "## a\n\nb", text: "a\nb"},
		{name: "links", page: `<a href="b?c=d#e">a</a> <a href=/b title=c>b</a> <a href=mailto:a@b.c>c</a>`,
			markdown: `[a](https://example.com/a/b?c=d#e) [b](https://example.com/b "c") [c](mailto:a@b.c)`, text: "a b c"},
		{name: "links to nowhere", page: `<a href=" #top">a</a> <a href=" javascript:x()">b</a> <a href="data:text/html,x">c</a> <a href="http://[">d</a> <a>e</a>`, text: "a b c d e"},
		{name: "a base", page: `<base><base href=/b/><base href=/c/><a href=x>a</a>`, markdown: "[a](https://example.com/b/x)", text: "a"},
		{name: "a base that is no address", page: `<base href="http://["><base href=/c/><a href=x>a</a>`, markdown: "[a](https://example.com/c/x)", text: "a"},
		{name: "pictures", page: `<img src=a.png alt=A><img src=b.png><img alt=C src=" data:image/png;base64,AA">`, markdown: "![A](https://example.com/a/a.png)", text: "-"},
		{name: "what is no text", page: "a<script>b</script><style>c</style><noscript>d</noscript><svg><text>e</text></svg><select><option>f</select><textarea>g</textarea><!-- h -->", text: "a"},

		{name: "hidden", page: hidden("hidden"), text: "seen", hidden: 1},
		{name: "hidden until it is found", page: hidden("hidden=until-found"), markdown: "seen\n\nnot seen", text: "seen\nnot seen"},
		{name: "a closed dialog", page: "<dialog>a</dialog><dialog open>b</dialog>", text: "b", hidden: 1},
		{name: "hidden parts are counted once", page: "seen<p hidden>a<b hidden>b</b></p><div hidden></div>", text: "seen", hidden: 2},
		{name: "a harmless style", page: hidden("style='display:block;opacity:0.5;font-size:10px;left:-10px;color:red;clip:auto;clip-path:none;visibility:visible'"), markdown: "seen\n\nnot seen", text: "seen\nnot seen"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, isMarkdown := range []bool{true, false} {
				want := tt.text
				if isMarkdown && tt.markdown != "" {
					want = tt.markdown
				}
				_, got, hidden, err := webpage.Render(tt.page, address, isMarkdown)
				if got = strings.TrimSpace(got); got == "" {
					got = "-"
				}
				if got != want || hidden != tt.hidden || err != nil {
					t.Errorf("markdown %v: got %q, %d hidden, %v\nwant %q, %d hidden", isMarkdown, got, hidden, err, want, tt.hidden)
				}
			}
		})
	}
}

// Text that a reader does not see may be meant for the model.
func TestHiddenByStyle(t *testing.T) {
	for style, isHidden := range map[string]bool{
		"display: NONE !important": true, "color: red; visibility:hidden": true, "visibility:collapse": true,
		"opacity:0": true, "opacity:0.0": true, "opacity:.0": true, "opacity:0.01": true, "opacity:0.1": false, "opacity:": false, "opacity:1": false,
		"font-size:0px": true, "font-size:0%": true, "font-size:9px": false, "color:transparent": true,
		"left:-9999px": true, "left:-1000px": true, "left:-999px": false, "left:9999px": false, "text-indent:-5000.5em": true, "top:-0999px": false,
		"clip:rect(0,0,0,0)": true, "clip:rect(1px,1px,1px,1px)": true, "clip:rect(9px,0,0,0)": false,
		"clip-path:inset(50%)": true, "clip-path:inset(100%)": true, "clip-path:inset(1%)": false, "position:none": false,
	} {
		_, got, hidden, err := webpage.Render("<p style='"+style+"'>text", address, false)
		if (hidden == 1) != isHidden || strings.Contains(got, "text") == isHidden || err != nil {
			t.Errorf("%s: got %q, %d hidden, %v; want hidden: %v", style, got, hidden, err, isHidden)
		}
	}
}

func TestTitle(t *testing.T) {
	for page, want := range map[string]string{
		"<title> A \n <b>page</b></title><title>B</title>x": "A <b>page</b>",
		"<p>x<svg><title>drawing</title></svg>":             "drawing",
		"x":                                                 "",
		"<html><head><title>A</title></head><html lang=de><body>": "A",
	} {
		if got, _, _, err := webpage.Render(page, address, true); got != want || err != nil {
			t.Errorf("%s: got %q, %v; want %q", page, got, err, want)
		}
	}
}

// Long texts are divided for the parser, which changes nothing that is seen.
func TestLongTexts(t *testing.T) {
	const words = "one two three "
	for _, tt := range []struct{ name, page, want string }{
		{"ignored tags between texts", strings.Repeat(words+"</x>", 2000), strings.TrimSpace(strings.Repeat(words, 2000))},
		{"a further html and body tag", "<html><body>a<html lang=x><body class=y>b", "ab"},
		{"a long script", "<script>" + strings.Repeat("1 < 2;", 2000) + "</script>a", "a"},
		{"a long title", "<title>" + strings.Repeat("x", 9000) + "</title>a", "a"},
		{"text with tags in svg", "<svg><style>" + strings.Repeat("a<g/>", 2000) + "</style></svg>a", "a"},
	} {
		if _, got, _, err := webpage.Render(tt.page, address, false); strings.TrimSpace(got) != tt.want || err != nil {
			t.Errorf("%s: got %.60q of %d bytes, %v; want %.60q of %d", tt.name, got, len(got), err, tt.want, len(tt.want))
		}
	}
}

func TestDeepPages(t *testing.T) {
	deep := strings.Repeat("<div>", 5000) + "a"
	if _, got, _, err := webpage.Render(deep, address, true); err == nil || !strings.Contains(err.Error(), "the format raw shows it") {
		t.Errorf("got %.60q, %v", got, err)
	}
}

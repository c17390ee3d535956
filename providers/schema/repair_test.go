package schema

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestRepair(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"valid", ` {"a": 1} `, `{"a": 1}`},
		{"valid word", `true`, `true`},
		{"fence", "```json\n{\"a\":1}\n```", `{"a":1}`},
		{"fence around a word", "```\n5\n```", `5`},
		{"prose around", `Here it is: {"a":1} as you asked.`, `{"a":1}`},
		{"prose with braces", `The set {a, b} is {"a":1}.`, `{"a":1}`},
		{"footnote", `As [1] says, {"answer":"yes"}`, `{"answer":"yes"}`},
		{"quoted prose behind", `{"a":"x"} "thanks"`, `{"a":"x"}`},
		{"quotes and brackets nobody escaped", `{"a":"if x { "y" }"}`, `{"a":"if x { \"y\" }"}`},
		{"the longest", `{"a":1} or {"a":1,"b":2}`, `{"a":1,"b":2}`},
		{"trailing commas", `{"a":[1,2,],}`, `{"a":[1,2]}`},
		{"leading commas", `[,1,,2]`, `[1,2]`},
		{"single quotes", `{'a': 'it\'s "x"'}`, `{"a":"it's \"x\""}`},
		{"a text alone", `'it\'s "x"'`, `"it's \"x\""`},
		{"a quote alone", `'`, ``},
		{"quotes of two kinds", `"a'`, ``},
		{"white space that does not break", "{\u00a0'a'\u00a0:\u00a0'x'\u00a0,'b':1}", `{"a":"x","b":1}`},
		{"escapes", `{'a':"\u00eF\uABCD\u00eg"}`, `{"a":"\u00eF\uABCD\\u00eg"}`},
		{"names without quotes", `{a: 1, $b-c: 2}`, `{"a":1,"$b-c":2}`},
		{"words without quotes", `{a: red, b: two words, c: [x, y]}`, `{"a":"red","b":"two words","c":["x","y"]}`},
		{"comments", "{// one\n\"a\":1, /* two */ \"b\":2 # three\n}", `{"a":1,"b":2}`},
		{"a comment in a string", `{"a":"http://x","b":"#1",}`, `{"a":"http://x","b":"#1"}`},
		{"Python", `{"a":True,"b":False,"c":None}`, `{"a":true,"b":false,"c":null}`},
		{"JavaScript", `{"a":undefined,"b":NaN,"c":-Infinity}`, `{"a":null,"b":null,"c":null}`},
		{"numbers", `{"a":+1,"b":.5,"c":5.,"d":007,"e":0x1F,"f":1_000}`, `{"a":1,"b":0.5,"c":5.0,"d":7,"e":31,"f":"1_000"}`},
		{"line breaks in a string", "{\"a\":\"x\ny\tz\x01\"}", `{"a":"x\ny\tz\u0001"}`},
		{"escapes nobody knows", `{"a":"\d+ \x41 \'"}`, `{"a":"\\d+ \u0041 '"}`},
		{"quotes nobody escaped", `{"a":"he said "hi" to me","b":1}`, `{"a":"he said \"hi\" to me","b":1}`},
		{"comma forgotten", "{\"a\":\"x\"\n\"b\":1 \n \"c\":2}", `{"a":"x","b":1,"c":2}`},
		{"comma forgotten in a list", `[{"a":1} {"a":2}]`, `[{"a":1},{"a":2}]`},
		{"value forgotten", `{"a":,"b":}`, `{"a":null,"b":null}`},
		{"a name alone", `{"a":1,b,"c":2}`, `{"a":1,"c":2}`},
		{"a name alone at the end", `{"a":1,"b"}`, `{"a":1}`},
		{"bracket forgotten", `{"a":[1,2}`, `{"a":[1,2]}`},
		{"wrong bracket", `{"a":{"b":1]}`, `{"a":{"b":1}}`},
		{"equals", `{"a"=>1, b=2}`, `{"a":1,"b":2}`},
		{"cut in a string", `{"a":"hel`, `{"a":"hel"}`},
		{"cut in an escape", `{"a":"hel\u00`, `{"a":"hel"}`},
		{"cut in a character", "{\"a\":\"\xe2\x82", `{"a":""}`},
		{"cut in a name", `{"a":1,"b`, `{"a":1}`},
		{"cut behind a name", `{"a":1,"b":`, `{"a":1}`},
		{"cut in a word", `{"a":tr`, `{"a":true}`},
		{"cut in a number", `{"a":-`, `{}`},
		{"cut in a list", `{"a":[1,[2,{"b":[3`, `{"a":[1,[2,{"b":[3]}]]}`},
		{"cut at the start", `{`, `{}`},
		{"invalid UTF-8", "{\"a\":\"\xff\"}\n", "{\"a\":\"\xff\"}"},
		{"byte order mark", "\ufeff{\"a\":1}", `{"a":1}`},
		{"prose", `I cannot do that.`, ``},
		{"a link", `See [the docs](https://x.y) for more.`, ``},
		{"code", `func main() { fmt.Println("x") }`, ``},
		{"nothing", ``, ``},
	}
	for _, tt := range tests {
		got, ok := Repair([]byte(tt.in))
		if string(got) != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: got %s, %v; want %s", tt.name, got, ok, tt.want)
		}
	}
}

// Every prefix of a document can be repaired, and only those that may be complete count as whole.
func TestRepairCut(t *testing.T) {
	doc := `{"name":"gr\u00fc\n\"x\" {[","n":-12.5e+3,"ok":true,"no":null,"list":[1,"zwei",{"a":[]},[false]],"o":{"k":{"z":"\\"}}}`
	for i := 1; i <= len(doc); i++ {
		cut := doc[:i]
		got, ok := Repair([]byte(cut))
		if !ok || !json.Valid(got) || got[0] != '{' {
			t.Errorf("%s became %s, %v", cut, got, ok)
		}
		_, whole := RepairWhole([]byte(cut))
		if last := cut[i-1]; whole && strings.IndexByte(`"}]{[,el`, last) < 0 {
			t.Errorf("%s counts as whole", cut)
		}
	}
	if _, whole := RepairWhole([]byte(`{"cmd":"rm -rf /tmp/x`)); whole {
		t.Error("a command that was cut off counts as whole")
	}
	if got, whole := RepairWhole([]byte(`{'a':[1,2,`)); !whole || string(got) != `{"a":[1,2]}` {
		t.Errorf("got %s, %v", got, whole)
	}
}

// Text that makes a careless parser quadratic or deeply recursive takes milliseconds; a quadratic
// parser would take minutes.
func TestRepairHostile(t *testing.T) {
	for _, unit := range []string{"[", "{", `{"a":`, `{"a":[`, `"`, `{"`, `{a`, `{a:`, "[1,", `{"a":"x" `, "/*", `{"a":1}`, `\`, `{"a":"\`, "```json\n{", "[ \n", "{ //", `["a"     `} {
		in := strings.Repeat(unit, 1<<16/len(unit))
		if got, ok := Repair([]byte(in)); ok && !json.Valid(got) {
			t.Errorf("%q repeated became %.80s", unit, got)
		}
	}
}

func FuzzRepair(f *testing.F) {
	for _, s := range []string{
		`{"a":1}`, "```json\n[1,]\n```", `{'a': True, b: "c "d" e"`, `[1,{"x":[`, `{"a":"\u12`, "{\"a\":\"\xff\xe2", `{a=>0x1f,//c` + "\n" + `.5}`, `-`, `"`, `'a'`, `{"a":1e}`, `[-.e+]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, ok := Repair(text)
		if ok != json.Valid(got) {
			t.Fatalf("%q became %q, %v", text, got, ok)
		}
		if again, ok2 := Repair(got); ok && (!ok2 || string(again) != string(got)) {
			t.Fatalf("%q became %q", got, again)
		}
	})
}

func BenchmarkRepair(b *testing.B) {
	text := []byte("Sure:\n```json\n{'list': [" + strings.Repeat(`{"a": "some "quoted" text", b: True,},`+"\n", 250) + "\n```")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := Repair(text); !ok {
			b.Fatal("not repaired")
		}
	}
}

package composer

import "testing"

// An address is fetched only if the user typed the @ before it, not if the @ was pasted.
func TestPastedAddresses(t *testing.T) {
	typed := func(text string) []Unit { return Split(text) }
	pasted := func(text string) []Unit {
		units := Split(text)
		for i := range units {
			units[i].pasted = true
		}
		return units
	}
	for _, test := range []struct {
		units []Unit
		want  string
	}{
		{typed("see @https://a.example/x"), "see @https://a.example/x"},
		{pasted("see (@https://evil.example/x)"), "see ( https://evil.example/x)"},
		{pasted(`@"http://evil.example"`), ` "http://evil.example"`},
		{append(typed("see @"), pasted("https://a.example/x")...), "see @https://a.example/x"},
		{pasted("fix @main.go"), "fix @main.go"},
	} {
		if got := textWithoutChips(test.units); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

package cli

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

// What is mapped of the program's file gets less, and the program goes on.
func TestUnmapFile(t *testing.T) {
	mapped := func() (kB int) {
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		_, line, _ := strings.Cut(string(status), "RssFile:")
		if _, err := fmt.Sscan(line, &kB); err != nil {
			t.Fatal(err)
		}
		return kB
	}
	page := strings.Clone(manualPages()[0].Text)
	before := mapped()
	unmapFile()
	after := mapped()
	if after > before/2 {
		t.Errorf("%d kB of %d are mapped, want less than half", after, before)
	}
	if got := manualPages()[0].Text; got != page {
		t.Errorf("got %.40q, want %.40q", got, page)
	}
}

func TestUnchangedMappings(t *testing.T) {
	const header = "00400000-01ac6000 r-xp 00000000 fe:00 1234                               /usr/bin/a parley"
	for _, c := range []struct {
		name, header, anonymous, swap string
		want                          bool
	}{
		{"code", header, "0 kB", "0 kB", true},
		{"constants", strings.Replace(header, "r-xp", "r--p", 1), "0 kB", "0 kB", true},
		{"data", strings.Replace(header, "r-xp", "rw-p", 1), "0 kB", "0 kB", false},
		{"shared", strings.Replace(header, "r-xp", "r--s", 1), "0 kB", "0 kB", false},
		{"relocated", header, "4 kB", "0 kB", false},
		{"relocated and swapped out", header, "0 kB", "4 kB", false},
		{"another file", header + ".so", "0 kB", "0 kB", false},
		{"no file", "00400000-01ac6000 r-xp 00000000 00:00 0", "0 kB", "0 kB", false},
		{"not told whether it was changed", header, "", "0 kB", false},
	} {
		before := "00300000-00400000 r-xp 00000000 fe:00 9 /lib/b\nSize: 1024 kB\nAnonymous: 0 kB\nSwap: 0 kB\n"
		smaps := before + c.header + "\nSize:              23320 kB\n"
		if c.anonymous != "" {
			smaps += "Anonymous:             " + c.anonymous + "\n"
		}
		smaps += "KSM:                   0 kB\nSwap:             " + c.swap + "\nVmFlags: rd ex mr mw me\n"
		var want []mapping
		if c.want {
			want = []mapping{{0x400000, 0x1ac6000}}
		}
		if got := unchangedMappings(strings.NewReader(smaps), "/usr/bin/a parley"); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %x, want %x", c.name, got, want)
		}
	}
}

package uitest

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"
)

var update = flag.Bool("update", false, "write the golden files of screens anew")

// Golden expects the screen of testdata/NAME.golden. As screens may still
// change when it is called, it waits for the right one. With the flag -update
// it writes the file, after a moment in which nothing changed.
func (d *Driver) Golden(name string) *Driver {
	d.t.Helper()
	return d.golden(name, d.Screen)
}

// StyledGolden does as Golden for the screen with its colors, in which an escape is
// written as ␛.
func (d *Driver) StyledGolden(name string) *Driver {
	d.t.Helper()
	return d.golden(name, func() string { return strings.ReplaceAll(d.Styled(), "\x1b", "␛") })
}

func (d *Driver) golden(name string, screen func() string) *Driver {
	d.t.Helper()
	file := filepath.Join("testdata", filepath.FromSlash(name)+".golden")
	if *update {
		d.rest()
		if err := write(file, screen()+"\n"); err != nil {
			d.t.Fatal(err)
		}
		return d
	}
	want, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		d.t.Fatalf("%s is missing; make it with -update. The screen is\n%s", file, framed(screen()))
	}
	if err != nil {
		d.t.Fatal(err)
	}
	if !d.waitUntil(func() bool { return screen()+"\n" == string(want) }, nil) {
		got := screen() + "\n"
		d.t.Errorf("the screen is not %s (-update accepts it):\n%s", file, udiff.Unified("want", "got", string(want), got))
	}
	return d
}

// rest waits until the view has not changed for twice the grace.
func (d *Driver) rest() {
	tick := time.NewTicker(graceTick)
	defer tick.Stop()
	for quiet := 0; quiet < 2*graceTicks; {
		d.mu.Lock()
		changed := d.changed
		d.mu.Unlock()
		select {
		case <-changed:
			quiet = 0
		case <-d.ended:
			return
		case <-tick.C:
			quiet++
		}
	}
}

func write(file, content string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(content), 0o644)
}

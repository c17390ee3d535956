package sandbox_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Files that a command makes setuid or setgid lose the bit, however it was set and
// wherever they are hidden, and that is reported; files that had one keep it.
func TestSetuid(t *testing.T) {
	t.Parallel()
	ways := map[string]string{
		"chmod":     "echo x > f; chmod u+s f",
		"setgid":    "echo x > f; chmod g+s,g+x f",
		"moved":     "echo x > y; chmod 4755 y; mkdir d; mv y d/f; mv d/f f",
		"hidden":    "mkdir d; echo x > d/f; chmod 6755 d/f; chmod 0 d",
		"copied":    "cp -p ../mine f",
		"made so":   `python3 -c 'import os; os.close(os.open("f", os.O_CREAT|os.O_WRONLY, 0o4755))' || { echo x > f; chmod u+s f; }`,
		"a bit off": "echo x > f; chmod 4711 f; chmod g+s f",
	}
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			script := ""
			p.writeAsUser("workspace/mine", "mine")
			for name, way := range ways {
				p.writeAsUser("workspace/"+name+"/x", "")
				script += "(cd '" + name + "'; " + way + ")\n"
			}
			p.chownWorkspace()
			if err := os.Chmod(p.at("workspace/mine"), 0o755|os.ModeSetuid); err != nil {
				t.Fatal(err)
			}
			out, _ := p.run(script + "mkdir shared; chmod g+s shared; mv mine own; ln own linked")
			for name := range ways {
				file := "workspace/" + name + "/f"
				if name == "hidden" {
					file = "workspace/" + name + "/d/f"
				}
				info, err := os.Stat(p.at(file))
				if err != nil || info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 || !strings.Contains(out, p.at(file)) {
					t.Errorf("%s: %v, %v, or it is not told: %s", name, info, err, out)
				}
			}
			if !strings.Contains(out, "[the sandbox took the setuid and setgid bits off ") || strings.Contains(out, "CAUTION") {
				t.Errorf("got %s", out)
			}
			if info, err := os.Stat(p.at("workspace/own")); err != nil || info.Mode()&os.ModeSetuid == 0 {
				t.Errorf("what had the bit: %v, %v", info, err)
			}
			if info, err := os.Stat(p.at("workspace/shared")); err != nil || info.Mode()&os.ModeSetgid == 0 {
				t.Errorf("a folder: %v, %v", info, err)
			}
			p.run("echo evil >> own")
			if info, err := os.Stat(p.at("workspace/own")); err != nil || info.Mode()&os.ModeSetuid != 0 {
				t.Errorf("what had the bit and was written to: %v, %v", info, err)
			}
		})
	}
}

// Programs work that set no such bit, and that make directories and copies with modes.
func TestEverydayModes(t *testing.T) {
	if _, err := exec.LookPath("tar"); err != nil {
		t.Skip(err)
	}
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			out, status := p.run("set -e; mkdir -p a/b; echo x > a/f; chmod 755 a/f; install -m 700 a/f a/g; cp -a a c; tar cf t a; mkdir d; tar xf t -C d; test -x d/a/f; umask 027; touch y; stat -c %a y")
			if status != 0 || out != "640\n" {
				t.Errorf("got %d, %s", status, out)
			}
		})
	}
}

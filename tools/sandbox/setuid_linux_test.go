package sandbox_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// No command gives a file the setuid or setgid bit, however it tries; a file that has one keeps
// it until it is written to.
func TestSetuid(t *testing.T) {
	t.Parallel()
	const script = `mkdir d; for f in a b c d/e; do echo x > $f; done
chmod u+s a && echo set; chmod g+s,g+x b && echo set; chmod 4755 c && echo set; chmod 6755 d/e && echo set; chmod g+s d && echo set
install -m 4755 a i && echo set; umask 0; tar cf t own; mkdir u; tar xpf t -C u 2>/dev/null; cp -p own p 2>/dev/null
python3 -c 'import os; os.open("o", os.O_CREAT|os.O_WRONLY, 0o4755)' 2>/dev/null && echo set
python3 -c 'import os; os.mknod("n", 0o102755)' 2>/dev/null && echo set
mv own moved; ln moved linked; chmod 755 a; true`
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			p.writeAsUser("workspace/own", "mine")
			p.chownWorkspace()
			if err := os.Chmod(p.at("workspace/own"), 0o755|os.ModeSetuid); err != nil {
				t.Fatal(err)
			}
			if out, status := p.run("{ " + script + "; } 2>/dev/null"); out != "" || status != 0 {
				t.Errorf("got %d, %s", status, out)
			}
			var bits []string
			err := filepath.WalkDir(p.at("workspace"), func(path string, e fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				info, err := e.Info()
				if err == nil && info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
					bits = append(bits, e.Name())
				}
				return err
			})
			if err != nil || len(bits) != 2 || bits[0] != "linked" || bits[1] != "moved" {
				t.Errorf("got %v, %v", bits, err)
			}
			p.run("echo evil >> moved")
			if info, err := os.Stat(p.at("workspace/moved")); err != nil || info.Mode()&os.ModeSetuid != 0 {
				t.Errorf("a file that was written to: %v, %v", info, err)
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

package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hiddenAttempts run comm without the rules being able to see it.
var hiddenAttempts = []string{
	"comm --version", "/usr/bin/comm --version", "/bin/comm --version", "c''omm --version", `\comm --version`, "x=co; ${x}mm --version", "$(echo comm) --version", "c*m --version", "/usr/bin/com[m] --version", "command comm --version", "eval comm --version",
	"sh -c 'comm --version'", "bash <<< 'comm --version'", "echo comm --version | sh", "exec -a x comm --version", "(exec /usr/bin/comm --version)", "env comm --version", "env -S 'comm --version'", "nice comm --version", "timeout 5 comm --version", "setsid comm --version", "time comm --version",
	"find /usr/bin -name comm -exec {} --version ';'", "echo --version | xargs comm", "echo /usr/bin/comm | xargs -I{} {} --version", "alias c=comm; comm --version", "hash -p /usr/bin/comm c; c --version", "trap 'comm --version' EXIT", "f() { comm --version; }; f", "coproc comm --version; cat <&${COPROC[0]}",
	"cp /usr/bin/comm c && ./c --version", "cp -L /usr/bin/comm /tmp/c; /tmp/c --version", "cat /usr/bin/comm > c; chmod +x c; ./c --version", "cat < /usr/bin/comm > c; chmod +x c; ./c --version", "dd if=/usr/bin/comm of=c; chmod +x c; ./c --version", "install /usr/bin/comm c; ./c --version", "tar chf - /usr/bin/comm | tar xf - && usr/bin/comm --version",
	"ln /usr/bin/comm c; ./c --version", "ln -s /usr/bin/comm c; ./c --version", "cp /proc/self/root/usr/bin/comm c; ./c --version", "/proc/self/root/usr/bin/comm --version", "/proc/1/root/usr/bin/comm --version", "/proc/$$/cwd/../../../../../../usr/bin/comm --version", "mv /usr/bin/comm c; ./c --version", "gzip -c /usr/bin/comm | gunzip > c; chmod +x c; ./c --version",
	"for l in /lib64/ld-linux* /lib/ld-*; do $l /usr/bin/comm --version; done", "exec 3< /usr/bin/comm; /proc/self/fd/3 --version", "umount /usr/bin/comm; comm --version", "unshare -Ur umount /usr/bin/comm; comm --version", "unshare -Urm sh -c 'umount -l /usr/bin/comm; comm --version'",
	"printf '#!/usr/bin/comm --version' > s; chmod +x s; ./s", "printf 'a:\\n\\tcomm --version\\n' > m; make -f m", "git -c alias.x='!comm --version' x", "git config alias.x '!comm --version'; git x", "sed '1e comm --version' /etc/passwd", "awk 'BEGIN { system(\"comm --version\") }'", "awk 'BEGIN { \"comm --version\" | getline x; print x }'",
	`perl -e 'exec "comm", "--version"'`, `perl -e 'open F, "/usr/bin/comm" or die; open G, ">c"; print G <F>; chmod 0755, "c"; exec "./c", "--version"'`, `python3 -c 'import os; os.execvp("comm", ["x", "--version"])'`, `python3 -c 'import shutil; shutil.copy("/usr/bin/comm", "c")'; ./c --version`,
	"busybox comm --version", "[[ -v 'a[$(comm --version >&2)]' ]]", "x='a[$(comm --version >&2)]'; echo $((x))", "PS4='$(comm --version >&2)'; set -x; :", "vim -es -c '!comm --version' -c q", "tar cf x /etc/passwd --checkpoint=1 --checkpoint-action=exec='comm --version'",
}

// A denied program cannot be run, copied or linked, whatever the line is; the others can.
func TestDeniedProgramsAreHidden(t *testing.T) {
	t.Parallel()
	for _, s := range allSetups() {
		if !s.spaces {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			p.policy.Denied = []string{"comm"}
			for _, line := range hiddenAttempts {
				p.writeAsUser("workspace/line", line)
				if out, _ := p.run("bash line 2>&1; rm -rf c s m x usr"); strings.Contains(out, "GNU coreutils") {
					t.Errorf("%s: it ran", line)
				}
			}
			if out, status := p.run("seq 3 | tac && ls -l /usr/bin/comm > l"); out != "3\n2\n1\n" || status != 0 {
				t.Errorf("another program: %q, %d", out, status)
			}
		})
	}
}

// A link, a script, another link of the same file and a version are hidden with the program. A file that
// is many programs is not.
func TestHiddenNames(t *testing.T) {
	t.Parallel()
	for _, s := range allSetups() {
		if !s.spaces {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, s)
			for _, dir := range []string{"programs", "elsewhere"} {
				if err := os.MkdirAll(p.at(dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			script := func(name string) {
				p.write(name, "#!/bin/sh\necho ran $0\n")
				if err := os.Chmod(p.at(name), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range []string{"programs/script", "elsewhere/target", "programs/linked", "programs/box", "programs/tool3.11", "programs/toolbox", "programs/busybox-x", "elsewhere/named"} {
				script(name)
			}
			for name, to := range map[string]string{"programs/link": "../elsewhere/target", "programs/dir": "box", "programs/move": "box", "programs/tool": "tool3.11", "programs/tool3": "tool3.11"} {
				if err := os.Symlink(to, p.at(name)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Link(p.at("programs/linked"), p.at("programs/other")); err != nil {
				t.Fatal(err)
			}
			p.write("programs/busybox-x", "#!/bin/sh\necho ran\nexit\n\x00move\x00inside\x00")
			p.policy.ReadPaths = append(p.policy.ReadPaths, p.at("programs"), p.at("elsewhere"))
			p.policy.Env = []string{"PATH=" + p.at("programs") + ":/usr/bin:/bin"}
			p.policy.Denied = []string{"script", "link", "linked", "dir", "tool", "inside", p.at("elsewhere/named")}
			for name, want := range map[string]bool{
				"programs/script": false, "programs/link": false, "elsewhere/target": false, "programs/linked": false, "programs/other": false, "programs/tool": false, "programs/tool3.11": false, "programs/busybox-x": false, "elsewhere/named": false,
				"programs/box": true, "programs/dir": true, "programs/move": true, "programs/toolbox": true,
			} {
				if out, _ := p.run("sh " + p.at(name)); strings.Contains(out, "ran") != want {
					t.Errorf("%s: ran %v, want %v: %s", filepath.Base(name), !want, want, out)
				}
			}
			// An upgrade while parley runs is found by the next command.
			if err := os.Remove(p.at("programs/script")); err != nil {
				t.Fatal(err)
			}
			script("programs/script")
			if out, _ := p.run("script"); strings.Contains(out, "ran") {
				t.Errorf("after an upgrade: %s", out)
			}
		})
	}
}

package permission

import (
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// denyRmTests holds lines under a rule that allows everything and one that denies rm: those that
// are denied, those that ask because they may run rm, those that ask because they are not plain,
// and those that run.
var denyRmTests = map[string]struct{ denied, ask, unplain, run []string }{
	"aliases for a shell": {
		denied: []string{
			"git config alias.x '!rm victim'", "git config alias.x '!rm'", "git config alias.x !rm", "git config --global --add alias.x '! rm victim'", "git config set alias.x '!rm x'", "git config alias.x '!ls; rm x'", "git config alias.x '!f() { rm x; }; f'", "git config credential.helper '!rm x'", "git config alias.x \"!rm x\"",
			"git config alias.x '!sh -c \"rm x\"'", "sudo git config alias.x '!rm x'", "sh -c \"git config alias.x '!rm x'\"", "git -c alias.x='!rm x' x", "gh alias set x '!rm victim'", "gh alias set x '!rm'", "gh alias set --shell x 'rm victim'", "gh config set pager 'rm x'", "glab alias set x '!rm victim'", "glab config set editor 'rm x'",
			"hg --config alias.x='!rm x' x", "hg --config=alias.x='!rm x' x", "hg --config alias.x='!rm' x", "jj util exec -- rm x", "jj --config ui.pager='rm x' log", "jj config set --user ui.editor 'rm x'",
		},
		ask: []string{
			"git config alias.x \"!rm $1\"", "git config alias.x \"!$x\"", "gh alias import - <<'E'\nx: '!rm y'\nE", "cat f | gh alias import -", "cat f | gh alias import", "cat f | gh alias set x -", "cat f | gh -R a/b alias import -", "cat f | glab alias import -", "jj --config-toml 'aliases.x=[\"util\",\"exec\",\"--\",\"rm\",\"x\"]' x",
			"jj --config-toml='aliases.x=[\"util\"]' x", "jj --config-file f x", "jj -R y --config-file=f x", "jj --config 'aliases.x=[\"util\",\"exec\",\"--\",\"rm\",\"x\"]' x",
		},
		unplain: []string{"while read -r x; do gh alias list; done < f"},
		run: []string{
			"gh alias import f", "gh pr list -R a/b | head", "jj log -r @-", "git config alias.co checkout", "git config alias.x '!git log --oneline'", "git config user.name x", "gh alias set co 'pr checkout'", "gh alias list", "gh config get editor", "hg --config ui.color=never log", "jj --config ui.paginate=never log", "jj config list",
			"find . ! -name rm -type f", "test ! -e rm", "! grep rm f",
		},
	},
	"programs that run their arguments": {
		denied: []string{
			"linux64 rm x", "linux32 rm x", "i386 rm x", "x86_64 rm x", "/usr/bin/x86_64 rm x", "uname26 -R rm x", "setarch -R rm x", "setarch x86_64 rm x", "s390x rm x", "arch -x86_64 rm x", "sudo linux64 rm x", "cpulimit -l 50 -- rm x", "setuidgid u rm x", "softlimit -m 1 rm x", "envdir d rm x", "envuidgid u rm x", "setlock f rm x",
			"multilog t '!rm x' d", "s6-setuidgid u rm x", "execlineb -c 'rm x'", "choom -n 0 -- rm x", "prlimit --nofile=10 rm x", "sshpass -p x rm y", "sshpass -f f ssh -p 22 me@host rm y", "sshpass -e ssh h 'rm y'", "chronic rm x", "gtimeout 5 rm x", "genv A=b rm x", "ls | gxargs rm", "cross-env A=b rm x", "mpirun -n 2 rm x", "ccache rm x",
			"caffeinate -i rm x", "systemd-inhibit rm x", "conda run rm x", "conda run -n env rm x", "mamba run rm x", "micromamba run -n env rm x", "rustup run stable rm x", "nix develop -c rm x", "nix shell nixpkgs#x -c rm y", "gem exec rm x", "nvm exec 18 rm x", "opam exec -- rm x", "heroku run rm x", "oc exec pod -- rm x",
			"docker container exec web rm x", "docker container run image rm x", "podman container exec web rm x", "flatpak run --command=rm x", "gcloud compute ssh vm --command='rm x'", "bfs -exec rm {} +", "bfs . -name x -execdir rm {} ';'", "gfind . -exec rm {} +", "gfind . -ok rm {} ';'", "bfs . -exec sh -c 'rm x' ';'",
		},
		ask: []string{"bfs . -exec {} ';'", "gfind . -exec sh {} ';'", "ls | gxargs sh", "genv -S x"},
		run: []string{
			"arch", "linux64 make", "setarch -R ./a.out", "conda install numpy", "conda list rm", "conda activate base", "conda run -n env pytest", "rustup update", "nix build", "nix flake update", "gem install rm", "composer install", "nvm use 18", "opam install dune", "bfs . -name rm", "gfind . -name rm -type f", "prlimit", "ccache -s",
			"flatpak list", "snap install rm", "oc get pods", "heroku logs", "docker container ls", "sshpass -p x ssh host ls",
		},
	},
	"commands behind options": {
		denied: []string{
			"kubectl -n web exec pod -- rm x", "kubectl --context c -n web exec -it pod -- rm x", "npm --silent exec rm x", "npm --prefix y exec -- rm x", "git -C y submodule foreach 'rm x'", "git -C y config core.pager 'rm x'", "git -C y config alias.x '!rm x'", "git --no-pager bisect run rm x", "docker --context c run image rm x",
			"docker -H h container exec web rm x", "conda -v run rm x", "cargo -q run rm x", "gh -R a/b codespace ssh rm x",
		},
		run: []string{"kubectl -n web logs rm", "npm --silent run rm", "git -C y log rm", "git --no-pager log rm", "docker --context c ps", "git -C x rm y"},
	},
	"standard inputs": {
		ask: []string{
			"echo .shell rm x | sqlite3 x", "psql <<'E'\n\\! rm x\nE", "mysql <<'E'\n\\! rm x\nE", "sqlite3 :memory: <<E\n.shell rm victim\nE", "sqlite3 :memory: <<'E'\nSELECT 1;\n  .system rm x\nE", "sqlite3 x < f", "sqlite3 < f", "cat f | sqlite3 x", "cat f | sqlite3 -batch x.db", "sqlite3 x <<< '.shell rm'",
			"echo -n '.shell rm x' | sqlite3 x", "sqlite3 -separator , x < f", "sqlite3 --separator , x < f", "sqlite3 x < <(echo .shell)", "sqlite3 x <<-E\n\t.shell x\n\tE", "sqlite3 x <<E\n.\\\nshell x\nE", "sqlite3 x <<< \"$y\"", "{ sqlite3 x; } < f", "cat f | (cd y; sqlite3 x)", "while read -r x; do sqlite3 y; done < f",
			"exec < f; sqlite3 x", "f() { sqlite3 x; }; f < y", "cat f | tee >(sqlite3 x)", "cat f | timeout 5 sqlite3 x", "bash -c 'sqlite3 x' < f", "echo 'SELECT 1' | sqlite3 x < f", "sqlite3 --cmd .x y", "sqlite3 --init f x", "sqlite3 x 0< f", "cat f | eval sqlite3 x", "cat f | psql --output -c mydb", "cat f | psql --log-file -c mydb",
			"cat f | psql -- -c", "cat f | psql -qo -c x", "cat f | pgcli --prompt -c x", "cat f | mysql --prompt -e x", "cat f | mysql -BD -e", "cat f | mysql --ssl --user -e x", "psql x < f", "cat f | psql -h y -U me", "psql -U c -v -c < f", "psql <<E\nSELECT 1 \\gexec\nE", "mysql x < f", "mysql -u e -pe x < f", "echo 'system rm x' | mysql",
			"mariadb <<< 'system rm x'", "duckdb x < f", "duckdb <<< .shell", "gdb < f", "gdb -q ./x <<E\nshell rm x\nE", "lldb < f", "sftp h < f", "sftp h <<E\ncd x\n!rm x\nE", "sftp h <<< '-@!rm x'", "lftp h < f", "ftp h < f", "smbclient //h/x < f", "m4 < f", "echo sys | m4", "m4 - < f", "crontab < f", "R --no-save < f", "Rscript - < f",
			"iex < f", "cat f | racket", "deno < f", "sqlite3 x.db 'SELECT 1' < f", "psql -Atc 'SELECT 1' < f", "cat f | psql --command 'SELECT 1' db", "cat f | psql -qAt -U me -c 'SELECT 1' db", "cat f | psql --list", "cat f | mysql -BNe 'show tables'", "cat f | mysql -psecret -e 'show tables'", "cat f | mysql --execute='show tables'",
		},
		unplain: []string{"sqlite3 x.db <<E\nSELECT * from t;\n.tables\n.mode csv\n.quit\nE", "echo 'SELECT 1' | sqlite3 x.db", "cat f | while read -r x; do sqlite3 y.db .tables; done", "psql x <<E\nSELECT 1;\nE", "mysql x <<E\nSELECT 1;\nE", "sftp h <<E\nput x\nE"},
		run: []string{
			"sqlite3 x.db 'SELECT 1' | head", "sqlite3 -header -csv x.db 'SELECT 1' > f", "sqlite3 x.db", "sqlite3 x.db < /dev/null", "sqlite3 -version | head", "sqlite3 x.db '.schema t' | head", "ls | wc -l; sqlite3 x.db", "sqlite3 x.db .dump | gzip > f", "psql -c 'SELECT 1' | head",
			"psql -l | grep x", "pg_dump x | gzip > f", "mysql -e 'show tables' | head", "mysql -u me -e 'show tables' x < /dev/null", "psql -c 'SELECT 1' db",
			"gdb --args ./x", "m4 configure.m4 > f", "m4 -D x=1 a.m4 < /dev/null", "crontab -l | grep x", "crontab f", "Rscript x.R < f", "R --version", "iex -S mix", "racket x.rkt < f", "deno test | tail -3", "bun test | tail -3", "cat f | jq .", "sort < f", "python3 x.py < f",
		},
	},
	"files that the line makes": {
		denied: []string{"make -f <(rm x)", "cat <(rm x)"},
		ask: []string{
			"make -f <(echo 'a:;rm victim')", "make -f<(echo x)", "make -C y -f <(echo x)", "make -kf <(echo x)", "make --file=<(echo x)", "make --file <(echo x)", "make --makefile=<(echo x)", "make -f \"$x\"", "make -f$x", "make -f /dev/{stdin,}", "make -f *.mk", "gmake -f <(echo x)", "sudo make -f <(echo x)", "make -f -", "make -kf -",
			"make -f-", "make -f/dev/stdin", "make --fil=/dev/stdin", "make --makefile /dev/stdin", "make -f /proc/self/fd/0", "make -f //dev/stdin", "make -f - <<E\na:;rm x\nE", "make x <(echo x)", "make -I /dev/fd/3", "ninja -f <(echo x)", "ninja -f /dev/stdin", "cmake -P <(echo x)", "rake -f /dev/stdin", "just -f /dev/stdin",
			"ant -f <(echo x)", "mvn -f <(echo x)", "gradle -b/dev/stdin", "ansible-playbook /dev/stdin", "python3 /dev/stdin < f", "python3 <(echo x)", "perl /dev/fd/3", "node /dev/stdin", "ruby /proc/self/fd/0", "php /dev/stdin", "lua //dev/stdin", "tclsh /dev/./stdin", "Rscript /dev/stdin", "deno run /dev/stdin", "bun /dev/stdin",
			"go run /dev/stdin", "elixir /dev/stdin", "cat f | task -t -", "cat f | task -t-", "cat f | task --taskfile=-", "cat f | just -f -", "cat f | just -f-", "cat f | just --justfile -", "cat f | just --justfile=-", "just -f - < f", "cat f | rake -f -", "cat f | rake -sf-", "task -t - <<'E'\ntasks: x\nE", "cat f | sudo rake -f -",
			"cat f | scons -f -", "cat f | gradle -b -", "cat f | parallel", "parallel -j4 < f", "parallel -j 4 < f", "cat f | task x -- -",
		},
		unplain: []string{"diff <(ls a) <(ls b)", "comm -12 <(sort a) <(sort b)", "grep -f <(ls) x"},
		run: []string{
			"make", "make -f other.mk", "make -fother.mk", "make -f ~/x.mk", "make --file=other.mk", "make --makefile other.mk", "make -C sub -kf other.mk", "make -j8 *.o", "make OUT=/dev/null", "make --max-load 2", "ninja -f build.ninja", "cmake -P x.cmake", "rake -f x", "python3 x.py /dev/stdin", "node x.js < f", "go run . > /dev/null",
			"go test ./... 2> /dev/null", "cat f | just x", "cat f | rake -f x", "cat f | go run ./x -", "cat f | python3 x.py -", "cat f | cmake -P x.cmake", "task -t x.yml < f", "cat f | cat -", "cat f | parallel gzip", "parallel echo ::: a b",
		},
	},
	"shells that programs start": {
		ask: []string{
			"su <<E\nrm x\nE", "ssh h <<E\nrm x\nE", "echo rm x | sudo -s", "linux64 <<< 'rm x'", "cat f | su", "su - me < f", "cat f | sudo -s", "sudo -u me -i < f", "cat f | linux64", "i386 < f", "setarch -R < f", "cat f | unshare -r", "cat f | fakeroot", "chroot d < f", "ssh h < f", "cat f | ssh -p 22 -i k me@h", "cat f | sudo -iu root",
			"cat f | sudo -nu root -s", "cat f | sudo --user root -s", "cat f | sudo --us root -s", "cat f | sudo FOO=1 -s", "cat f | sudo -s FOO=1", "cat f | sudo --prompt -l -s", "cat f | sudo -p -l -s", "cat f | sudo -sp -l", "cat f | sudo -k -s", "cat f | sudo --login", "cat f | sudo -ul -s", "cat f | doas -nu root -s",
			"ssh -Tp 22 localhost < f", "ssh -To X=y localhost < f", "cat f | ssh -M -p 22 h", "cat f | autossh -M 0 h", "cat f | ssh -- h", "cat f | su -s -c me", "cat f | su --shell -c", "cat f | unshare -r --map-user 0", "cat f | unshare -S 0", "cat f | unshare -rS 0", "cat f | chroot --userspec a:b /x", "cat f | chroot -u a /x",
			"cat f | fakeroot -i f", "cat f | fakeroot -s c", "cat f | fakeroot -ui f", "cat f | setarch x86_64", "cat f | setarch i686 -R", "cat f | sudo FOO=1 tee x", "cat f | sudo -nv", "cat f | unshare -r --map-user 0 cat", "cat f | fakeroot -i f cat", "cat f | su me -c cat", "cat f | su -lc cat me", "cat f | su -c cat", "runuser -u me cat < f", "setarch -R ./a.out < f",
		},
		unplain: []string{"ssh h <<E\nls\nE"},
		run: []string{
			"ls | sudo -u root ls", "sudo -u root ls < f", "cat f | sudo -nu root tee x", "cat f | sudo --user root tee x", "cat f | sudo --user=root tee x", "sudo -k", "cat f | sudo -u root -- tee x", "cat f | ssh -p 22 host ls", "cat f | ssh -Tp 22 h ls", "cat f | ssh -To X=y h ls",
			"cat f | ssh -MS s h ls", "cat f | chroot --userspec a:b /x cat", "cat f | setarch x86_64 cat", "git log | cat", "su -c ls", "sudo -v", "echo x | sudo -S ls",
			"cat f | sudo tee x > /dev/null", "sudo cat < f", "linux64 make < f", "unshare -r ls", "cat f | ssh h cat", "tar cf - x | ssh -p 22 h 'tar xf -'", "ssh -N -L 1:h:2 h", "ssh h ls | head",
		},
	},
	"shells that more programs start": {
		denied: []string{"posh -c 'rm x'", "newgrp -c 'rm x'", "script -c 'rm x' f"},
		ask: []string{
			"newgrp g <<E\nrm x\nE", "echo rm x | oksh", "nix develop <<E\nrm x\nE", "cat f | script -q /dev/null", "cat f | script", "script -qt 0 /dev/null < f", "script -q -O -c f < f", "cat f | newgrp", "cat f | newgrp - g", "cat f | sg g", "cat f | sg - g", "cat f | nsenter -t 1", "cat f | nsenter -at 1", "cat f | nsenter --net -t 1",
			"cat f | nsenter --target 1 --net --mount", "cat f | dbus-run-session", "cat f | dbus-run-session --config-file x", "cat f | firejail", "cat f | firejail --private --join=x", "cat f | proot", "cat f | proot -r /x -b /dev", "cat f | pkexec", "cat f | pkexec --user me", "cat f | run0", "run0 -u me < f",
			"run0 --slice-inherit -u me < f", "cat f | systemd-run -S", "cat f | systemd-run -p x=y -tS", "cat f | machinectl shell", "cat f | machinectl shell me@x", "machinectl -q shell x < f", "machinectl shell --uid me x < f", "cat f | machinectl -M y shell x", "cat f | nix-shell", "cat f | nix-shell -p jq", "cat f | nix develop",
			"cat f | nix develop .#x", "cat f | nix --option x develop", "cat f | nix develop --profile -c", "cat f | nix shell nixpkgs#x", "cat f | poetry shell", "cat f | poetry -C x shell", "cat f | pipenv shell", "cat f | oksh", "cat f | posh -s", "posh < f", "ls | xargs posh", "cat f | ocaml", "ocaml -I x < f", "ocaml -e x",
			"ocaml <<E\nSys.command \"x\"\nE", "ocaml /dev/stdin", "cat f | utop", "sudo nsenter -t 1 < f", "cat f | script -qc ls /dev/null", "cat f | script -q /dev/null cat", "cat f | sg g -c cat", "cat f | sg g cat", "cat f | nsenter -t 1 -m cat", "cat f | nsenter -t 1 --net ip a", "cat f | dbus-run-session -- cat", "cat f | proot -r /x cat", "cat f | run0 tee x", "cat f | run0 -u me tee x", "cat f | systemd-run --user -P cat", "cat f | machinectl shell me@x /bin/cat", "cat f | nix-shell -p jq --run 'jq .'", "cat f | nix develop -c cat", "ocaml x.ml < f",
		},
		run: []string{
			"script -q /dev/null ls", "cat f | firejail --private cat", "cat f | pkexec tee x",
			"pkexec --version | head", "systemd-run --on-active 5 ls", "machinectl list | head", "nix develop", "nix build < f",
			"cat f | nix run .", "cat f | poetry run pytest", "poetry shell", "cat f | pipenv run cat", "ocaml -version | head", "posh x.sh", "script f", "newgrp docker",
		},
	},
	"programs in containers and on machines": {
		denied: []string{
			"distrobox ephemeral -- rm f", "distrobox-ephemeral -- rm f", "docker create image rm f", "docker --context c create image rm f", "podman unshare rm f", "podman machine ssh vm rm f", "docker sandbox run x rm f", "kubectl create job x --image=y -- rm f", "kubectl -n web create deployment x --image=y -- rm f",
			"kubectl create cronjob x --schedule='* * * * *' -- sh -c 'rm f'", "flatpak enter x rm f", "flatpak build dir rm f", "orb rm f", "orbctl run rm f", "colima ssh -- rm f", "colima nerdctl -- run x rm f", "adb shell rm f", "adb -s x shell 'rm f'", "railway ssh rm f", "fly console -C 'rm f'", "cf ssh app -c 'rm f'",
			"dokku run app rm f", "tsh ssh h rm f", "devcontainer exec --workspace-folder . rm f", "devenv shell -- rm f", "meson devenv -C x rm f", "nix --option x y shell n#x -c rm f", "nix develop --option x y -c rm f", "guix shell x -- rm f", "firebase emulators:exec 'rm f'", "aws ecs execute-command --command 'rm f'",
			"consul lock x rm f", "etcdctl watch x -- rm f", "jexec 1 rm f", "udocker run x rm f", "gh cs ssh -- rm f",
		},
		ask: []string{
			"cat f | guix shell", "cat f | guix shell coreutils", "cat f | guix environment x", "cat f | toolbox enter", "cat f | toolbox enter x", "cat f | distrobox enter x", "cat f | distrobox-enter -n x", "cat f | lxc shell x", "cat f | incus shell x", "cat f | lxc-attach -n x", "cat f | multipass shell x", "cat f | limactl shell x",
			"cat f | lima", "cat f | wsl", "cat f | colima ssh", "cat f | adb shell", "docker run -e A=$B x make", "docker run \"$x\" make", "docker run -v $PWD:/w x make", "node -e \"A=$B\"", "cat f | singularity shell x", "cat f | aws-vault exec p", "cat f | mise en", "cat f | chezmoi cd", "cat f | flatpak run --command=sh app",
			"docker build - < f", "docker build -f - . < f", "cat f | docker compose -f - up", "cat f | podman play kube -", "cat f | bundle console", "cat f | rails c", "qsub < f", "sbatch < f", "cat f | guix shell coreutils -- cat", "cat f | distrobox enter x -- cat", "cat f | lxc-attach -n x -- cat", "cat f | aws-vault exec p -- cat",
		},
		unplain: []string{"docker run -v \"$(pwd):/w\" x make", "docker run -v $(pwd):/w x make"},
		run: []string{
			"cat f | limactl shell x cat", "cat f | adb shell cat", "docker build -t x . < /dev/null", "docker compose -f a.yml up", "docker run -v \"$PWD\":/w x make",
			"docker run -e A=\"$B\" --env \"C=$D\" x make", "cat f | docker run -i x", "adb install rm", "aws s3 rm s3://x/y", "aws ecs list-clusters", "kubectl apply -f -", "flatpak list", "docker compose up", "guix build rm", "nix build rm",
		},
	},
	"programs that are in no table": {
		denied: []string{
			"teller run -- rm f", "foo -- rm f", "foo x -- /bin/rm f", "foo -- sh -c 'rm f'", "foo -- env rm f", "./foo.sh -- rm", "foo --exec rm f", "foo --exec='rm f' x", "foo --exec=rm x", "foo --command 'rm f'", "foo --run=5 -- rm f", "foo -c 'rm f'", "foo -c 'x && rm f'", "yt-dlp --exec 'rm f' x", "foo -- bar -- rm f", "sudo foo -- rm f",
			"ls | foo -- rm",
		},
		ask: []string{"bash <<'E'\npsql -c '\\g |rm f'\nE", "cat f | foo -- sh", "foo -- python -c x", "foo -- find . -exec {} ';'", "foo -c '$x'"},
		run: []string{"foo rm", "foo -c rm", "foo -- tests/rm", "foo -- ./rm.txt", "./test.sh -- -k rm", "tox -e py -- tests/rm", "foo -- \"$x\"", "foo -m 'rm f'", "foo --execute", "foo --", "foo --command", "foo -c 'print x'"},
	},
	"more programs that run their arguments": {
		denied: []string{
			"fd -x rm", "fd -Hx rm", "fd . -X rm {}", "fd --exec=rm x", "fdfind -x sh -c 'rm {}'", "cargo watch -s 'rm f'", "yarn workspace x exec rm f", "yarn workspaces foreach -A exec rm f", "npm config set script-shell rm", "npm pkg set scripts.x='rm f'", "chezmoi cd -- rm f", "coreutils --coreutils-prog=rm f", "ld.so /bin/rm f",
			"/lib64/ld-linux-x86-64.so.2 /bin/rm f", "ld-linux.so.2 rm f", "/lib/ld-musl-x86_64.so.1 /bin/rm f", "osh -c 'rm f'", "pdksh -c 'rm f'", "nushell -c 'rm f'", "hush -c 'rm f'", "cabal v2-exec rm f", "rtx exec -- rm f", "nodenv exec rm f", "n exec 20 rm f", "pueue add 'rm f'", "run-one rm f", "torchrun rm f", "nsys profile rm f",
			"stap -c 'rm f' x", "dtrace -c 'rm f' x", "gpg-agent --daemon rm f", "gpg-connect-agent '!rm f' /bye", "msgexec -i x rm f", "systemd-notify --exec ';' rm f", "swaymsg exec 'rm f'", "hg bisect -c 'rm f'", "svn diff --diff-cmd rm", "svn --editor-cmd='rm f' commit", "ctest --test-command rm f", "dvc run -n x 'rm f'",
			"snakemake --cluster 'rm f'", "tox -x testenv.commands='rm f'", "vifm -c '!rm f'", "git hook run x -- rm", "kitten @ launch rm f", "ghostty -e rm f", "busybox hush -c 'rm f'",
		},
		ask: []string{
			"python $x", "python \"$x\" x.py", "python -W $x x.py", "bash $x", "bash -$x y", "bash ~/$x", "source $x", "node -e x y.js", "sh -c 'x(' y", "env sh -c 'x('", "ls | xargs sh -c 'x('", "make -j$(x)", "make X!=rm", "make .X!=./x", "make -j$x", "psql -c \"$x\"", "docker exec db psql -c \"$x\"",
			"just --shell-arg x", "python -m IPython -c x", "fd -x {}", "fd -x sh {}", "fd -X sh", "xargs -I{} sudo sh -ec {}", "uv run -", "echo x | uv run --with y -", "cat f | bun run -", "bun repl", "cat f | osh", "cat f | hush", "cat f | pdksh", "cat f | busybox hush", "cargo rustc -- -C linker=x", "RUSTFLAGS='-C linker=x' cargo build",
			"GOFLAGS=-toolexec=x go build", "GOFLAGS=\"$x\" go build", "FZF_DEFAULT_OPTS='--preview x' fzf", "npm edit x --editor=y", "rust-script -e x", "cargo eval x", "rake -e x", "cmake --build . -- SHELL=x", "latexmk -e x", "latexmk -pdflatex=x y", "rails runner x", "mix run -e x", "mix eval x", "chezmoi execute-template x", "nvim -l f",
			"ranger --cmd x", "mutt -e x", "lf -command x", "sk --cmd x", "yt-dlp --downloader x y", "tmux confirm-before x", "tmux -C < f", "cat f | dtach -p x", "zellij action write 10", "svn --config-option=x co y", "pry -e x", "swift -e x", "cat f | swift", "scala-cli -e x", "jbang -c x", "blender --python-expr x",
			"gsplit --filter 'rm $FILE' x", "kak -e 'nop %sh{rm f}'", "mycli -e 'system rm f'", "usql -c '\\! rm f'", "litecli -e '\\! x'", "sqlplus x @f", "guestfish <<E\n!x\nE", "psql -c '\\echo `x`'", "cat f | sudo -k", "cat f | sudo -K", "cat f | sudo -nk",
		},
		unplain: []string{"for f in *.py; do python3 check.py \"$f\"; done", "make -j$(nproc)", "make -j \"$(nproc)\" test", "timeout 60 bash -c 'until curl x; do sleep 1; done'", "GOFLAGS=-mod=mod go build", "RUSTFLAGS='-D warnings' cargo build"},
		run: []string{
			"node x.js \"$x\"", "bash -e x.sh $x", "perl -I lib x.pl $x", "source ~/.bashrc", "docker exec db psql -c 'select count(*) from t'", "timeout 5 sqlite3 x 'select (1'", "npx jest -t 'should (work)'", "ls | xargs grep 'foo('", "fd rm", "fd -HI rm", "fd -e go -x wc -l", "uv run python x.py", "env python x.py", "sudo node x.js",
			"timeout 5 bash x.sh", "uv run --with x pytest -", "bun run x -", "cargo watch -x test", "rake test", "cmake --build build --target test", "latexmk -pdf x", "latexmk -xelatex x", "mix run x.exs", "tmux capture-pane -p", "hg log rm", "npm pkg get version", "swift build < f", "xargs -I{} bash x.sh --file {}",
			"find . -exec php -l {} ';'", "find . -exec bash -n {} ';'", "sqlite3 x.db 'select 1'", "sqlite3 x.db 'select a from (rm)'", "psql -c 'select 1'", "psql -h h -U me db -c '\\d'", "psql -c '\\dt+'", "psql -c 'drop table rm'", "mysql -e 'select 1 from rm'",
		},
	},
	"numbers and tests": {
		denied: []string{"[[ -f $(rm x) ]]", "((a[$(rm x)]))"},
		ask: []string{
			"[[ -v 'a[$(rm x)]' ]]", "[[ 'a[$(rm x)]' -eq 1 ]]", "x='a[$(rm y)]'; echo $((x))", "x='a[$(rm y)]'; echo ${b:x}", "x='a[$(rm y)]'; echo ${b:0:x}", "x='a[$(rm y)]'; echo ${b[x]}", "echo $((x))", "x=$((x+1)); echo $x", "[[ $x -gt 1 ]] && echo $y", "[[ -v $x ]] && echo $y", "[[ a -eq $x ]] && echo $y",
			"[[ ! ( -n a && $x -ne 2 ) ]] || echo $y", "echo $(($1))", "echo $((${x}))", "[[ $(<1) -eq 1 ]] && echo $y", "[[ 1 -lt $(./1) ]] && echo $y",
		},
		unplain: []string{"echo $((1+2))", "echo ${x:0:3} ${x: -1} ${a[0]} ${a[@]} ${#a[@]}", "x=$((3 * (1+2) % 5)); echo \"$x\"", "for f in *.go; do [[ -f \"$f\" ]] && wc -l \"$f\"; done", "[[ $x == y* && -n $z ]] && echo $y", "[[ $? -eq 0 ]] && echo $y", "[[ $# -gt 1 ]] || echo $y", "[[ -z $x ]] || cat \"$x\"", "[[ $x =~ ^a ]] && echo $x"},
	},
	"numbers from elsewhere": {
		ask: []string{
			"printf -v x 'a[\\44(rm y)]'; (( x ))", "x=1; printf -v x 'a[\\44(rm y)]'; (( x ))", "x=1; printf -vx 'a[\\44(rm y)]'; (( x ))", "for x in \"a[\\$(rm y)]\"; do (( x )); done", "for x in 1 'a[$(rm y)]'; do (( x )); done", "RANDOM='a[$(rm y)]'", "a=(1 \"b[\\$(rm y)]\"); (( a[1] ))", "a+=(\"b[\\$(rm y)]\"); (( a[1] ))",
			"x=a; y='b[$(rm z)]'; (( x ))", "\\let 'x=a[$(rm y)]'", "x='a[$(rm y)]'; \\let x", "x='a[$(rm y)]'; \\declare -i y=x", "x='a[$(rm y)]'; declare -i y=x", "x='a[$(rm y)]'; declare -i y; y=x", "x='a[$(rm y)]'; declare b[x]=1", "read x < f; (( x > 1 ))", "read x < f && (( x > 1 ))", "while read -r n; do (( n > 1 )); done < f",
			"read -ra a < f; (( a[0] ))", "read x < f; [[ x -eq 1 ]]", "read x < f; [[ 1 -lt x ]]", "read x < f; ls $((x))", "read x < f; let x", "read x < f; let \"y = x\"", "read x < f; b[x]=1", "read x < f; b=([x]=1)", "read x < f; : ${b[x]}", "read x < f; : ${b:x}", "read x < f; for ((i=x;i<3;i++)); do :; done",
			"read x < f; for ((i=0;i<x;i++)); do ls; done", "declare -i x; read x < f", "local -i x; read x < f", "x=1; read x < f; (( x ))", "x=1; builtin read x < f; (( x ))", "x=1; command read x < f; (( x ))", "x=1; eval 'read x < f'; (( x ))", "x=1; n=x; read $n < f; (( x ))", "x=1; read -p y x < f; (( x ))", "x=1; read -ax < f; (( x ))",
			"mapfile x < f; (( x ))", "x=1; mapfile -t x < f; (( x ))", "x=1; readarray x < f; (( x ))", "MAPFILE=1; mapfile < f; (( MAPFILE ))", "REPLY=1; read < f; (( REPLY ))", "x=1; getopts a: x \"$@\"; (( x ))", "OPTARG=1; getopts a: x; (( OPTARG ))", "for x in $(cat f); do (( x )); done", "for x in *; do (( x )); done",
			"for x; do (( x )); done", "x=$(<f); (( x ))", "x=$(cat f); (( x ))", "x='a[$(r'; x+='m y)]'; (( x ))", "x='a[$(r'; y='m z)]'; (( $x$y ))", "x=1; y=2; a12=1; (( a$x$y ))", "a=1; x=1; read a1 < f; (( a$x ))", "set -- \"$(cat f)\"; (( $1 ))", "(( $1 ))", "(( x > 1 ))", "[[ -v a[x] ]]", "read x < f; [[ -v a[x] ]]",
			"read x < f; unset 'a[x]'", "read x < f; test -v 'a[x]'", "read x < f; [ -v \"$x\" ]", "unset \"$x\"", "read x < f; echo ${!x}", "read x < f; y=${!x}", "declare -n r=a; read a < f", "read RANDOM < f", "read OPTIND < f", "OPTIND=$(cat f)", "x=1; : ${x:=$(cat f)}; (( x ))", ": ${x:=$(cat f)}; (( x ))",
			"x=1; select x in $(cat f); do (( x )); done", "REPLY=1; select x in 1 2; do (( REPLY )); done", "[[ $(cat f) =~ (.*) ]] && (( BASH_REMATCH[1] ))", "x=1; wait -p x; (( x ))", "x=1; f() { local x; read x; (( x )); }; f < y", "read x < f; bash -c \"(( $x ))\"", "export x=1; bash -c 'read x < f; (( x ))'",
			"x=1; while read -r a b x; do (( x )); done < f",
		},
		unplain: []string{
			"for ((i=0;i<3;i++)); do echo hi; done", "i=0; while (( i < 3 )); do ls; ((i++)); done", "i=0; while (( i < 3 )); do echo \"$i\"; ((i++)); done", "for i in 1 2 3; do (( i % 2 )) && ls; done", "for i in {1..5}; do echo $((i * 2)); done", "n=3; for ((i=0;i<n;i++)); do curl -s x; done", "(( $# > 1 )) || ls", "n=$#; (( n > 1 ))",
			"a=(1 2 3); (( ${#a[@]} > 2 )) && ls", "[[ -v HOME ]] && ls", "(( RANDOM % 2 )) && ls", "declare -i n=0; n=5; ls", "while read -r f; do wc -l \"$f\"; done < list", "while IFS= read -r l; do echo \"${l:0:10}\"; done < f", "x=5; x=$((x-1)); (( x > 3 ))", "SECONDS=0; make; echo \"$SECONDS\"",
			"OPTIND=1; while getopts ab: o; do case $o in a) ls;; esac; done", "echo \"${!m[@]}\"", "mapfile -t lines < f; echo \"${#lines[@]} ${lines[0]}\"", "local x=1", "until (( $? == 0 )); do sleep 1; done", "retry=0; until curl -sf x; do (( ++retry >= 5 )) && break; sleep 1; done",
			"retry=0; until curl -sf x; do retry=$((retry+1)); [ $retry -ge 5 ] && break; sleep 1; done", ": ${x:=3}; (( x ))",
		},
		run: []string{"read -r x < f; echo \"$x\"", "unset x y", "unset 'a[0]'", "printf -v x %s y; echo \"$x\"", "printf '%s\\n' \"$x\" | sort", "[ \"$x\" -gt 1 ] && ls", "test -f x && ls"},
	},
	"shells and languages that few programs start": {
		denied: []string{"capsh -- -c 'rm x'", "bash-static -c 'rm x'", "buildah run c rm x", "runc exec c rm x", "ls | rush 'rm {}'", "pfsh -c 'rm x'"},
		ask: []string{
			"capsh -- <<< 'rm x'", "capsh --print -- <<E\nrm x\nE", "cat f | capsh --", "capsh -- < f", "cat f | capsh --print --", "capsh --user=me -- -s < f", "cat f | capsh == --", "cat f | systemd-nspawn -D d", "cat f | systemd-nspawn -D d -u me", "cat f | arch-chroot d", "cat f | schroot -c x", "cat f | distrobox ephemeral",
			"cat f | docker attach x", "kubectl attach -i x < f", "cat f | kubectl debug -it node/x --image y", "cat f | orb", "cat f | toolbox", "cat f | devbox shell", "cat f | enroot start x", "cat f | apptainer run x", "cat f | salloc", "cat f | lxc-usernsexec", "cat f | buildah unshare", "cat f | podman unshare", "cat f | login -f me",
			"cat f | sudo-rs -s", "cat f | rsh h", "cat f | jexec 1", "cat f | bash-static", "cat f | zsh-static", "cat f | gosh", "cat f | pfbash", "cat f | micropython", "cat f | qjs", "cat f | gjs", "cat f | luau", "cat f | jimsh", "cat f | csi", "cat f | ecl", "cat f | gforth", "cat f | gp -q", "cat f | cling", "cat f | erl",
			"erl <<< 'os:cmd(x).'", "cat f | mongosh", "cat f | tcc -run -", "cat f | stap -", "cat f | lilypond -", "cat f | nvim --embed", "cat f | mplayer -slave x", "cat f | watchman -j", "cat f | kak -p s", "cat f | gpg-connect-agent", "cat f | rizin -", "cat f | beeline", "sqlcmd <<< '!!x'", "cat f | cockroach sql", "cat f | ncftp h",
			"telnet <<E\n! x\nE", "cat f | rush", "cat f | busybox.static sh", "cat f | crun exec x sh", "cat f | capsh -- -c cat", "cat f | capsh -- -c 'wc -l'", "cat f | systemd-nspawn -D d cat", "cat f | arch-chroot d cat", "cat f | schroot -c x -- cat", "cat f | distrobox ephemeral -- cat", "cat f | devbox shell -- cat", "cat f | salloc -N 1 cat", "erl -noshell -sname x < f", "mongosh x.js < f",
		},
		run: []string{
			"capsh --", "capsh --print", "capsh -- -c ls", "systemd-nspawn -D d ls", "kubectl attach x", "docker run -i x < f", "cat f | toolbox run cat",
			"cat f | sudo-rs tee x", "cat f | rsh h cat", "qjs x.js < f", "beeline -e 'select 1' | head", "telnet h 80 < /dev/null", "watchman watch .", "kak x", "lilypond x.ly", "stap x.stp < f", "ls | rush gzip", "buildah run c make",
		},
	},
	"comments that end in a backslash": {
		ask: []string{"ls # x\\\nrm y", "ls #'\\\nrm y", "# x\\\nrm y", "ls; # x\\\nrm y", "(ls) # x\\\nrm y", "ls |# x\\\nrm y", "ls # x\\\\\nrm y", "bash -c 'ls # x\\\nrm y'"},
		run: []string{"ls # x\nwc y", "curl x#y \\\n  -o z", "sed 's#a#b#' \\\n f", "ls ${#x} \\\n y"},
	},
	"quotes in double quotes": {
		denied: []string{"echo `# `; rm y; `\n`"},
		ask: []string{
			`echo "${x:-'$(rm y)'}"`, "echo \"${x:-'`rm y`'}\"", `echo "${x-'$(rm y)'}"`, `echo "${x:='$(rm y)'}"`, `y=1; echo "${y:+'$(rm y)'}"`, `echo "${x:-$'$(rm y)'}"`, `echo "${x:-${y:-'$(rm y)'}}"`, "echo `echo '`; rm y; `'`", "cat <<< `echo '`echo $(rm y)`'`", "echo `echo \"`; rm y; `\"`", "cat <<E\n${x:-'$(rm y)'}\nE",
			`echo "${x:-'$(r'm' y)'}"`, `echo "${x:-a'b$(rm y)c'd}"`, `x="${x:-'$(rm y)'}"`, `ls "${x:-"${y:-'$(rm y)'}"}"`,
		},
		unplain: []string{"echo `ls \\`pwd\\``", "echo `echo '\\`'`", "echo \"`ls 'a b'`\"", `echo "${x:-'a b'}"`, `echo ${x:-'$y'}`, `echo "${x#'$'}"`, "cat <<'E'\n${x:-'$(rm y)'}\nE"},
		run:     []string{`echo '${x:-$(rm y)}'`},
	},
	"escapes that shells read each in their way": {
		denied: []string{`$'\x72m' y`, `$'\162\u006d' y`, `$'r\x6d' y`},
		ask:    []string{`$'\x{72}m' y`, `$'rm\0x' y`, `$'rm\x{' y`, `eval $'ls\cjrm x'`},
		run:    []string{`echo $'a\tb\n'`, `ls $'\x{72}m'`, `echo $'\cj'`, `grep $'\\\\c' f`, `$'\x6cs' f`},
	},
	"tests of what is not quoted": {
		ask:     []string{"read x < f; [ $x = 1 ]", "read x < f; test $x = 1", "[ $(<f) = 1 ]", "[ `cat f` = 1 ]", "[ a$x = 1 ]", "[ \"a\"$x = 1 ]", `[ \"$x\" = 1 ]`, "[ ${x%y} = 1 ]", "read x < f; command test $x"},
		unplain: []string{"n=3; [ $n -gt 1 ] && ls", "[[ $x = 1 ]] && ls", "i=0; while [ $i -lt 3 ]; do ls; i=$((i+1)); done"},
		run:     []string{"[ \"$x\" = 1 ]", "[ \"a$x\" != \"$y\" ]", "[ $? -eq 0 ]", "[ $# -gt 1 ] && ls", "[ ${#x} -gt 1 ]", "[ '$x' = y ]"},
	},
	"values that programs run": {
		denied: []string{"restic --password-command 'rm x' ls", "restic --password-command='rm x' ls", "borg --rsh 'rm x' list", "unison -sshcmd rm a b", "fossil --editor rm commit", "gitk --argscmd='rm x'", "virt-sysprep --run-command 'rm x'", "dnsmasq --dhcp-script=rm"},
		ask: []string{
			"original-awk 'BEGIN{system(\"rm x\")}'", "goawk 'BEGIN{system(\"rm x\")}'", "for PS4 in '$(./x)'; do set -x; ls; done", ": ${PS4:='$(./x)'}; set -x; ls", "mapfile -t PS4 < f; set -x; ls", "getopts a: PS4; set -x", "select PS4 in x; do set -x; done", "for BASH_ENV; do bash x; done", "ssed '1e rm x' f",
			"rename 'BEGIN{system(\"rm y\")}' f", "prename 's/x/`rm y`/e' f", "exiftool -if 'system(\"rm x\")' f", "exiftool -p '${filename;system(\"rm x\")}' f", "sox '|rm x' -n", "rclone --password-command 'rm x' ls", "mpv --input-commands='run rm x' f", "puppet apply -e \"exec{'/bin/rm x':}\"", "mysqlsh --py -e 'import os'",
			"cat f | mysqlsh", "sqlcipher x '.shell rm y'", "rustc -Clinker=./x x.rs", "ocamlc -pp 'rm x' a.ml", "nvcc -ccbin rm x.cu", "xelatex -output-driver='rm x' a", "dvips -o '!rm x' a", "tshark -X lua_script:x.lua",
		},
		unplain: []string{"for x in a b; do ls \"$x\"; done"},
		run: []string{
			"foo --dry-run rm", "foo --script x.sh rm", "foo --rsh ssh a b", "foo -m 'rm x'", "goawk '{print $1}' f", "ssed -n 5p f", "rename .txt .md *.txt", "rename foo bar f", "exiftool -Title f", "exiftool -p '${filename}' f", "sox a.wav b.mp3", "dvips -o x.ps x", "sqlcipher x 'select 1'", "rustc -O x.rs", "ocamlc -I x a.ml",
			"puppet apply x.pp",
		},
	},
	"programs with digits at the end": {
		denied: []string{"run0 rm x", "run0 -u me rm x", "/usr/bin/run0 rm x", "c8 rm x", "pm2 start rm", "RUN0.exe rm x"},
		run:    []string{"run0 ls", "pm2 start server.js", "run rm"},
	},
}

// denyPushTests holds lines under a rule that denies git push: those that ask and those that run.
var denyPushTests = struct{ ask, unplain, run []string }{
	ask: []string{
		"echo push | xargs git", "echo push | xargs -I{} git {}", "echo push | xargs -0I{} git {}", "echo push | xargs -rI {} git {} x", "echo push | xargs -i git {}", "echo push | xargs --replace git {}", "echo push | xargs --repl=% git %", "echo push | xargs -I% git -C x %", "echo push | xargs -I{} git -c color.ui=never {}",
		"echo push | xargs -I{} git --no-pager {} x", "echo push | xargs -I{} git --git-dir={} {}", "x=push; git $x", "git \"$x\" y", "git p{u,}sh", "git {push,}", "git ???h", "git $(echo push)", "git `cat f`", "sh -c 'git $1' x push", "/usr/bin/git -C x $y", "git -C \"$x\" $y", "git --no-pager $x", `git $'pu\x{73}h'`, "git p$x",
		"git ${x}h", "sudo git $x", "git $x log", "echo push | xargs git -C x", "echo push | xargs git --no-pager", "echo push | xargs sudo git", "echo push | xargs -I{} sudo git {}", "echo push | xargs -I{} sudo -u mail git {}", "echo push | xargs -n 1 git", "echo push | xargs --max-args 1 git", "echo push | xargs -rn 1 git",
		"echo push | xargs -P2 -d , git", "echo push | parallel --jobs 2 git {}", "find push -exec git {} ';'", "echo merge | xargs -I{} gh pr {}", "echo exec | xargs kubectl -n web", "ls | xargs -0n 1 sh", "git \"${x}g\"", "ls | parallel git -C {} pull",
	},
	unplain: []string{"for f in *; do git add \"$f\"; done"},
	run: []string{
		"git log $x", "git commit -m \"$x\"", "git -C \"$x\" log", "git --git-dir=$x log", "git -C $x status", "git add *", "git diff \"$x\"", "git l$x", "git -c user.name=\"x\" log", "ls | xargs -I{} git -C {} pull", "ls | xargs -I{} git -C {} status", "ls | xargs -I{} git --git-dir={} log",
		"ls | xargs -I{} git --git-dir {} --work-tree x status", "git branch | xargs git branch -d", "git branch | xargs -I{} git branch -d {}", "ls | xargs -0 git add", "cat tags | xargs -n1 git tag", "cat tags | xargs -I{} git tag {}", "find . -name .git -execdir git -C {} gc ';'", "ls | xargs -P4 -I{} docker pull {}", "ls | xargs -I{} kubectl -n {} get pods", "ls | xargs -I{} terraform -chdir={} plan",
		"ls | xargs -I{} npm run {}", "ls | xargs -I{} sudo chown git {}", "ls | xargs sudo chown git", "ls | xargs -I{} gh pr view {}", "ls | xargs -n 1 gzip", "ls | xargs -rn1 basename", "ls | xargs -0I{} cp {} dst", "ls | parallel --jobs 4 gzip", "ls | xargs -I{} go -C {} build",
	},
}

func TestDenyGitPush(t *testing.T) {
	rs := Rules{{Effect: Allow, Tool: "shell"}, parseTestRule(t, Deny, "shell:git push *")}
	for want, lines := range map[Effect][]string{Ask: append(denyPushTests.unplain, denyPushTests.ask...), Allow: denyPushTests.run} {
		for _, line := range lines {
			if got, _, _ := rs.Decide(shellCall(line)); got != want {
				t.Errorf("%q: got %s, want %s", line, got, want)
			}
		}
	}
}

// An option that is denied may be the value of a word.
func TestDenyOptions(t *testing.T) {
	rs := Rules{{Effect: Allow, Tool: "shell"}, parseTestRule(t, Deny, "shell:rm -rf *")}
	for want, lines := range map[Effect][]string{
		Deny:  {"rm -rf x", "rm -r -f x", "rm x -fr"},
		Ask:   {"rm $x y", "rm \"$x\" y", "rm -$x y", "rm -r $x", "rm {-rf,y}", "rm -r`cat f` y", "rm *", "rm build/$x", "rm \"$@\""},
		Allow: {"rm x", "rm -r x", "rm \"build/$x\"", "rm *.o", "rm ~/x", "ls $x"},
	} {
		for _, line := range lines {
			if got, _, _ := rs.Decide(shellCall(line)); got != want {
				t.Errorf("%q: got %s, want %s", line, got, want)
			}
		}
	}
}

func TestDenyRm(t *testing.T) {
	rs := Rules{{Effect: Allow, Tool: "shell"}, parseTestRule(t, Deny, "shell:rm")}
	for kind, test := range denyRmTests {
		for want, lines := range map[Effect][]string{Deny: test.denied, Ask: append(test.unplain, test.ask...), Allow: test.run} {
			for _, line := range lines {
				if got, _, _ := rs.Decide(shellCall(line)); got != want {
					t.Errorf("%s: %q: got %s, want %s", kind, line, got, want)
				}
				hidden, call := want, shellCall(line)
				if call.Hides = func(program string) bool { return program == "rm" }; want == Ask {
					hidden = Allow // the sandbox hides the program
				}
				if got, _, _ := rs.Decide(call); got != hidden {
					t.Errorf("%s: %q in a sandbox: got %s, want %s", kind, line, got, hidden)
				}
			}
		}
	}
}

// A command that is denied, or asks, does so as well in another line that runs it; in a line
// that is not plain, it asks at least.
func TestDenyHoldsInOtherLines(t *testing.T) {
	rules := Rules{{Effect: Allow, Tool: "shell"}, parseTestRule(t, Deny, "shell:rm")}
	rank := map[Effect]int{Allow: 0, Ask: 1, Deny: 2}
	for _, group := range denyRmTests {
		for _, line := range append(append([]string(nil), group.denied...), group.ask...) {
			quoted, err := syntax.Quote(line, syntax.LangBash)
			if err != nil {
				t.Fatal(err)
			}
			alone, _, _ := rules.Decide(shellCall(line))
			for _, other := range []string{
				"ls; " + line, "ls\n" + line, "ls && " + line + "\nls", "(" + line + "\n)", "x=$(" + line + "\n)", "if ls; then " + line + "\nfi", "f() { " + line + "\n}; f",
				"sh -c " + quoted, "eval " + quoted, "sudo sh -c " + quoted, "foo -- sh -c " + quoted, "ssh h " + quoted, "find . -exec sh -c " + quoted + " ';'", "bash <<'EOF1'\n" + line + "\nEOF1\n",
			} {
				least := rank[alone]
				if strings.Contains(other, "EOF1") || strings.Contains(other, "(((") {
					least = rank[Ask]
				}
				if effect, _, _ := rules.Decide(shellCall(other)); rank[effect] < least {
					t.Errorf("%q: %s; alone: %s", other, effect, alone)
				}
			}
		}
	}
}

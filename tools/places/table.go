package places

// An entry is one row of the table.
type entry struct {
	path string // relative, with slashes
	home bool   // matched only directly in a home directory, because the name is ordinary elsewhere
	Place

	parts []string // of path, folded
}

var (
	sshKeys   = Place{Credentials, "contains SSH keys"}
	cloud     = Place{Credentials, "contains cloud credentials"}
	password  = Place{Credentials, "contains passwords"}
	token     = Place{Credentials, "contains access tokens"}
	pgp       = Place{Credentials, "contains PGP keys"}
	keyring   = Place{Credentials, "contains a keyring"}
	browser   = Place{Credentials, "contains browser passwords and cookies"}
	agent     = Place{Credentials, "contains the login of another assistant"}
	ownConfig = Place{Credentials, "contains parley's settings and keys"}
	shell     = Place{Startup, "runs whenever a shell starts"}
	login     = Place{Startup, "starts programs at login"}
	gitRuns   = Place{Startup, "names programs that git runs"}
	service   = Place{Startup, "starts programs as services"}
)

// entries are the places of a user, including the content of directories.
var entries = []entry{
	{path: ".ssh", Place: sshKeys},
	{path: ".gnupg", Place: pgp}, {path: "AppData/Roaming/gnupg", Place: pgp},
	{path: ".aws", Place: cloud}, {path: ".azure", Place: cloud}, {path: ".oci", Place: cloud},
	{path: ".config/gcloud", Place: cloud}, {path: ".config/doctl", Place: cloud}, {path: ".config/hcloud", Place: cloud},
	{path: ".boto", Place: cloud}, {path: ".s3cfg", Place: cloud}, {path: ".config/rclone", Place: cloud},
	{path: ".kube", Place: cloud}, {path: ".docker/config.json", Place: token}, {path: ".config/containers/auth.json", Place: token},
	{path: ".terraform.d/credentials.tfrc.json", Place: token}, {path: ".terraformrc", home: true, Place: token}, {path: ".vault-token", Place: token},
	{path: ".netrc", Place: password}, {path: "_netrc", Place: password}, {path: ".authinfo", Place: password}, {path: ".authinfo.gpg", Place: password},
	{path: ".password-store", Place: password}, {path: ".config/op", Place: password}, {path: ".config/Bitwarden CLI", Place: password},
	{path: ".pgpass", Place: password}, {path: ".my.cnf", Place: password}, {path: ".mylogin.cnf", Place: password},
	{path: ".git-credentials", Place: token}, {path: ".config/git/credentials", Place: token},
	{path: ".config/gh", Place: token}, {path: ".config/hub", Place: token}, {path: ".config/glab-cli", Place: token},
	{path: ".npmrc", home: true, Place: token}, {path: ".yarnrc", home: true, Place: token}, {path: ".yarnrc.yml", home: true, Place: token},
	{path: ".pypirc", Place: token}, {path: ".config/pypoetry/auth.toml", Place: token},
	{path: ".cargo/credentials", Place: token}, {path: ".cargo/credentials.toml", Place: token}, {path: ".gem/credentials", Place: token},
	{path: ".m2/settings.xml", Place: password}, {path: ".m2/settings-security.xml", Place: password}, {path: ".gradle/gradle.properties", home: true, Place: password},
	{path: ".nuget/NuGet/NuGet.Config", Place: token}, {path: ".composer/auth.json", Place: token}, {path: ".config/composer/auth.json", Place: token},
	{path: ".huggingface", Place: token}, {path: ".cache/huggingface/token", Place: token}, {path: ".kaggle", Place: token},
	{path: ".local/share/keyrings", Place: keyring}, {path: ".local/share/kwalletd", Place: keyring}, {path: ".gnome2/keyrings", Place: keyring},
	{path: ".config/kwalletrc", Place: keyring}, {path: "Library/Keychains", home: true, Place: keyring}, {path: "AppData/Roaming/Microsoft/Credentials", Place: keyring},
	{path: "AppData/Local/Microsoft/Credentials", Place: keyring}, {path: ".config/keepassxc", Place: keyring},

	{path: ".mozilla", Place: browser}, {path: ".librewolf", Place: browser}, {path: ".thunderbird", Place: browser}, {path: ".waterfox", Place: browser},
	{path: ".config/mozilla", Place: browser}, {path: ".config/google-chrome", Place: browser}, {path: ".config/google-chrome-beta", Place: browser},
	{path: ".config/chromium", Place: browser}, {path: ".config/BraveSoftware", Place: browser}, {path: ".config/microsoft-edge", Place: browser},
	{path: ".config/vivaldi", Place: browser}, {path: ".config/opera", Place: browser}, {path: ".var/app/org.mozilla.firefox", Place: browser},
	{path: ".var/app/com.google.Chrome", Place: browser}, {path: ".var/app/org.chromium.Chromium", Place: browser},
	{path: "snap/firefox", home: true, Place: browser}, {path: "snap/chromium", home: true, Place: browser},
	{path: "Library/Application Support/Google/Chrome", home: true, Place: browser}, {path: "Library/Application Support/Chromium", home: true, Place: browser},
	{path: "Library/Application Support/Firefox", home: true, Place: browser}, {path: "Library/Application Support/BraveSoftware", home: true, Place: browser},
	{path: "Library/Application Support/Microsoft Edge", home: true, Place: browser}, {path: "Library/Application Support/Arc", home: true, Place: browser},
	{path: "Library/Safari", home: true, Place: browser}, {path: "Library/Cookies", home: true, Place: browser},
	{path: "AppData/Roaming/Mozilla", home: true, Place: browser}, {path: "AppData/Local/Google/Chrome", home: true, Place: browser},
	{path: "AppData/Local/Microsoft/Edge", home: true, Place: browser}, {path: "AppData/Local/BraveSoftware", home: true, Place: browser},

	{path: ".config/parley", Place: ownConfig}, {path: ".local/state/parley", Place: ownConfig}, {path: ".local/share/parley", Place: ownConfig},
	{path: "Library/Application Support/parley", home: true, Place: ownConfig}, {path: "AppData/Roaming/parley", home: true, Place: ownConfig},
	{path: "AppData/Local/parley/data", home: true, Place: ownConfig}, {path: "AppData/Local/parley/state", home: true, Place: ownConfig},
	{path: ".claude/.credentials.json", Place: agent}, {path: ".claude.json", home: true, Place: agent}, {path: ".codex/auth.json", Place: agent},
	{path: ".gemini/oauth_creds.json", Place: agent}, {path: ".local/share/opencode/auth.json", Place: agent}, {path: ".local/share/crush", Place: agent},
	{path: ".config/github-copilot", Place: agent},

	{path: ".bashrc", Place: shell}, {path: ".bash_profile", Place: shell}, {path: ".bash_login", Place: shell}, {path: ".bash_logout", Place: shell},
	{path: ".bash_aliases", Place: shell}, {path: ".zshrc", Place: shell}, {path: ".zshenv", Place: shell}, {path: ".zprofile", Place: shell},
	{path: ".zlogin", Place: shell}, {path: ".zlogout", Place: shell}, {path: ".kshrc", Place: shell}, {path: ".mkshrc", Place: shell},
	{path: ".cshrc", Place: shell}, {path: ".tcshrc", Place: shell}, {path: ".profile", home: true, Place: shell}, {path: ".login", home: true, Place: shell},
	{path: ".logout", home: true, Place: shell}, {path: ".config/fish", Place: shell}, {path: ".config/nushell", Place: shell},
	{path: ".config/powershell", Place: shell}, {path: "Documents/PowerShell", home: true, Place: shell}, {path: "Documents/WindowsPowerShell", home: true, Place: shell},

	{path: ".xprofile", Place: login}, {path: ".xinitrc", Place: login}, {path: ".xsession", Place: login}, {path: ".xsessionrc", Place: login},
	{path: ".xserverrc", Place: login}, {path: ".pam_environment", Place: login}, {path: ".config/autostart", Place: login},
	{path: ".config/autostart-scripts", Place: login}, {path: ".config/plasma-workspace", Place: login}, {path: ".config/environment.d", Place: login},
	{path: ".config/lxsession", Place: login}, {path: ".config/openbox", Place: login}, {path: ".config/i3", Place: login}, {path: ".i3", Place: login},
	{path: ".config/sway", Place: login}, {path: ".config/hypr", Place: login}, {path: ".config/niri", Place: login},
	{path: "AppData/Roaming/Microsoft/Windows/Start Menu/Programs/Startup", home: true, Place: login},
	{path: ".config/systemd", Place: service}, {path: ".local/share/systemd", Place: service}, {path: ".local/share/dbus-1", Place: service},
	{path: ".config/upstart", Place: service}, {path: "Library/LaunchAgents", home: true, Place: service},
	{path: ".gitconfig", home: true, Place: gitRuns}, {path: ".config/git/config", home: true, Place: gitRuns},
}

// systemEntries are places of the machine, by absolute path.
var systemEntries = []entry{
	{path: "/etc/shadow", Place: password}, {path: "/etc/gshadow", Place: password}, {path: "/etc/krb5.keytab", Place: password},
	{path: "/etc/NetworkManager/system-connections", Place: password}, {path: "/etc/ssl/private", Place: password}, {path: "/etc/ssh", Place: sshKeys},
	{path: "/etc/sudoers", Place: login}, {path: "/etc/sudoers.d", Place: login}, {path: "/etc/pam.d", Place: login},
	{path: "/etc/profile", Place: shell}, {path: "/etc/profile.d", Place: shell}, {path: "/etc/bash.bashrc", Place: shell}, {path: "/etc/zsh", Place: shell},
	{path: "/etc/environment", Place: login}, {path: "/etc/ld.so.preload", Place: login}, {path: "/etc/xdg/autostart", Place: login},
	{path: "/etc/crontab", Place: service}, {path: "/etc/cron.d", Place: service}, {path: "/etc/cron.daily", Place: service}, {path: "/etc/cron.hourly", Place: service},
	{path: "/var/spool/cron", Place: service}, {path: "/etc/systemd", Place: service}, {path: "/etc/init.d", Place: service}, {path: "/etc/rc.local", Place: service},
	{path: "/Library/LaunchAgents", Place: service}, {path: "/Library/LaunchDaemons", Place: service},
}

// placeVariables are environment variables that move places: from is the table's path
// that they replace; "" if the variable is itself the place.
var placeVariables = []struct {
	name, from string
	Place
}{
	{name: "XDG_CONFIG_HOME", from: ".config"}, {name: "XDG_DATA_HOME", from: ".local/share"}, {name: "XDG_STATE_HOME", from: ".local/state"},
	{name: "CARGO_HOME", from: ".cargo"}, {name: "DOCKER_CONFIG", from: ".docker"},
	{name: "APPDATA", from: "AppData/Roaming"}, {name: "LOCALAPPDATA", from: "AppData/Local"},
	{name: "GNUPGHOME", Place: pgp}, {name: "PASSWORD_STORE_DIR", Place: password}, {name: "NETRC", Place: password}, {name: "PGPASSFILE", Place: password},
	{name: "KUBECONFIG", Place: cloud}, {name: "AWS_SHARED_CREDENTIALS_FILE", Place: cloud}, {name: "AWS_CONFIG_FILE", Place: cloud},
	{name: "GOOGLE_APPLICATION_CREDENTIALS", Place: cloud}, {name: "CLOUDSDK_CONFIG", Place: cloud}, {name: "AZURE_CONFIG_DIR", Place: cloud},
	{name: "GH_CONFIG_DIR", Place: token}, {name: "NPM_CONFIG_USERCONFIG", Place: token}, {name: "npm_config_userconfig", Place: token},
}

// systemDirs are the system's directories; below includes their subdirectories.
var systemDirs = []struct {
	parts []string
	below bool
}{
	{[]string{"etc"}, true}, {[]string{"boot"}, true}, {[]string{"dev"}, true}, {[]string{"proc"}, true}, {[]string{"sys"}, true},
	{[]string{"bin"}, true}, {[]string{"sbin"}, true}, {[]string{"lib"}, true}, {[]string{"lib32"}, true}, {[]string{"lib64"}, true}, {[]string{"libx32"}, true},
	{[]string{"usr", "bin"}, true}, {[]string{"usr", "sbin"}, true}, {[]string{"usr", "lib"}, true}, {[]string{"usr", "lib64"}, true},
	{[]string{"usr", "libexec"}, true}, {[]string{"usr", "share"}, true}, {[]string{"usr", "include"}, true}, {[]string{"usr"}, false},
	{[]string{"usr", "local"}, false}, {[]string{"usr", "local", "bin"}, true}, {[]string{"usr", "local", "sbin"}, true}, {[]string{"usr", "local", "lib"}, true},
	{[]string{"var"}, false}, {[]string{"var", "lib"}, false}, {[]string{"var", "log"}, true}, {[]string{"var", "spool"}, true}, {[]string{"var", "run"}, false},
	{[]string{"home"}, false}, {[]string{"opt"}, false}, {[]string{"srv"}, false}, {[]string{"mnt"}, false}, {[]string{"media"}, false},
	{[]string{"run"}, false}, {[]string{"run", "user"}, true}, {[]string{"nix"}, true}, {[]string{"snap"}, true},
	{[]string{"users"}, false}, {[]string{"volumes"}, false}, {[]string{"applications"}, true}, {[]string{"library"}, true}, {[]string{"system"}, true},
	{[]string{"private"}, false}, {[]string{"private", "etc"}, true}, {[]string{"private", "var"}, false},
	{[]string{"c:"}, false}, {[]string{"c:", "users"}, false}, {[]string{"c:", "windows"}, true}, {[]string{"c:", "program files"}, true},
	{[]string{"c:", "program files (x86)"}, true}, {[]string{"c:", "programdata"}, true},
}

package markdown

// Spans that many languages share.
var (
	slashes  = span{open: "//", role: dim}
	slashed  = span{open: "/*", close: "*/", role: dim, raw: true, long: true}
	hash     = span{open: "#", role: dim, apart: true}
	dashes   = span{open: "--", role: dim}
	double   = span{open: `"`, close: `"`, role: good}
	single   = span{open: "'", close: "'", role: good}
	backtick = span{open: "`", close: "`", role: good, long: true}
	rawTicks = span{open: "`", close: "`", role: good, long: true, raw: true}
	triple   = span{open: `"""`, close: `"""`, role: good, long: true}
	tripled  = span{open: "'''", close: "'''", role: good, long: true}
	longText = span{open: `"`, close: `"`, role: good, long: true}
	verbatim = span{open: "'", close: "'", role: good, long: true, raw: true}
	markup   = span{open: "<!--", close: "-->", role: dim, raw: true, long: true}
)

// grammars lists the languages that are colored, one row each.
var grammars = []grammar{
	{names: "go golang", spans: []span{slashes, slashed, double, single, rawTicks},
		words: "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var nil true false iota"},
	{names: "python py python3 pycon starlark bzl", spans: []span{hash, triple, tripled, double, single},
		words: "and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield None True False self"},
	{names: "javascript js jsx mjs cjs typescript ts tsx node", spans: []span{slashes, slashed, double, single, backtick},
		words: "abstract any as async await boolean break case catch class const continue debugger declare default delete do else enum export extends finally for from function get if implements import in instanceof interface keyof let namespace never new null number of private protected public readonly return satisfies set static string super switch this throw try type typeof undefined unknown var void while with yield true false"},
	{names: "rust rs", spans: []span{slashes, slashed, {open: `r#"`, close: `"#`, role: good, long: true, raw: true}, longText},
		words: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while"},
	{names: "c h cpp c++ cc cxx hpp objc objective-c cuda arduino glsl hlsl", spans: []span{slashes, slashed, double, single},
		words: "#define #elif #else #endif #if #ifdef #ifndef #include #pragma #undef alignas alignof auto bool break case catch char class co_await co_return co_yield concept const constexpr continue decltype default delete do double else enum explicit extern false float for friend goto if inline int long mutable namespace new noexcept nullptr operator override private protected public register requires return short signed sizeof static static_cast struct switch template this throw true try typedef typename union unsigned using virtual void volatile while NULL"},
	{names: "java kotlin kt kts scala groovy gradle", spans: []span{slashes, slashed, triple, double, single},
		words: "abstract as assert boolean break by case catch char class companion const continue data def default do double else enum extends final finally float for fun given if implements import in instanceof int interface internal is lateinit lazy long match native new null object open override package private protected public record return sealed short static super suspend switch synchronized this throw throws trait true false try val var void volatile when while with yield"},
	{names: "csharp cs c# fsharp fs", spans: []span{slashes, slashed, triple, double, single},
		words: "abstract as async await base bool break byte case catch char class const continue decimal default delegate do double else enum event explicit extern false finally fixed float for foreach get goto if implicit in init int interface internal is let lock long match module mutable namespace new null object operator out override params private protected public readonly record ref return sealed set short sizeof static string struct switch this throw true try type typeof uint ulong using var virtual void volatile when where while with yield"},
	{names: "swift", spans: []span{slashes, slashed, triple, double},
		words: "actor any as associatedtype async await break case catch class continue default defer deinit do else enum extension fallthrough false fileprivate final for func guard if import in init inout internal is lazy let mutating nil open operator override private protocol public repeat required rethrows return self Self some static struct subscript super switch throw throws true try typealias var weak where while"},
	{names: "ruby rb erb", spans: []span{hash, longText, verbatim},
		words: "alias and begin break case class def defined? do else elsif end ensure false for if in include module next nil not or private public raise redo require require_relative rescue retry return self super then true undef unless until when while yield attr_accessor attr_reader"},
	{names: "php", spans: []span{slashes, slashed, hash, longText, verbatim},
		words: "abstract and array as break case catch class clone const continue declare default do echo else elseif enum extends false final finally fn for foreach function global if implements include instanceof interface isset match namespace new null or print private protected public readonly require require_once return static switch this throw trait true try unset use var while yield"},
	{names: "bash sh shell zsh fish console shell-session shellscript", spans: []span{hash, longText, verbatim},
		words: "alias break case cd continue do done echo elif else end esac eval exec exit export fi for function if in local read readonly return set shift source sudo test then trap unset until while", inner: "-"},
	{names: "powershell ps1 pwsh", spans: []span{{open: "<#", close: "#>", role: dim, raw: true, long: true}, hash, longText, verbatim}, fold: true,
		words: "begin break catch class continue data do dynamicparam else elseif end enum exit filter finally for foreach function if in param process return switch throw trap try until using while", inner: "-"},
	{names: "docker dockerfile containerfile", spans: []span{hash, double, single},
		words: "ADD ARG AS CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL MAINTAINER ONBUILD RUN SHELL STOPSIGNAL USER VOLUME WORKDIR"},
	{names: "make makefile mk cmake just justfile", spans: []span{hash, double, single},
		words: "define else endef endif export ifdef ifeq ifndef ifneq include override unexport vpath if elseif endfunction endmacro foreach endforeach function macro message project set add_executable add_library target_link_libraries"},
	{names: "json jsonc json5 jsonl ndjson", spans: []span{slashes, slashed, double}, words: "true false null"},
	{names: "yaml yml", spans: []span{hash, double, single}, words: "true false null yes no on off", inner: "-"},
	{names: "toml ini conf cfg properties env dotenv editorconfig gitconfig systemd", spans: []span{hash, {open: ";", role: dim, apart: true}, triple, tripled, double, single}, words: "true false", inner: "-"},
	{names: "hcl terraform tf nix", spans: []span{hash, slashes, slashed, {open: "''", close: "''", role: good, long: true, raw: true}, double},
		words: "assert data else false for if in inherit let locals module null output provider rec resource terraform then true variable with"},
	{names: "sql postgres postgresql mysql sqlite plsql tsql", spans: []span{dashes, slashed, verbatim, {open: `"`, close: `"`, role: good, raw: true}}, fold: true,
		words: "add all alter and any as asc begin between by cascade case check column commit constraint create cross database default delete desc distinct drop else end exists explain false foreign from full function grant group having if in index inner insert intersect into is join key left like limit natural not null offset on or order outer over partition primary recursive references returning right rollback select set table then transaction trigger true union unique update using values view when where window with"},
	{names: "lua luau", spans: []span{{open: "--[[", close: "]]", role: dim, raw: true, long: true}, dashes, {open: "[[", close: "]]", role: good, raw: true, long: true}, double, single},
		words: "and break do else elseif end false for function goto if in local nil not or repeat return then true until while"},
	{names: "haskell hs elm purescript", spans: []span{{open: "{-", close: "-}", role: dim, raw: true, long: true}, dashes, double},
		words: "as case class data default deriving do else exposing forall foreign hiding if import in infix infixl infixr instance let module newtype of port qualified then type where", inner: "'"},
	{names: "ocaml ml reason sml", spans: []span{{open: "(*", close: "*)", role: dim, raw: true, long: true}, longText},
		words: "and as begin class constraint do done downto else end exception external false for fun function functor if in include inherit initializer lazy let match method module mutable new object of open or private rec sig struct then to true try type val virtual when while with", inner: "'"},
	{names: "elixir ex exs erlang erl", spans: []span{hash, {open: "%", role: dim, apart: true}, triple, longText, single},
		words: "after alias and case catch cond def defimpl defmacro defmodule defp defprotocol defstruct do else end false fn for if import in nil not or quote raise receive require rescue true try unless unquote use when with of begin fun"},
	{names: "clojure clj cljs edn lisp elisp emacs-lisp scheme racket common-lisp", spans: []span{{open: ";", role: dim}, longText},
		words: "and case cond def define defmacro defn defun defvar do else false fn if lambda let let* letrec loop nil not ns or quote recur require set! setq t true unless when", inner: "-!?*"},
	{names: "zig", spans: []span{slashes, double, single},
		words: "align allowzero and anyframe anytype asm break catch comptime const continue defer else enum errdefer error export extern false fn for if inline noalias null or orelse packed pub resume return struct suspend switch test threadlocal true try undefined union unreachable usingnamespace var volatile while"},
	{names: "dart", spans: []span{slashes, slashed, triple, tripled, double, single},
		words: "abstract as assert async await base break case catch class const continue covariant default deferred do dynamic else enum export extends extension external factory false final finally for get if implements import in interface is late library mixin new null on operator part required rethrow return sealed set static super switch sync this throw true try typedef var void when while with yield"},
	{names: "perl pl r julia jl", spans: []span{hash, triple, longText, single},
		words: "abstract and begin break catch const continue do else elseif elsif end eval export false finally for foreach function global if import in last let library local macro module my mutable next not or our package print quote repeat require return struct sub true try type undef unless until use using where while FALSE NULL TRUE"},
	{names: "css scss less sass", spans: []span{slashed, {open: "//", role: dim, apart: true}, double, single},
		words: "@charset @container @extend @font-face @if @import @include @keyframes @layer @media @mixin @supports @use important inherit initial none unset auto", inner: "-"},
	{names: "html xml svg xhtml vue svelte astro plist", spans: []span{markup, double},
		words: "a body br button code div footer form h1 h2 h3 h4 head header html img input label li link main meta nav ol option p path pre script section select span style svg table tbody td template textarea th thead title tr ul video xml", inner: "-"},
	{names: "graphql gql protobuf proto thrift", spans: []span{hash, slashes, slashed, triple, double, single},
		words: "bool bytes directive double enum extend extends false float fragment implements import input int32 int64 interface map message mutation on oneof optional option package query repeated required reserved returns rpc scalar schema service string struct subscription syntax true type uint32 uint64 union"},
	{names: "asm nasm gas assembly llvm wasm wat", spans: []span{{open: ";", role: dim}, hash, double, single},
		words: "add and call cmp db dd dq global int jae jb je jg jl jmp jne jnz jz lea mov mul or pop push ret section sub syscall test xor define declare load store br func module param result local"},
	{names: "latex tex bibtex", spans: []span{{open: "%", role: dim}}, words: "begin end documentclass usepackage section subsection"},
	{names: "vim viml", spans: []span{{open: `"`, role: dim, apart: true}, single},
		words: "augroup autocmd call command echo else elseif endfor endfunction endif endwhile execute for function if in let map nnoremap return set silent syntax while"},
	{names: "diff patch udiff", diff: true},
}

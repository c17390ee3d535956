package markdown

// Spans of several languages.
var (
	slashes  = span{open: "//", role: comment}
	slashed  = span{open: "/*", close: "*/", role: comment, raw: true, long: true}
	hash     = span{open: "#", role: comment, apart: true}
	dashes   = span{open: "--", role: comment}
	double   = span{open: `"`, close: `"`, role: str}
	single   = span{open: "'", close: "'", role: str}
	backtick = span{open: "`", close: "`", role: str, long: true}
	rawTicks = span{open: "`", close: "`", role: str, long: true, raw: true}
	triple   = span{open: `"""`, close: `"""`, role: str, long: true}
	tripled  = span{open: "'''", close: "'''", role: str, long: true}
	longText = span{open: `"`, close: `"`, role: str, long: true}
	verbatim = span{open: "'", close: "'", role: str, long: true, raw: true}
	markup   = span{open: "<!--", close: "-->", role: comment, raw: true, long: true}
)

// grammars lists the highlighted languages, one per row.
var grammars = []grammar{
	{names: "go golang", spans: []span{slashes, slashed, double, single, rawTicks},
		words: "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var nil true false iota", types: "any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint uint8 uint16 uint32 uint64 uintptr", calls: true},
	{names: "python py python3 pycon starlark bzl", spans: []span{hash, triple, tripled, double, single},
		words: "and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield None True False self", types: "bool bytes bytearray complex dict float frozenset int list object set str tuple", named: true, calls: true},
	{names: "javascript js jsx mjs cjs typescript ts tsx node", spans: []span{slashes, slashed, double, single, backtick},
		words: "abstract as async await break case catch class const continue debugger declare default delete do else enum export extends finally for from function get if implements import in instanceof interface keyof let namespace new null of private protected public readonly return satisfies set static super switch this throw try type typeof undefined var while with yield true false", types: "any boolean never number string symbol object unknown void bigint", named: true, calls: true},
	{names: "rust rs", spans: []span{slashes, slashed, {open: `r#"`, close: `"#`, role: str, long: true, raw: true}, longText},
		words: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self static struct super trait true type unsafe use where while", types: "bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize Self", named: true, calls: true},
	{names: "c h cpp c++ cc cxx hpp objc objective-c cuda arduino glsl hlsl", spans: []span{slashes, slashed, double, single},
		words: "#define #elif #else #endif #if #ifdef #ifndef #include #pragma #undef alignas alignof break case catch class co_await co_return co_yield concept const constexpr continue decltype default delete do else enum explicit extern false for friend goto if inline mutable namespace new noexcept nullptr operator override private protected public register requires return sizeof static static_cast struct switch template this throw true try typedef typename union using virtual volatile while NULL", types: "bool char double float int long short signed unsigned void size_t ssize_t wchar_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t auto", named: true, calls: true},
	{names: "java kotlin kt kts scala groovy gradle", spans: []span{slashes, slashed, triple, double, single},
		words: "abstract as assert break by case catch class companion const continue data def default do else enum extends final finally for fun given if implements import in instanceof interface internal is lateinit lazy match native new null object open override package private protected public record return sealed static super suspend switch synchronized this throw throws trait true false try val var volatile when while with yield", types: "boolean byte char double float int long short void", named: true, calls: true},
	{names: "csharp cs c# fsharp fs", spans: []span{slashes, slashed, triple, double, single},
		words: "abstract as async await base break case catch class const continue default delegate do else enum event explicit extern false finally fixed for foreach get goto if implicit in init interface internal is let lock match module mutable namespace new null operator out override params private protected public readonly record ref return sealed set sizeof static struct switch this throw true try type typeof using var virtual volatile when where while with yield", types: "bool byte char decimal double float int long object short string uint ulong void", named: true, calls: true},
	{names: "swift", spans: []span{slashes, slashed, triple, double},
		words: "actor any as associatedtype async await break case catch class continue default defer deinit do else enum extension fallthrough false fileprivate final for func guard if import in init inout internal is lazy let mutating nil open operator override private protocol public repeat required rethrows return self Self some static struct subscript super switch throw throws true try typealias var weak where while", named: true, calls: true},
	{names: "ruby rb erb", spans: []span{hash, longText, verbatim},
		words: "alias and begin break case class def defined? do else elsif end ensure false for if in include module next nil not or private public raise redo require require_relative rescue retry return self super then true undef unless until when while yield attr_accessor attr_reader", named: true, calls: true},
	{names: "php", spans: []span{slashes, slashed, hash, longText, verbatim},
		words: "abstract and as break case catch class clone const continue declare default do echo else elseif enum extends false final finally fn for foreach function global if implements include instanceof interface isset match namespace new null or print private protected public readonly require require_once return static switch this throw trait true try unset use var while yield", types: "array bool float int string void mixed object iterable callable", named: true, calls: true},
	{names: "bash sh shell zsh fish console shell-session shellscript", spans: []span{hash, longText, verbatim},
		words: "alias break case cd continue do done echo elif else end esac eval exec exit export fi for function if in local read readonly return set shift source sudo test then trap unset until while", inner: "-"},
	{names: "powershell ps1 pwsh", spans: []span{{open: "<#", close: "#>", role: comment, raw: true, long: true}, hash, longText, verbatim}, fold: true,
		words: "begin break catch class continue data do dynamicparam else elseif end enum exit filter finally for foreach function if in param process return switch throw trap try until using while", inner: "-"},
	{names: "docker dockerfile containerfile", spans: []span{hash, double, single},
		words: "ADD ARG AS CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL MAINTAINER ONBUILD RUN SHELL STOPSIGNAL USER VOLUME WORKDIR"},
	{names: "make makefile mk cmake just justfile", spans: []span{hash, double, single},
		words: "define else endef endif export ifdef ifeq ifndef ifneq include override unexport vpath if elseif endfunction endmacro foreach endforeach function macro message project set add_executable add_library target_link_libraries"},
	{names: "json jsonc json5 jsonl ndjson", spans: []span{slashes, slashed, double}, words: "true false null"},
	{names: "yaml yml", spans: []span{hash, double, single}, words: "true false null yes no on off", inner: "-"},
	{names: "toml ini conf cfg properties env dotenv editorconfig gitconfig systemd", spans: []span{hash, {open: ";", role: comment, apart: true}, triple, tripled, double, single}, words: "true false", inner: "-"},
	{names: "hcl terraform tf nix", spans: []span{hash, slashes, slashed, {open: "''", close: "''", role: str, long: true, raw: true}, double},
		words: "assert data else false for if in inherit let locals module null output provider rec resource terraform then true variable with", calls: true},
	{names: "sql postgres postgresql mysql sqlite plsql tsql", spans: []span{dashes, slashed, verbatim, {open: `"`, close: `"`, role: str, raw: true}}, fold: true,
		words: "add all alter and any as asc begin between by cascade case check column commit constraint create cross database default delete desc distinct drop else end exists explain false foreign from full function grant group having if in index inner insert intersect into is join key left like limit natural not null offset on or order outer over partition primary recursive references returning right rollback select set table then transaction trigger true union unique update using values view when where window with", types: "bigint blob bool boolean bytea char date decimal double float int integer json jsonb numeric real serial smallint text time timestamp timestamptz uuid varchar", calls: true},
	{names: "lua luau", spans: []span{{open: "--[[", close: "]]", role: comment, raw: true, long: true}, dashes, {open: "[[", close: "]]", role: str, raw: true, long: true}, double, single},
		words: "and break do else elseif end false for function goto if in local nil not or repeat return then true until while", calls: true},
	{names: "haskell hs elm purescript", spans: []span{{open: "{-", close: "-}", role: comment, raw: true, long: true}, dashes, double},
		words: "as case class data default deriving do else exposing forall foreign hiding if import in infix infixl infixr instance let module newtype of port qualified then type where", named: true, inner: "'"},
	{names: "ocaml ml reason sml", spans: []span{{open: "(*", close: "*)", role: comment, raw: true, long: true}, longText},
		words: "and as begin class constraint do done downto else end exception external false for fun function functor if in include inherit initializer lazy let match method module mutable new object of open or private rec sig struct then to true try type val virtual when while with", types: "bool char float int list option string unit", named: true, inner: "'"},
	{names: "elixir ex exs erlang erl", spans: []span{hash, {open: "%", role: comment, apart: true}, triple, longText, single},
		words: "after alias and case catch cond def defimpl defmacro defmodule defp defprotocol defstruct do else end false fn for if import in nil not or quote raise receive require rescue true try unless unquote use when with of begin fun", named: true, calls: true},
	{names: "clojure clj cljs edn lisp elisp emacs-lisp scheme racket common-lisp", spans: []span{{open: ";", role: comment}, longText},
		words: "and case cond def define defmacro defn defun defvar do else false fn if lambda let let* letrec loop nil not ns or quote recur require set! setq t true unless when", inner: "-!?*"},
	{names: "zig", spans: []span{slashes, double, single},
		words: "align allowzero and anyframe anytype asm break catch comptime const continue defer else enum errdefer error export extern false fn for if inline noalias null or orelse packed pub resume return struct suspend switch test threadlocal true try undefined union unreachable usingnamespace var volatile while", types: "anyerror bool f32 f64 i8 i16 i32 i64 isize u8 u16 u32 u64 usize void", named: true, calls: true},
	{names: "dart", spans: []span{slashes, slashed, triple, tripled, double, single},
		words: "abstract as assert async await base break case catch class const continue covariant default deferred do else enum export extends extension external factory false final finally for get if implements import in interface is late library mixin new null on operator part required rethrow return sealed set static super switch sync this throw true try typedef var when while with yield", types: "bool double int num void dynamic", named: true, calls: true},
	{names: "perl pl r julia jl", spans: []span{hash, triple, longText, single},
		words: "abstract and begin break catch const continue do else elseif elsif end eval export false finally for foreach function global if import in last let library local macro module my mutable next not or our package print quote repeat require return struct sub true try type undef unless until use using where while FALSE NULL TRUE", calls: true},
	{names: "css scss less sass", spans: []span{slashed, {open: "//", role: comment, apart: true}, double, single},
		words: "@charset @container @extend @font-face @if @import @include @keyframes @layer @media @mixin @supports @use important inherit initial none unset auto", calls: true, inner: "-"},
	{names: "html xml svg xhtml vue svelte astro plist", spans: []span{markup, double},
		words: "a body br button code div footer form h1 h2 h3 h4 head header html img input label li link main meta nav ol option p path pre script section select span style svg table tbody td template textarea th thead title tr ul video xml", inner: "-"},
	{names: "graphql gql protobuf proto thrift", spans: []span{hash, slashes, slashed, triple, double, single},
		words: "directive enum extend extends false fragment implements import input interface map message mutation on oneof optional option package query repeated required reserved returns rpc scalar schema service struct subscription syntax true type union", types: "bool bytes double float int32 int64 string uint32 uint64", named: true},
	{names: "asm nasm gas assembly llvm wasm wat", spans: []span{{open: ";", role: comment}, hash, double, single},
		words: "add and call cmp db dd dq global int jae jb je jg jl jmp jne jnz jz lea mov mul or pop push ret section sub syscall test xor define declare load store br func module param result local"},
	{names: "latex tex bibtex", spans: []span{{open: "%", role: comment}}, words: "begin end documentclass usepackage section subsection"},
	{names: "vim viml", spans: []span{{open: `"`, role: comment, apart: true}, single},
		words: "augroup autocmd call command echo else elseif endfor endfunction endif endwhile execute for function if in let map nnoremap return set silent syntax while"},
	{names: "diff patch udiff", diff: true},
}

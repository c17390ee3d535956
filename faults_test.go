package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mediaFaults says which tests hold what may go wrong with embeddings, images and videos: as
// "folder Test", or "script NAME: a piece of it" for testdata/script.
var mediaFaults = []struct {
	fault string
	tests []string
}{
	{"empty, blank and 1 MB texts among good ones", []string{"script embed: 2 blank lines skipped", "script embed: long.txt:3: about", "providers/embedding TestTooLong"}},
	{"2049, 101, 65 and 11 texts: split, in order", []string{"providers/embedding TestSplit", "providers/embedding TestSplitByTokens"}},
	{"vectors reversed, doubled, missing, without index", []string{"providers/media TestEmbedPlacesVectors", "providers/media TestEmbedIndexes", "providers/media TestEmbedSuiteBadAnswers"}},
	{"base64 that cannot be, NaN, the zero vector", []string{"providers/media TestEmbedBase64", "providers/media TestEmbedSuiteBadAnswers"}},
	{"other dimensions than asked for", []string{"providers/media TestEmbedSuiteBadAnswers", "script embed: --dimensions 5000"}},
	{"429 in a batch: what came is kept, and goes on", []string{"providers/embedding TestRetries", "providers/embedding TestHalves", "script embed: --continue-from"}},
	{"an error in base_resp with status 200", []string{"providers/media TestEmbedSuiteFaults", "providers/media TestVideoBaseResp", "providers/media TestImagesOfMiniMax"}},
	{"text named .png, HEIC, 60 MB, 17 files", []string{"providers/media TestImageRequestsThatCannotBe", "script image: large.png: ", "script image: words.png: not an image"}},
	{"a mask of another size, without alpha, a JPEG, for who takes none", []string{"providers/media TestImageRequestsThatCannotBe", "providers/media TestImageServicesThatCannot"}},
	{"transparent and JPEG", []string{"providers/media TestImageRequestsThatCannotBe", "script image: --transparent --format jpeg"}},
	{"1000x1000, 0x0, 16:0", []string{"providers/media TestImageRequestsThatCannotBe", "providers/llm TestParseSize", "script image: --size 16:0"}},
	{"no image, 11 images, 2 of 4 blocked", []string{"script image: -n 0", "providers/media TestImageRequestsThatCannotBe", "providers/media TestImagesThatWereBlockedInPart", "providers/media TestSurplusImages"}},
	{"no data, broken base64, a page with status 200", []string{"providers/media TestImagesOfOpenAI", "providers/media TestBase64OfServers", "script image: without an image"}},
	{"WebP in the place of PNG: the name follows the bytes", []string{"providers/media TestImagesOfOpenAI", "script image: not saved as fox.webp, but as fox.png"}},
	{"cut after an unfinished image, an error event, no usage", []string{"providers/media TestOpenAIPartialImages", "providers/media TestPartialImagesOfOpenRouter"}},
	{"refusals by status, finish reason and text", []string{"providers/media TestImagesOfOpenAI", "providers/media TestImagesOfGemini", "providers/media TestVideoRefusedAtOnce", "script image: status 8"}},
	{"addresses: http, of others, redirected to loopback, 403, endless", []string{"providers/media TestImagesOfGrok", "providers/media TestVideoDownloads", "providers/media TestEndlessImageDownload"}},
	{"the file is there, its folder is not, the disk is full, standard output is a terminal", []string{"ui/cli TestCheckTarget", "ui/cli TestEmbedOnFullDisk", "providers/media TestFilmDiskFull", "session/attach TestSaveWhereNothingCanBe", "script image: ulimit -f 0", "script image: image -m mock/m fox --to -\n", "script image: video -m mock fox --to -\n"}},
	{"cut after sending: nothing is created twice", []string{"providers/media TestVideoIsCreatedOnce", "providers/media TestAsksAgainOnlyIfNothingWasMade", "script image: may still charge"}},
	{"polls: 202 without a body, 500, 404, unknown states, progress of 150", []string{"providers/media TestVideoOutcomes", "providers/media TestVideoPollFaults", "providers/media TestFilmWaits"}},
	{"done without a video, filtered", []string{"providers/media TestVideoOutcomes"}},
	{"a download that is short, JSON, of another type", []string{"providers/media TestVideoDownloads", "providers/media TestFilmDownloads"}},
	{"ctrl+c, another process, another key", []string{". TestVideoInterrupted", ". TestVideoLater"}},
	{"an address that ran out between poll and download", []string{"providers/media TestVideoAddressRanOut"}},
	{"prompts of 40,000 characters and 100 kB, escape codes, ../ in ids", []string{"providers/media TestImageRequestsThatCannotBe", "providers/media TestVideoWishesThatCannotBe", "providers/media TestVideoIDsAreNoPaths", "providers/media TestVideoFileOfMiniMax", "script image: revised prompt: a fox .*red", "script image: 32000 characters", "session/attach TestFileNamesOfTexts"}},
	{"killed in a download: nothing under the name", []string{". TestVideoKilledInDownload", "script embed: Killed in the middle", "session/attach TestStaleParts"}},
	{"status 200 with nothing", []string{"providers/media TestImagesOfOpenAI", "providers/media TestEmbedSuiteBadAnswers", "providers/media TestVideoOutcomes"}},
	{"an answer that does not end", []string{"providers/media TestEndlessImageAnswer", "providers/media TestEmbedSuiteEnds", "providers/media TestVideoPollFaults"}},
	{"a key in a redirect", []string{"providers/media TestVideoDownloads", "providers/media TestImagesOfGrok"}},
	{"a terminal without pictures", []string{"ui/tui/chat TestImagesOfATerminal", "ui/tui/picture TestSupported", "ui/tui/picture TestHalfBlocks"}},
}

// TestMediaFaultsHaveTests holds that mediaFaults names tests that are there.
func TestMediaFaultsHaveTests(t *testing.T) {
	tests := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declared := range file.Decls {
			if f, ok := declared.(*ast.FuncDecl); ok && f.Recv == nil {
				tests[filepath.ToSlash(filepath.Dir(path))+" "+f.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range mediaFaults {
		for _, test := range f.tests {
			name, piece, script := strings.Cut(strings.TrimPrefix(test, "script "), ": ")
			if !script || name == test {
				if !tests[test] {
					t.Errorf("%s: there is no %s", f.fault, test)
				}
				continue
			}
			if text, err := os.ReadFile(filepath.Join("testdata/script", name+".txtar")); err != nil || !strings.Contains(string(text), piece) {
				t.Errorf("%s: %s.txtar says nothing of %q: %v", f.fault, name, piece, err)
			}
		}
	}
}

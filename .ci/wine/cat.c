// cat for the scripts: copies files, or standard input, to standard output.
#include <fcntl.h>
#include <io.h>
#include <stdio.h>

int main(int count, char **names)
{
	static char block[4096];
	size_t n;
	setmode(1, O_BINARY);
	for (int i = count > 1; i < count; i++) {
		FILE *file = i == 0 ? stdin : fopen(names[i], "rb");
		if (!file)
			return perror(names[i]), 1;
		while ((n = fread(block, 1, sizeof block, file)) > 0)
			fwrite(block, 1, n, stdout);
	}
	return 0;
}

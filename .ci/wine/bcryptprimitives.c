// The library from which Go takes random bytes, which Wine 8 lacks. RtlGenRandom is exported as
// SystemFunction036.
__declspec(dllimport) unsigned char SystemFunction036(void *data, unsigned long size);

__declspec(dllexport) int ProcessPrng(unsigned char *data, unsigned long long size)
{
	return SystemFunction036(data, size);
}

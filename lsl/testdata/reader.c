/* Drives a liblsl shared library as a reader.
 *
 * reader LIBLSL PREDICATE FORMAT CHANNELS prints one line per event: "version", "resolved", "xml" (the full info on one
 * line), "open", "correction", then "sample STAMP VALUE..." until its standard output breaks. It stays subscribed across
 * losses of the outlet.
 *
 * reader LIBLSL answers each line "LEAST SECONDS PREDICATE" of its input with "found SOURCE_ID..." as soon as LEAST streams
 * match or the seconds are over. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *handle;

static void *lib;

static void *need(const char *name) {
	void *f = dlsym(lib, name);
	if (!f) {
		printf("error no function %s\n", name);
		exit(2);
	}
	return f;
}

static void check(int code, const char *what) {
	if (code < 0) {
		printf("error %s: code %d\n", what, code);
		exit(3);
	}
}

static double pull(handle in, const char *format, int channels, int *code) {
	static union { float f[4096]; double d[4096]; int64_t l[4096]; int32_t i[4096]; int16_t s[4096]; char c[4096]; char *t[4096]; } v;
	char name[64];
	snprintf(name, sizeof name, "lsl_pull_sample_%s", format);
	double (*take)(handle, void *, int, double, int *) = need(name);
	double stamp = take(in, &v, channels, 0.5, code);
	if (*code < 0 || stamp == 0) return stamp;
	printf("sample %.17g", stamp);
	for (int k = 0; k < channels; k++) {
		switch (!strcmp(format, "str") ? 't' : format[0]) {
		case 'f': printf(" %.9g", v.f[k]); break;
		case 'd': printf(" %.17g", v.d[k]); break;
		case 'l': printf(" %lld", (long long)v.l[k]); break;
		case 'i': printf(" %d", v.i[k]); break;
		case 's': printf(" %d", v.s[k]); break;
		case 'c': printf(" %d", (signed char)v.c[k]); break;
		case 't': printf(" %s", v.t[k]); break;
		}
	}
	putchar('\n');
	return stamp;
}

static int find(void) {
	int (*resolve)(handle *, uint32_t, const char *, int, double) = need("lsl_resolve_bypred");
	char *(*source)(handle) = need("lsl_get_source_id");
	void (*destroy)(handle) = need("lsl_destroy_streaminfo");
	static char line[8192];
	while (fgets(line, sizeof line, stdin)) {
		handle infos[64];
		int least, used;
		double seconds;
		if (sscanf(line, "%d %lf %n", &least, &seconds, &used) < 2) return 1;
		line[strcspn(line, "\n")] = 0;
		int found = resolve(infos, 64, line + used, least, seconds);
		check(found, "resolve");
		printf("found");
		for (int i = 0; i < found; i++) {
			printf(" %s", source(infos[i]));
			destroy(infos[i]);
		}
		putchar('\n');
	}
	return 0;
}

int main(int argc, char **argv) {
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 2 && (argc != 5 || atoi(argv[4]) > 4096)) return 1;
	lib = dlopen(argv[1], RTLD_NOW);
	if (!lib) {
		printf("error %s\n", dlerror());
		return 2;
	}
	int (*version)(void) = need("lsl_library_version");
	printf("version %d\n", version());
	if (argc == 2) return find();

	int (*resolve)(handle *, uint32_t, const char *, int, double) = need("lsl_resolve_bypred");
	handle info = NULL;
	int found = resolve(&info, 1, argv[2], 1, 20.0);
	if (found < 1) {
		printf("error nothing resolved: %d\n", found);
		return 4;
	}
	printf("resolved %d\n", found);

	handle (*create)(handle, int, int, int) = need("lsl_create_inlet");
	handle in = create(info, 360, 0, 1);
	int code = 0;
	handle (*fullinfo)(handle, double, int *) = need("lsl_get_fullinfo");
	handle full = fullinfo(in, 20.0, &code);
	check(code, "full info");
	char *(*toxml)(handle) = need("lsl_get_xml");
	char *xml = toxml(full);
	for (char *p = xml; *p; p++)
		if (*p == '\n' || *p == '\r') *p = ' ';
	printf("xml %s\n", xml);

	void (*open)(handle, double, int *) = need("lsl_open_stream");
	open(in, 20.0, &code);
	check(code, "open stream");
	printf("open\n");

	double (*correction)(handle, double, int *) = need("lsl_time_correction");
	double offset = correction(in, 20.0, &code);
	check(code, "time correction");
	printf("correction %.9f\n", offset);

	for (;;) {
		pull(in, argv[3], atoi(argv[4]), &code);
		if (code != -1) check(code, "pull"); /* -1: no sample yet */
		code = 0;
		if (ferror(stdout)) return 0;
	}
}

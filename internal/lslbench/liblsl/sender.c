/* The sender of package lslbench with the real liblsl: sender LIBLSL PARTICIPANTS RATE IN_STEP SECONDS */
#include <dirent.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

typedef void *handle;

enum { KINDS = 3, FLOAT32 = 1 };
static const struct {
	const char *type;
	int channels;
} kinds[KINDS] = {{"FaceExpression", 54}, {"MoCap", 12}, {"Gaze", 19}};

static void *lib;

static void *need(const char *name) {
	void *f = dlsym(lib, name);
	if (!f) {
		fprintf(stderr, "liblsl has no function %s\n", name);
		exit(2);
	}
	return f;
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static double cpu(void) {
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static int files(void) {
	int n = 0;
	DIR *d = opendir("/proc/self/fd");
	while (d && readdir(d)) n++;
	if (d) closedir(d);
	return n - 2; /* . and .. */
}

/* text of an element of the outlet's document */
static void element(char *into, size_t size, const char *xml, const char *name) {
	char tag[64];
	snprintf(tag, sizeof tag, "<%s>", name);
	const char *begin = strstr(xml, tag);
	begin = begin ? begin + strlen(tag) : "";
	snprintf(into, size, "%.*s", (int)strcspn(begin, "<"), begin);
}

int main(int argc, char **argv) {
	if (argc != 6) return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	lib = dlopen(argv[1], RTLD_NOW);
	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	int participants = atoi(argv[2]), step = atoi(argv[4]);
	double rate = atof(argv[3]), seconds = atof(argv[5]);
	handle (*describe)(const char *, const char *, int, double, int, const char *) = need("lsl_create_streaminfo");
	handle (*create)(handle, int, int) = need("lsl_create_outlet");
	handle (*get_info)(handle) = need("lsl_get_info");
	char *(*get_xml)(handle) = need("lsl_get_xml");
	int (*push)(handle, const float *, double) = need("lsl_push_sample_ft");
	void (*destroy)(handle) = need("lsl_destroy_outlet");

	int streams = participants * KINDS;
	handle *outlets = calloc(streams, sizeof *outlets);
	for (int i = 0; i < streams; i++) {
		char name[64], source[64], uid[64], port[16];
		snprintf(name, sizeof name, "bench %d %s", i / KINDS, kinds[i % KINDS].type);
		snprintf(source, sizeof source, "facetrack-bench:%d:%s", i / KINDS, kinds[i % KINDS].type);
		outlets[i] = create(describe(name, kinds[i % KINDS].type, kinds[i % KINDS].channels, rate, FLOAT32, source), 0, 360);
		if (!outlets[i]) {
			fprintf(stderr, "liblsl opens no outlet %d\n", i);
			return 3;
		}
		char *xml = get_xml(get_info(outlets[i]));
		element(uid, sizeof uid, xml, "uid");
		element(port, sizeof port, xml, "v4data_port");
		printf("stream %s %s %d\n", uid, port, kinds[i % KINDS].channels);
	}
	printf("ready\n");
	if (getchar() == EOF) return 4;
	while (getchar() != '\n') {}

	float values[64];
	for (int k = 0; k < 64; k++) values[k] = k / 64.0f;
	double begin = now(), before = cpu();
	long sent = 0;
	for (long turn = 0;;) {
		double due = (step ? turn / participants : (double)turn / participants) / rate;
		if (due >= seconds) break;
		double wait = begin + due - now();
		if (wait > 0) { /* as long as the other sender at least */
			if (wait < 0.001) wait = 0.001;
			struct timespec t = {(time_t)wait, (long)((wait - (time_t)wait) * 1e9)};
			nanosleep(&t, NULL);
			continue;
		}
		for (int k = 0; k < KINDS; k++, sent++) {
			values[0]++;
			push(outlets[turn % participants * KINDS + k], values, now());
		}
		turn++;
	}
	printf("sent %ld %.6f %.6f %d\n", sent, now() - begin, cpu() - before, files());
	while (getchar() != EOF) {}
	for (int i = 0; i < streams; i++) destroy(outlets[i]);
	return 0;
}

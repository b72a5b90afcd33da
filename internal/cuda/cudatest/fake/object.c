// Handles. What a program passes is looked up before it is used, so that a wrong or closed handle is an error of the call
// and not a crash; whoever works with an object holds it, so that destroying it meanwhile is safe.
#include "fake.h"

#define BUCKETS 1024

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct object *table[BUCKETS];

static struct object **bucket(const void *handle) { return &table[(uintptr_t)handle / 16 % BUCKETS]; }

static struct object **find(const void *handle, enum kind kind) {
	for (struct object **at = bucket(handle); *at; at = &(*at)->next) {
		if (*at == handle) {
			return (*at)->kind == kind ? at : NULL;
		}
	}
	return NULL;
}

void object_add(void *object, enum kind kind, CUcontext context, void (*end)(struct object *)) {
	struct object *o = object;
	o->kind = kind;
	o->refs = 1;
	o->context = context;
	o->end = end;
	pthread_mutex_lock(&mutex);
	struct object **at = bucket(o);
	o->next = *at;
	*at = o;
	pthread_mutex_unlock(&mutex);
}

void *object_hold(const void *handle, enum kind kind) {
	pthread_mutex_lock(&mutex);
	struct object **at = find(handle, kind), *found = at ? *at : NULL;
	if (found) {
		found->refs++;
	}
	pthread_mutex_unlock(&mutex);
	return found;
}

void *object_take(const void *handle, enum kind kind) {
	pthread_mutex_lock(&mutex);
	struct object **at = find(handle, kind), *found = at ? *at : NULL;
	if (found) {
		*at = found->next;
	}
	pthread_mutex_unlock(&mutex);
	return found;
}

bool object_change(const void *handle, enum kind from, enum kind to) {
	pthread_mutex_lock(&mutex);
	struct object **at = find(handle, from);
	if (at) {
		(*at)->kind = to;
	}
	pthread_mutex_unlock(&mutex);
	return at != NULL;
}

int object_hold_all(CUcontext context, enum kind kind, void **objects, int most) {
	int n = 0;
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < BUCKETS; i++) {
		for (struct object *o = table[i]; o && n < most; o = o->next) {
			if (o->context == context && o->kind == kind) {
				o->refs++;
				objects[n++] = o;
			}
		}
	}
	pthread_mutex_unlock(&mutex);
	return n;
}

void *object_hold_any(CUcontext context, enum kind kind) {
	void *found = NULL;
	object_hold_all(context, kind, &found, 1);
	return found;
}

void object_keep(void *object) {
	pthread_mutex_lock(&mutex);
	((struct object *)object)->refs++;
	pthread_mutex_unlock(&mutex);
}

void object_drop(void *object) {
	struct object *o = object;
	pthread_mutex_lock(&mutex);
	bool last = --o->refs == 0;
	pthread_mutex_unlock(&mutex);
	if (last) {
		o->end(o);
	}
}

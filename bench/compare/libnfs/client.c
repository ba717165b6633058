// An NFS client on libnfs's asynchronous interface, for the comparison. It keeps calls in flight on one
// connection, and does what it is told on its standard input: a line with a number of operations is answered by a line with the
// nanoseconds that they took and, for lists, those of each. At the end of the input it checks what it has written.
//
//	libnfs URL WORKLOAD SIZE INFLIGHT CONGESTION
//
// URL is that of the export, with the ports of NFS and MOUNT. WORKLOAD is null, getattr, read, random, write or list.
// CONGESTION is the congestion control of the socket; empty leaves the system's.

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs.h>

// What the server has in its export.
#define FILE_NAME "/file"
#define DIR_NAME "/dir"

static struct nfs_context *nfs;
static struct rpc_context *rpc;
static struct nfsfh *file;
static struct nfs_fh3 handle;

static const char *workload;
static uint64_t size, file_size;
static char *written; // what every WRITE writes

static long left, in_flight;     // operations to start; operations under way
static uint64_t next_offset;     // of READs and WRITEs that go in order
static uint64_t last_offset = UINT64_MAX;
static uint64_t seed = 88172645463325252ULL;

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "libnfs: %s: %s\n", what, why ? why : "failed");
	exit(1);
}

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static char content(uint64_t offset)
{
	return offset ^ offset >> 8 ^ offset >> 16;
}

// offset is where the next operation goes.
static uint64_t offset(void)
{
	if (strcmp(workload, "random") == 0) {
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		return seed % (file_size / size) * size;
	}
	last_offset = next_offset;
	next_offset = (last_offset + size) % file_size;
	return last_offset;
}

static void start(void);

// done is told of each operation that has ended.
static void done(void)
{
	in_flight--;
	if (left > 0)
		start();
}

static void done_rpc(struct rpc_context *r, int status, void *data, void *want)
{
	(void)r;
	if (status != RPC_STATUS_SUCCESS)
		fail(workload, status == RPC_STATUS_ERROR ? data : "cancelled");
	// A reply begins with its status, that of NULL excepted, which has nothing.
	if (want && *(nfsstat3 *)data != NFS3_OK)
		fail(workload, nfsstat3_to_str(*(nfsstat3 *)data));
	done();
}

static void done_file(int status, struct nfs_context *n, void *data, void *unused)
{
	(void)n;
	(void)unused;
	if (status < 0)
		fail(workload, data);
	if ((uint64_t)status != size)
		fail(workload, "short");
	done();
}

// start starts an operation.
static void start(void)
{
	int failed;
	left--;
	in_flight++;
	if (strcmp(workload, "null") == 0) {
		failed = rpc_nfs3_null_async(rpc, done_rpc, NULL);
	} else if (strcmp(workload, "getattr") == 0) {
		struct GETATTR3args args = {.object = handle};
		failed = rpc_nfs3_getattr_async(rpc, done_rpc, &args, &handle);
	} else if (strcmp(workload, "write") == 0) {
		failed = nfs_pwrite_async(nfs, file, offset(), size, written, done_file, NULL);
	} else {
		failed = nfs_pread_async(nfs, file, offset(), size, done_file, NULL);
	}
	if (failed)
		fail(workload, nfs_get_error(nfs));
}

// list lists the directory, and returns how many entries it has.
static long list(void)
{
	struct nfsdir *dir;
	struct nfsdirent *e;
	long n = 0;
	if (nfs_opendir(nfs, DIR_NAME, &dir))
		fail("opendir", nfs_get_error(nfs));
	while ((e = nfs_readdir(nfs, dir)) != NULL)
		n += strcmp(e->name, ".") != 0 && strcmp(e->name, "..") != 0;
	nfs_closedir(nfs, dir);
	return n;
}

static void run(long n, long slots)
{
	if (strcmp(workload, "list") == 0) {
		uint64_t begin = now(), before = begin;
		uint64_t *samples = malloc(n * sizeof *samples);
		for (long i = 0; i < n; i++) {
			if (list() != (long)size)
				fail("list", "wrong number of entries");
			uint64_t after = now();
			samples[i] = after - before;
			before = after;
		}
		printf("%llu", (unsigned long long)(before - begin));
		for (long i = 0; i < n; i++)
			printf(" %llu", (unsigned long long)samples[i]);
		printf("\n");
		free(samples);
		return;
	}
	uint64_t begin = now();
	left = n;
	for (long i = 0; i < slots && left > 0; i++)
		start();
	while (in_flight > 0) {
		struct pollfd p = {.fd = nfs_get_fd(nfs), .events = nfs_which_events(nfs)};
		if (poll(&p, 1, -1) < 0 || nfs_service(nfs, p.revents) < 0)
			fail("connection", nfs_get_error(nfs));
	}
	printf("%llu\n", (unsigned long long)(now() - begin));
}

// check reads a block and compares it with what it must be.
static void check(uint64_t at, int is_written)
{
	char *got = malloc(size);
	if (nfs_pread(nfs, file, at, size, got) != (int)size)
		fail("check", nfs_get_error(nfs));
	for (uint64_t i = 0; i < size; i++)
		if (got[i] != (is_written ? written[i] : content(at + i)))
			fail("check", "data differs");
	free(got);
}

int main(int argc, char **argv)
{
	if (argc != 6)
		fail("usage", "libnfs URL WORKLOAD SIZE INFLIGHT CONGESTION");
	workload = argv[2];
	size = strtoull(argv[3], NULL, 10);
	long slots = strtol(argv[4], NULL, 10);
	int reads = strcmp(workload, "read") == 0 || strcmp(workload, "random") == 0;
	int writes = strcmp(workload, "write") == 0;

	nfs = nfs_init_context();
	struct nfs_url *url = nfs ? nfs_parse_url_dir(nfs, argv[1]) : NULL;
	if (!url || nfs_mount(nfs, url->server, url->path))
		fail("mount", nfs ? nfs_get_error(nfs) : NULL);
	nfs_set_dircache(nfs, 0);
	rpc = nfs_get_rpc_context(nfs);
	if (*argv[5] && setsockopt(nfs_get_fd(nfs), IPPROTO_TCP, TCP_CONGESTION, argv[5], strlen(argv[5])))
		perror("libnfs: congestion control");
	if (strcmp(workload, "list") != 0) {
		struct nfs_stat_64 st;
		if (nfs_open(nfs, FILE_NAME, O_RDWR, &file) || nfs_fstat64(nfs, file, &st))
			fail("open", nfs_get_error(nfs));
		file_size = st.nfs_size;
		handle = *(struct nfs_fh3 *)nfs_get_fh(file); // for the raw calls, which take it so
	}
	if (writes) {
		written = malloc(size);
		for (uint64_t i = 0; i < size; i++)
			written[i] = ~content(i);
	}
	if (reads) {
		check(0, 0);
		check(file_size - size, 0);
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready\n");

	char line[32];
	while (fgets(line, sizeof line, stdin))
		run(strtol(line, NULL, 10), slots);
	if (writes && last_offset != UINT64_MAX)
		check(last_offset, 1);
	return 0;
}

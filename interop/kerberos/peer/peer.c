/*
 * One end of a context of MIT's GSS-API, for tests. Arguments are "initiate SERVICE" or "accept". It
 * reads commands, a line each, and answers each with a line: "ok" and what there is to say, or "error"
 * and the status in words. Bytes are written in hexadecimal, none as "-".
 */
#include <gssapi/gssapi.h>
#include <gssapi/gssapi_ext.h>
#include <gssapi/gssapi_krb5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static gss_ctx_id_t ctx = GSS_C_NO_CONTEXT;
static gss_name_t target = GSS_C_NO_NAME;
static int initiates;
static int flags = GSS_C_MUTUAL_FLAG | GSS_C_CONF_FLAG | GSS_C_INTEG_FLAG;

static int digit(char c) {
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

static gss_buffer_desc unhex(const char *s) {
	gss_buffer_desc b = {0, NULL};
	size_t n = s && strcmp(s, "-") ? strlen(s) / 2 : 0;
	unsigned char *p = malloc(n + 1);
	for (size_t i = 0; i < n; i++)
		p[i] = digit(s[2 * i]) << 4 | digit(s[2 * i + 1]);
	b.length = n;
	b.value = p;
	return b;
}

static void hex(gss_buffer_desc b) {
	const unsigned char *p = b.value;
	putchar(' ');
	if (b.length == 0)
		putchar('-');
	for (size_t i = 0; i < b.length; i++)
		printf("%02x", p[i]);
}

static void status(OM_uint32 code, int kind) {
	OM_uint32 minor, more = 0;
	do {
		gss_buffer_desc text;
		if (gss_display_status(&minor, code, kind, GSS_C_NO_OID, &more, &text))
			return;
		printf(" %.*s;", (int)text.length, (char *)text.value);
	} while (more);
}

/* failed says what has gone wrong, if something has. */
static int failed(OM_uint32 major, OM_uint32 minor) {
	if (!GSS_ERROR(major))
		return 0;
	printf("error");
	status(major, GSS_C_GSS_CODE);
	status(minor, GSS_C_MECH_CODE);
	return 1;
}

static void step(const char *arg) {
	OM_uint32 major, minor;
	gss_buffer_desc in = unhex(arg), out = GSS_C_EMPTY_BUFFER;
	if (initiates)
		major = gss_init_sec_context(&minor, GSS_C_NO_CREDENTIAL, &ctx, target,
			(gss_OID)gss_mech_krb5, flags, 0, GSS_C_NO_CHANNEL_BINDINGS, &in, NULL, &out, NULL, NULL);
	else
		major = gss_accept_sec_context(&minor, &ctx, GSS_C_NO_CREDENTIAL, &in,
			GSS_C_NO_CHANNEL_BINDINGS, NULL, NULL, &out, NULL, NULL, NULL);
	if (failed(major, minor)) {
		hex(out);
		return;
	}
	printf("ok %s", major == GSS_S_CONTINUE_NEEDED ? "more" : "made");
	hex(out);
}

/* rotated is a Wrap token without room for what follows the text, which is moved before it. */
static void rotated(const char *arg) {
	OM_uint32 major, minor;
	gss_buffer_desc in = unhex(arg);
	gss_iov_buffer_desc iov[2];
	memset(iov, 0, sizeof iov);
	iov[0].type = GSS_IOV_BUFFER_TYPE_HEADER | GSS_IOV_BUFFER_FLAG_ALLOCATE;
	iov[1].type = GSS_IOV_BUFFER_TYPE_DATA;
	iov[1].buffer = in;
	major = gss_wrap_iov(&minor, ctx, 1, GSS_C_QOP_DEFAULT, NULL, iov, 2);
	if (failed(major, minor))
		return;
	gss_buffer_desc whole;
	whole.length = iov[0].buffer.length + iov[1].buffer.length;
	whole.value = malloc(whole.length + 1);
	memcpy(whole.value, iov[0].buffer.value, iov[0].buffer.length);
	memcpy((char *)whole.value + iov[0].buffer.length, iov[1].buffer.value, iov[1].buffer.length);
	printf("ok");
	hex(whole);
}

static void wrap(const char *arg, int conf) {
	OM_uint32 major, minor;
	gss_buffer_desc in = unhex(arg), out;
	major = gss_wrap(&minor, ctx, conf, GSS_C_QOP_DEFAULT, &in, NULL, &out);
	if (failed(major, minor))
		return;
	printf("ok");
	hex(out);
}

static void unwrap(const char *arg) {
	OM_uint32 major, minor;
	int conf = 0;
	gss_buffer_desc in = unhex(arg), out;
	major = gss_unwrap(&minor, ctx, &in, &out, &conf, NULL);
	if (failed(major, minor))
		return;
	printf("ok %s", conf ? "sealed" : "plain");
	hex(out);
}

static void mic(const char *arg) {
	OM_uint32 major, minor;
	gss_buffer_desc in = unhex(arg), out;
	major = gss_get_mic(&minor, ctx, GSS_C_QOP_DEFAULT, &in, &out);
	if (failed(major, minor))
		return;
	printf("ok");
	hex(out);
}

static void verify(const char *msg, const char *token) {
	OM_uint32 major, minor;
	gss_buffer_desc in = unhex(msg), t = unhex(token);
	major = gss_verify_mic(&minor, ctx, &in, &t, NULL);
	if (!failed(major, minor))
		printf("ok");
}

static void peer(void) {
	OM_uint32 major, minor;
	gss_name_t source, dest;
	gss_buffer_desc text;
	major = gss_inquire_context(&minor, ctx, &source, &dest, NULL, NULL, NULL, NULL, NULL);
	if (failed(major, minor))
		return;
	major = gss_display_name(&minor, initiates ? dest : source, &text, NULL);
	if (failed(major, minor))
		return;
	printf("ok %.*s", (int)text.length, (char *)text.value);
}

/* keys prints the number of the session's enctype and its key, the subkey that is in use. */
static void keys(void) {
	OM_uint32 major, minor;
	gss_buffer_set_t set = GSS_C_NO_BUFFER_SET;
	major = gss_inquire_sec_context_by_oid(&minor, ctx, GSS_C_INQ_SSPI_SESSION_KEY, &set);
	if (failed(major, minor))
		return;
	printf("ok %d", set->elements[1].length ? ((unsigned char *)set->elements[1].value)[set->elements[1].length - 1] : 0);
	hex(set->elements[0]);
}

int main(int argc, char **argv) {
	OM_uint32 major, minor;
	static char line[8 << 20];
	initiates = argc > 1 && !strcmp(argv[1], "initiate");
	if (initiates) {
		gss_buffer_desc name = {strlen(argv[2]), argv[2]};
		major = gss_import_name(&minor, &name, GSS_C_NT_HOSTBASED_SERVICE, &target);
		if (failed(major, minor)) {
			putchar('\n');
			return 1;
		}
		if (argc > 3 && !strcmp(argv[3], "oneway"))
			flags &= ~GSS_C_MUTUAL_FLAG;
	}
	while (fgets(line, sizeof line, stdin)) {
		char *word = strtok(line, " \n"), *a = strtok(NULL, " \n"), *b = strtok(NULL, " \n");
		if (!word)
			continue;
		if (!strcmp(word, "step"))
			step(a);
		else if (!strcmp(word, "mic"))
			mic(a);
		else if (!strcmp(word, "verify"))
			verify(a, b);
		else if (!strcmp(word, "wrap"))
			wrap(a, 1);
		else if (!strcmp(word, "plainwrap"))
			wrap(a, 0);
		else if (!strcmp(word, "rotated"))
			rotated(a);
		else if (!strcmp(word, "unwrap"))
			unwrap(a);
		else if (!strcmp(word, "peer"))
			peer();
		else if (!strcmp(word, "keys"))
			keys();
		else
			printf("error unknown command");
		putchar('\n');
		fflush(stdout);
	}
	return 0;
}

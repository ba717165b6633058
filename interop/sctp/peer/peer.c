/*
 * peer holds one SCTP association over UDP (RFC 6951) by libusrsctp, an implementation of SCTP that
 * has nothing to do with ours. It knows nothing of DDP: a test writes the bytes. Lines on standard
 * input say what to send, and lines on standard output say what has come. It uses 127.0.0.1 alone,
 * and ends when standard input does.
 *
 *	peer listen  [-u UDPPORT] [-s SCTPPORT] [-i INDICATION] [-n STREAMS]
 *	peer connect -r UDPPORT [-d SCTPPORT] [-u UDPPORT] [-s SCTPPORT] [-i INDICATION] [-n STREAMS]
 *
 *	-u  own UDP port; 0, the default, is one that is free
 *	-r  UDP port of the peer
 *	-s  own SCTP port, -d that of the peer; 5000 by default
 *	-i  Adaptation Layer Indication (RFC 5061), a number of 32 bits; none is sent without it
 *	-n  streams, each way; 16 by default
 *
 * It reads these commands, bytes being in hexadecimal, one at least:
 *
 *	send STREAM PPID u|o BYTES	one message, unordered or ordered
 *	abort				ends the association by ABORT
 *	shutdown			ends it in order, once all has been acknowledged
 *	quit				ends the program without a word to its peer
 *
 * It writes these lines, in which - stands for no bytes:
 *
 *	listening UDPPORT SCTPPORT	or "connecting", with its own ports
 *	up OUT IN			the association is up, with so many streams to and from the peer
 *	indication VALUE		that of the peer, in eight hexadecimal digits, or "none"; after "up"
 *	recv STREAM PPID u|o TSN BYTES	(libusrsctp does not tell the cumulative TSN)
 *	dry				all that was sent has been acknowledged
 *	restart				the peer has begun anew (RFC 9260 section 5.2)
 *	down REASON BYTES		refused, lost or shutdown; the ABORT chunk that ended it
 *	error WHAT			a command has failed, or the program
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <usrsctp.h>

#define MAX_MESSAGE 65536 /* bytes that one command sends, or one line reports */
#define MAX_PACKET 65536  /* bytes of an SCTP packet */

/*
 * What a peer is to libusrsctp, which does not see UDP: this variable's address. Both ends of the
 * association have it, as there are no IP addresses that libusrsctp knows.
 */
static char wire;

static int udp; /* the socket that carries SCTP packets */

/* Where packets go: to where the last came from, as a peer's port may change (RFC 6951 5.4). */
static pthread_mutex_t remote_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sockaddr_in remote; /* port 0: nowhere yet */

/* The association; 0 if there is none. libusrsctp's callback sets it, and commands use it. */
static pthread_mutex_t association_lock = PTHREAD_MUTEX_INITIALIZER;
static sctp_assoc_t association;

static int indication_seen; /* since the association came up; the callback's alone */

/* say writes one line: what is formatted, then bytes as hexadecimal if any are given. */
static void say(const void *bytes, size_t len, const char *format, ...)
{
	va_list args;
	size_t i;

	flockfile(stdout);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	if (bytes != NULL) {
		printf(len == 0 ? " -" : " ");
		for (i = 0; i < len; i++)
			printf("%02x", ((const unsigned char *)bytes)[i]);
	}
	printf("\n");
	fflush(stdout);
	funlockfile(stdout);
}

/* die reports what has failed, and ends the program. */
static void die(const char *what)
{
	say(NULL, 0, "error %s: %s", what, strerror(errno));
	_exit(1);
}

static sctp_assoc_t current_association(void)
{
	sctp_assoc_t id;

	pthread_mutex_lock(&association_lock);
	id = association;
	pthread_mutex_unlock(&association_lock);
	return id;
}

static void set_association(sctp_assoc_t id)
{
	pthread_mutex_lock(&association_lock);
	association = id;
	pthread_mutex_unlock(&association_lock);
}

/* send_packet is how libusrsctp sends a packet. What UDP loses, SCTP sends again. */
static int send_packet(void *addr, void *packet, size_t len, uint8_t tos, uint8_t set_df)
{
	struct sockaddr_in to;

	(void)addr, (void)tos, (void)set_df;
	pthread_mutex_lock(&remote_lock);
	to = remote;
	pthread_mutex_unlock(&remote_lock);
	if (to.sin_port != 0)
		sendto(udp, packet, len, 0, (struct sockaddr *)&to, sizeof(to));
	return 0;
}

/* receive_packets hands to libusrsctp what comes by UDP. It is a thread that never ends. */
static void *receive_packets(void *unused)
{
	static char packet[MAX_PACKET];
	struct sockaddr_in from;
	socklen_t from_len;
	ssize_t n;

	(void)unused;
	for (;;) {
		from_len = sizeof(from);
		n = recvfrom(udp, packet, sizeof(packet), 0, (struct sockaddr *)&from, &from_len);
		if (n < 0)
			continue;
		pthread_mutex_lock(&remote_lock);
		remote = from;
		pthread_mutex_unlock(&remote_lock);
		usrsctp_conninput(&wire, packet, n, 0);
	}
	return NULL;
}

/* end_association notes that an association has ended. Another may have begun before. */
static void end_association(sctp_assoc_t id)
{
	pthread_mutex_lock(&association_lock);
	if (association == id)
		association = 0;
	pthread_mutex_unlock(&association_lock);
}

static void association_changed(const struct sctp_assoc_change *change)
{
	/* Behind the structure is the ABORT chunk, where there was one; after up, something else. */
	size_t len = change->sac_length - sizeof(*change);

	switch (change->sac_state) {
	case SCTP_COMM_UP:
		set_association(change->sac_assoc_id);
		indication_seen = 0;
		say(NULL, 0, "up %u %u", change->sac_outbound_streams, change->sac_inbound_streams);
		break;
	case SCTP_RESTART:
		indication_seen = 0;
		say(NULL, 0, "restart");
		break;
	case SCTP_COMM_LOST:
		end_association(change->sac_assoc_id);
		say(change->sac_info, len, "down lost");
		break;
	case SCTP_SHUTDOWN_COMP:
		end_association(change->sac_assoc_id);
		say(change->sac_info, 0, "down shutdown");
		break;
	case SCTP_CANT_STR_ASSOC:
		say(change->sac_info, len, "down refused");
		break;
	}
}

static void notified(const union sctp_notification *n)
{
	switch (n->sn_header.sn_type) {
	case SCTP_ASSOC_CHANGE:
		association_changed(&n->sn_assoc_change);
		break;
	case SCTP_ADAPTATION_INDICATION:
		indication_seen = 1;
		say(NULL, 0, "indication %08x", n->sn_adaptation_event.sai_adaptation_ind);
		break;
	case SCTP_AUTHENTICATION_EVENT:
		/*
		 * That there is no authentication, as main wants it. libusrsctp says so right after the
		 * indication of the peer: if that has not come by now, there is none.
		 */
		if (n->sn_auth_event.auth_indication == SCTP_AUTH_NO_AUTH && !indication_seen)
			say(NULL, 0, "indication none");
		break;
	case SCTP_SENDER_DRY_EVENT:
		say(NULL, 0, "dry");
		break;
	}
}

/* received is called by libusrsctp with a message, or a notification. It owns data. */
static int received(struct socket *sock, union sctp_sockstore addr, void *data, size_t len,
		    struct sctp_rcvinfo info, int flags, void *unused)
{
	(void)sock, (void)addr, (void)unused;
	if (data == NULL)
		return 1;
	if (flags & MSG_NOTIFICATION) {
		notified(data);
	} else {
		if (!(flags & MSG_EOR)) { /* only a message beyond the receive buffer comes in parts */
			errno = EMSGSIZE;
			die("receive");
		}
		say(data, len, "recv %u %u %c %u", info.rcv_sid, (unsigned)ntohl(info.rcv_ppid),
		    info.rcv_flags & SCTP_UNORDERED ? 'u' : 'o', info.rcv_tsn);
	}
	free(data);
	return 1;
}

/* send_message sends one message. With flags it also ends the association. */
static void send_message(struct socket *sock, int stream, unsigned ppid, int flags,
			 const void *message, size_t len)
{
	struct sctp_sndinfo info = {0};

	info.snd_sid = stream;
	info.snd_ppid = htonl(ppid);
	info.snd_flags = flags;
	info.snd_assoc_id = current_association();
	if (info.snd_assoc_id == 0)
		say(NULL, 0, "error send: there is no association");
	else if (usrsctp_sendv(sock, message, len, NULL, 0, &info, sizeof(info),
			       SCTP_SENDV_SNDINFO, 0) < 0)
		say(NULL, 0, "error send: %s", strerror(errno));
}

/* decode reads hexadecimal, and returns how many bytes there are, or -1. */
static long decode(const char *text, unsigned char *bytes)
{
	long n = 0;
	unsigned byte;

	for (; *text != '\0'; text += 2) {
		if (n == MAX_MESSAGE || sscanf(text, "%2x", &byte) != 1 || text[1] == '\0')
			return -1;
		bytes[n++] = byte;
	}
	return n;
}

/* obey carries out commands until there are no more. */
static void obey(struct socket *sock)
{
	static char line[2 * MAX_MESSAGE + 100], text[2 * MAX_MESSAGE + 1];
	static unsigned char message[MAX_MESSAGE];
	unsigned stream, ppid;
	char order;
	long len;

	while (fgets(line, sizeof(line), stdin) != NULL) {
		if (sscanf(line, "send %u %u %c %131072s", &stream, &ppid, &order, text) == 4 &&
		    (len = decode(text, message)) >= 0)
			send_message(sock, stream, ppid, order == 'u' ? SCTP_UNORDERED : 0, message, len);
		else if (strcmp(line, "abort\n") == 0)
			send_message(sock, 0, 0, SCTP_ABORT, "", 0);
		else if (strcmp(line, "shutdown\n") == 0)
			send_message(sock, 0, 0, SCTP_EOF, "", 0);
		else if (strcmp(line, "quit\n") == 0)
			return;
		else
			say(NULL, 0, "error command");
	}
}

/* open_udp opens the UDP socket, and returns its port. */
static int open_udp(int port)
{
	struct sockaddr_in addr = {0};
	socklen_t len = sizeof(addr);

	addr.sin_family = AF_INET;
	addr.sin_port = htons(port);
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	udp = socket(AF_INET, SOCK_DGRAM, 0);
	if (udp < 0 || bind(udp, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    getsockname(udp, (struct sockaddr *)&addr, &len) < 0)
		die("UDP socket");
	return ntohs(addr.sin_port);
}

static void set_option(struct socket *sock, int option, const void *value, socklen_t len)
{
	if (usrsctp_setsockopt(sock, IPPROTO_SCTP, option, value, len) < 0)
		die("SCTP option");
}

/* open_sctp opens an SCTP socket. It is for many associations, so that it outlives its first. */
static struct socket *open_sctp(int port, int streams, int indicate, uint32_t indication)
{
	static const uint16_t events[] = {SCTP_ASSOC_CHANGE, SCTP_ADAPTATION_INDICATION,
					  SCTP_AUTHENTICATION_EVENT, SCTP_SENDER_DRY_EVENT};
	struct sctp_initmsg init = {0};
	struct sctp_setadaptation adaptation = {indication};
	struct sockaddr_conn addr = {0};
	struct socket *sock;
	int on = 1;
	size_t i;

	sock = usrsctp_socket(AF_CONN, SOCK_SEQPACKET, IPPROTO_SCTP, received, NULL, 0, NULL);
	if (sock == NULL || usrsctp_set_non_blocking(sock, 1) < 0)
		die("SCTP socket");
	init.sinit_num_ostreams = init.sinit_max_instreams = streams;
	set_option(sock, SCTP_INITMSG, &init, sizeof(init));
	set_option(sock, SCTP_NODELAY, &on, sizeof(on));
	if (indicate)
		set_option(sock, SCTP_ADAPTATION_LAYER, &adaptation, sizeof(adaptation));
	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		struct sctp_event event = {SCTP_FUTURE_ASSOC, events[i], 1};
		set_option(sock, SCTP_EVENT, &event, sizeof(event));
	}
	addr.sconn_family = AF_CONN;
	addr.sconn_port = htons(port);
	addr.sconn_addr = &wire;
	if (usrsctp_bind(sock, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		die("SCTP bind");
	return sock;
}

int main(int argc, char **argv)
{
	int udp_port = 0, remote_udp_port = 0, port = 5000, remote_port = 5000, streams = 16;
	int option, listens, indicate = 0;
	uint32_t indication = 0;
	struct sockaddr_conn peer = {0};
	struct socket *sock;
	pthread_t thread;

	listens = argc > 1 && strcmp(argv[1], "listen") == 0;
	if (!listens && (argc < 2 || strcmp(argv[1], "connect") != 0)) {
		fprintf(stderr, "usage: see the head of peer.c\n");
		return 2;
	}
	for (optind = 2; (option = getopt(argc, argv, "u:r:s:d:i:n:")) != -1;) {
		switch (option) {
		case 'u': udp_port = atoi(optarg); break;
		case 'r': remote_udp_port = atoi(optarg); break;
		case 's': port = atoi(optarg); break;
		case 'd': remote_port = atoi(optarg); break;
		case 'i': indication = strtoul(optarg, NULL, 0); indicate = 1; break;
		case 'n': streams = atoi(optarg); break;
		default: return 2;
		}
	}

	udp_port = open_udp(udp_port);
	remote.sin_family = AF_INET;
	remote.sin_port = htons(remote_udp_port);
	remote.sin_addr.s_addr = htonl(INADDR_LOOPBACK);

	usrsctp_init(0, send_packet, NULL);
	/* Without authentication, and what takes it, libusrsctp tells that there is none: notified. */
	usrsctp_sysctl_set_sctp_asconf_enable(0);
	usrsctp_sysctl_set_sctp_auth_enable(0);
	/* Every packet is acknowledged at once, so that a test has not to wait for "dry". */
	usrsctp_sysctl_set_sctp_sack_freq_default(1);
	usrsctp_register_address(&wire);
	sock = open_sctp(port, streams, indicate, indication);
	if (listens && usrsctp_listen(sock, 1) < 0)
		die("SCTP listen");
	say(NULL, 0, "%s %d %d", listens ? "listening" : "connecting", udp_port, port);
	if (pthread_create(&thread, NULL, receive_packets, NULL) != 0)
		die("thread");
	if (!listens) {
		peer.sconn_family = AF_CONN;
		peer.sconn_port = htons(remote_port);
		peer.sconn_addr = &wire;
		if (usrsctp_connect(sock, (struct sockaddr *)&peer, sizeof(peer)) < 0 &&
		    errno != EINPROGRESS)
			die("SCTP connect");
	}
	obey(sock);
	_exit(0); /* without a word to the peer */
}

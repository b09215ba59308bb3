/*
 * wire.c: frames over the socket between runner and keeper.
 *
 * Descriptors. A frame with descriptors is sent by a sendmsg of its own first byte, never behind
 * other bytes, and the kernel ends a receive after the bytes that carried some. So a receive brings
 * the descriptors of at most one frame, and because all whole frames are consumed before the next
 * receive, at most one such frame is ever waiting. A receiver at its limit of descriptors gets
 * fewer of them; the missing ones are -1 and fail that one job.
 */
#include "proc/wire_int.h"

#include "sync/sync.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define RECEIVE_MIN   ((size_t)65536)
#define OUT_FDS_FIRST 8u

typedef union control {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(BLY_WIRE_FDS_MAX * sizeof(int))];
} control;

void bly_wire_init(bly_wire *wire, int fd)
{
    memset(wire, 0, sizeof *wire);
    wire->fd = fd;
    int flags = fcntl(fd, F_GETFL);
    bly_assert(flags >= 0);
    int set = fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    bly_assert(set == 0);
}

static void close_untaken(bly_wire *wire)
{
    while (wire->in_fds_taken < wire->in_fds_count) {
        close(wire->in_fds[wire->in_fds_taken++]);
    }
    wire->in_fds_count = 0;
    wire->in_fds_taken = 0;
}

static void close_owned(const bly_wire_fd *out)
{
    if (out->is_owned) {
        close(out->fd);
    }
}

void bly_wire_free(bly_wire *wire)
{
    for (uint32_t i = 0; i < wire->out_fds_count; i++) {
        close_owned(&wire->out_fds[i]);
    }
    close_untaken(wire);
    bly_free(wire->out_fds);
    bly_buf_free(&wire->in);
    bly_buf_free(&wire->out);
    if (wire->fd >= 0) {
        close(wire->fd);
    }
    wire->fd = -1;
    wire->out_fds = NULL;
    wire->out_fds_count = 0;
    wire->out_fds_capacity = 0;
}

void *bly_wire_put(bly_wire *wire, int type, size_t body_size)
{
    size_t size = (sizeof(bly_wire_head) + body_size + 7) & ~(size_t)7;
    bly_assert(size <= BLY_WIRE_FRAME_MAX);
    if (bly_buf_room(&wire->out, size) != 0) {
        return NULL;
    }
    bly_wire_head *head = (void *)(wire->out.bytes + wire->out.end);
    memset(head, 0, size);
    head->size = (uint32_t)size;
    head->type = (uint16_t)type;
    wire->out.end += size;
    wire->last_at = wire->put_total;
    wire->put_total += size;
    return head + 1;
}

/* The head of the frame last put, which nothing has been sent of. */
static bly_wire_head *last_head(bly_wire *wire)
{
    bly_assert(wire->last_at >= wire->sent_total && wire->last_at < wire->put_total);
    return (void *)(bly_buf_first(&wire->out) + (wire->last_at - wire->sent_total));
}

void *bly_wire_unsent(bly_wire *wire, uint64_t at)
{
    bly_assert(at < wire->put_total);
    if (at < wire->sent_total) {
        return NULL;
    }
    return bly_buf_first(&wire->out) + (at - wire->sent_total) + sizeof(bly_wire_head);
}

static int grow_out_fds(bly_wire *wire)
{
    uint32_t capacity = wire->out_fds_capacity == 0 ? OUT_FDS_FIRST : wire->out_fds_capacity * 2;
    bly_wire_fd *out_fds = bly_realloc(wire->out_fds, capacity * sizeof *out_fds);
    if (out_fds == NULL) {
        return BELAY_ENOMEM;
    }
    wire->out_fds = out_fds;
    wire->out_fds_capacity = capacity;
    return 0;
}

int bly_wire_attach(bly_wire *wire, int fd, bool is_owned)
{
    if (wire->out_fds_count == wire->out_fds_capacity && grow_out_fds(wire) != 0) {
        return BELAY_ENOMEM;
    }
    bly_wire_head *head = last_head(wire);
    bly_assert(head->fds < BLY_WIRE_FDS_MAX);
    head->fds++;
    wire->out_fds[wire->out_fds_count++] =
        (bly_wire_fd){.at = wire->last_at, .fd = fd, .is_owned = is_owned};
    return 0;
}

void bly_wire_retract(bly_wire *wire)
{
    bly_wire_head *head = last_head(wire);
    for (uint16_t i = 0; i < head->fds; i++) {
        close_owned(&wire->out_fds[--wire->out_fds_count]);
    }
    wire->out.end -= head->size;
    wire->put_total = wire->last_at;
}

static void fds_sent(bly_wire *wire, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        close_owned(&wire->out_fds[i]);
    }
    wire->out_fds_count -= count;
    if (count > 0) {
        memmove(wire->out_fds, wire->out_fds + count, wire->out_fds_count * sizeof *wire->out_fds);
    }
}

/* How many descriptors go with the first byte to send, and how many bytes may go with it. */
static uint32_t next_span(const bly_wire *wire, size_t *ret_size)
{
    uint32_t count = 0;
    while (count < wire->out_fds_count && wire->out_fds[count].at == wire->sent_total) {
        count++;
    }
    *ret_size = bly_buf_used(&wire->out);
    if (count < wire->out_fds_count) {
        *ret_size = (size_t)(wire->out_fds[count].at - wire->sent_total);
    }
    bly_assert(count <= BLY_WIRE_FDS_MAX);
    return count;
}

static ssize_t send_span(bly_wire *wire, size_t size, uint32_t fds)
{
    struct iovec part = {.iov_base = bly_buf_first(&wire->out), .iov_len = size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    control space;
    if (fds > 0) {
        memset(&space, 0, sizeof space);
        message.msg_control = &space;
        message.msg_controllen = CMSG_SPACE(fds * sizeof(int));
        space.head.cmsg_level = SOL_SOCKET;
        space.head.cmsg_type = SCM_RIGHTS;
        space.head.cmsg_len = CMSG_LEN(fds * sizeof(int));
        for (uint32_t i = 0; i < fds; i++) {
            memcpy(CMSG_DATA(&space.head) + i * sizeof(int), &wire->out_fds[i].fd, sizeof(int));
        }
    }
    return sendmsg(wire->fd, &message, MSG_NOSIGNAL);
}

int bly_wire_flush(bly_wire *wire)
{
    while (bly_buf_used(&wire->out) > 0) {
        size_t size = 0;
        uint32_t fds = next_span(wire, &size);
        ssize_t sent = send_span(wire, size, fds);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent < 0) {
            bool is_closed = errno == EPIPE || errno == ECONNRESET;
            return is_closed ? BELAY_ECLOSED : BELAY_EAGAIN;
        }
        wire->sent_total += (uint64_t)sent;
        bly_buf_take(&wire->out, (size_t)sent);
        if (sent > 0) {
            fds_sent(wire, fds);
        }
    }
    return 0;
}

static void keep_fds(bly_wire *wire, struct msghdr *message)
{
    for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head != NULL;
         head = CMSG_NXTHDR(message, head)) {
        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        bly_assert(wire->in_fds_count == 0 && count <= BLY_WIRE_FDS_MAX);
        memcpy(wire->in_fds, CMSG_DATA(head), count * sizeof(int));
        wire->in_fds_count = (uint32_t)count;
    }
}

/* The head of the frame that the received bytes begin with; NULL while it is not whole. */
static const bly_wire_head *whole_frame(const bly_wire *wire, size_t offset)
{
    size_t used = bly_buf_used(&wire->in) - offset;
    const bly_wire_head *head = (const void *)(bly_buf_first(&wire->in) + offset);
    return used >= sizeof *head && used >= head->size ? head : NULL;
}

/*
 * Room for what one receive may bring: the rest of a frame whose head is here, when that is more.
 */
static size_t receive_size(const bly_wire *wire)
{
    size_t used = bly_buf_used(&wire->in);
    if (used < sizeof(bly_wire_head)) {
        return RECEIVE_MIN;
    }
    const bly_wire_head *head = (const void *)bly_buf_first(&wire->in);
    bly_assert(head->size >= sizeof *head && head->size <= BLY_WIRE_FRAME_MAX);
    return head->size > used + RECEIVE_MIN ? head->size - used : RECEIVE_MIN;
}

int bly_wire_fill(bly_wire *wire)
{
    bly_buf_take(&wire->in, 0); /* consumed frames go only now */
    if (bly_buf_room(&wire->in, receive_size(wire)) != 0) {
        return BELAY_ENOMEM;
    }
    for (;;) {
        control space;
        struct iovec part = {.iov_base = wire->in.bytes + wire->in.end,
                             .iov_len = wire->in.capacity - wire->in.end};
        struct msghdr message = {.msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = &space,
                                 .msg_controllen = sizeof space};
        ssize_t got = recvmsg(wire->fd, &message, MSG_CMSG_CLOEXEC);
        if (got > 0) {
            keep_fds(wire, &message);
            wire->in.end += (size_t)got;
            return 0;
        }
        if (got == 0 || errno == ECONNRESET) {
            return BELAY_ECLOSED;
        }
        if (errno != EINTR) {
            return BELAY_EAGAIN;
        }
    }
}

const bly_wire_head *bly_wire_next(bly_wire *wire)
{
    if (bly_buf_used(&wire->in) == 0) {
        return NULL;
    }
    const bly_wire_head *head = whole_frame(wire, 0);
    if (head == NULL) {
        return NULL;
    }
    bly_assert(head->size >= sizeof *head && head->size % 8 == 0);
    wire->in.start += head->size; /* not bly_buf_take: the frame is read until the next fill */
    return head;
}

bool bly_wire_has(const bly_wire *wire, int type)
{
    size_t offset = 0;
    while (offset < bly_buf_used(&wire->in)) {
        const bly_wire_head *head = whole_frame(wire, offset);
        if (head == NULL) {
            return false;
        }
        if (head->type == type) {
            return true;
        }
        offset += head->size;
    }
    return false;
}

int bly_wire_take_fd(bly_wire *wire)
{
    int fd = wire->in_fds_taken < wire->in_fds_count ? wire->in_fds[wire->in_fds_taken] : -1;
    wire->in_fds_taken++;
    if (wire->in_fds_taken >= wire->in_fds_count) {
        wire->in_fds_count = 0;
        wire->in_fds_taken = 0;
    }
    return fd;
}

/* test_wire.c: frames and descriptors arrive whole and in order over one socket. */
#include "proc/wire_int.h"
#include "unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct line {
    bly_wire left, right;
} line;

static line open_line(void)
{
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    line l;
    bly_wire_init(&l.left, ends[0]);
    bly_wire_init(&l.right, ends[1]);
    return l;
}

static void close_line(line *l)
{
    bly_wire_free(&l->left);
    bly_wire_free(&l->right);
}

static void put(bly_wire *wire, int type, uint64_t id)
{
    bly_wire_order *order = bly_wire_put(wire, type, sizeof *order);
    ck_assert_ptr_nonnull(order);
    ck_assert_uint_eq(order->id, 0);
    order->id = id;
}

static void get(bly_wire *wire, int type, uint64_t id)
{
    const bly_wire_head *head = bly_wire_next(wire);
    ck_assert_ptr_nonnull(head);
    ck_assert_int_eq(head->type, type);
    const bly_wire_order *order = bly_wire_body(head);
    ck_assert_uint_eq(order->id, id);
}

static int open_file(ino_t *ret_inode)
{
    int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    struct stat status;
    ck_assert_int_eq(fstat(fd, &status), 0);
    *ret_inode = status.st_ino;
    return fd;
}

static ino_t inode_of(int fd)
{
    struct stat status;
    ck_assert_int_eq(fstat(fd, &status), 0);
    return status.st_ino;
}

START_TEST(a_batch_of_frames_arrives_in_order)
{
    line l = open_line();
    for (uint64_t i = 1; i <= 100; i++) {
        put(&l.left, BLY_WIRE_STOP, i);
    }
    ck_assert_int_eq(bly_wire_flush(&l.left), 0);
    ck_assert_int_eq(bly_wire_fill(&l.right), 0);
    for (uint64_t i = 1; i <= 100; i++) {
        get(&l.right, BLY_WIRE_STOP, i);
    }
    ck_assert_ptr_null(bly_wire_next(&l.right));
    ck_assert_int_eq(bly_wire_fill(&l.right), BELAY_EAGAIN);
    close_line(&l);
}
END_TEST

START_TEST(a_frame_larger_than_the_socket_takes_arrives_whole)
{
    line l = open_line();
    size_t size = (size_t)5 << 20;
    char *body = bly_wire_put(&l.left, BLY_WIRE_SPAWN, size);
    ck_assert_ptr_nonnull(body);
    for (size_t i = 0; i < size; i++) {
        body[i] = (char)(i % 251);
    }
    put(&l.left, BLY_WIRE_KILL, 7);
    ck_assert_int_eq(bly_wire_flush(&l.left), BELAY_EAGAIN);
    const bly_wire_head *head = NULL;
    while (head == NULL) {
        ck_assert_int_eq(bly_wire_fill(&l.right), 0);
        bly_wire_flush(&l.left);
        head = bly_wire_next(&l.right);
    }
    const char *got = bly_wire_body(head);
    size_t wrong = 0;
    for (size_t i = 0; i < size; i++) {
        wrong += got[i] != (char)(i % 251);
    }
    ck_assert_uint_eq(wrong, 0);
    while ((head = bly_wire_next(&l.right)) == NULL) {
        ck_assert_int_eq(bly_wire_flush(&l.left), 0);
        ck_assert_int_eq(bly_wire_fill(&l.right), 0);
    }
    ck_assert_int_eq(head->type, BLY_WIRE_KILL);
    close_line(&l);
}
END_TEST

START_TEST(descriptors_arrive_with_their_frame)
{
    line l = open_line();
    ino_t inodes[3] = {0};
    put(&l.left, BLY_WIRE_STOP, 1);
    put(&l.left, BLY_WIRE_SPAWN, 2);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(bly_wire_attach(&l.left, open_file(&inodes[i]), true), 0);
    }
    put(&l.left, BLY_WIRE_STOP, 3);
    put(&l.left, BLY_WIRE_SPAWN, 4);
    ck_assert_int_eq(bly_wire_attach(&l.left, open_file(&inodes[2]), true), 0);
    ck_assert_int_eq(bly_wire_flush(&l.left), 0);

    uint64_t id = 1;
    int taken = 0;
    while (id <= 4) {
        ck_assert_int_eq(bly_wire_fill(&l.right), 0);
        const bly_wire_head *head;
        while ((head = bly_wire_next(&l.right)) != NULL) {
            const bly_wire_order *order = bly_wire_body(head);
            ck_assert_uint_eq(order->id, id++);
            for (int i = 0; i < head->fds; i++) {
                int fd = bly_wire_take_fd(&l.right);
                ck_assert_int_ge(fd, 0);
                ck_assert_uint_eq(inode_of(fd), inodes[taken++]);
                ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
                close(fd);
            }
        }
    }
    ck_assert_int_eq(taken, 3);
    close_line(&l);
}
END_TEST

START_TEST(sent_descriptors_are_closed_here)
{
    line l = open_line();
    ino_t inode;
    int fd = open_file(&inode);
    put(&l.left, BLY_WIRE_SPAWN, 1);
    ck_assert_int_eq(bly_wire_attach(&l.left, fd, true), 0);
    ck_assert_int_eq(bly_wire_flush(&l.left), 0);
    ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
    close_line(&l);
}
END_TEST

START_TEST(a_retracted_frame_is_not_sent_and_its_descriptors_are_closed)
{
    line l = open_line();
    ino_t inode;
    put(&l.left, BLY_WIRE_STOP, 1);
    put(&l.left, BLY_WIRE_SPAWN, 2);
    int fd = open_file(&inode);
    ck_assert_int_eq(bly_wire_attach(&l.left, fd, true), 0);
    bly_wire_retract(&l.left);
    ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
    put(&l.left, BLY_WIRE_STOP, 3);
    ck_assert_int_eq(bly_wire_flush(&l.left), 0);
    ck_assert_int_eq(bly_wire_fill(&l.right), 0);
    get(&l.right, BLY_WIRE_STOP, 1);
    get(&l.right, BLY_WIRE_STOP, 3);
    close_line(&l);
}
END_TEST

START_TEST(descriptors_past_the_receivers_limit_are_missed_by_their_frame_alone)
{
    line l = open_line();
    ino_t inode;
    for (uint64_t id = 1; id <= 2; id++) {
        put(&l.left, BLY_WIRE_SPAWN, id);
        ck_assert_int_eq(bly_wire_attach(&l.left, open_file(&inode), true), 0);
        ck_assert_int_eq(bly_wire_attach(&l.left, open_file(&inode), true), 0);
    }
    ck_assert_int_eq(bly_wire_flush(&l.left), 0);

    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    ck_assert_int_eq(bly_wire_fill(&l.right), 0);
    get(&l.right, BLY_WIRE_SPAWN, 1);
    ck_assert_int_eq(bly_wire_take_fd(&l.right), -1);
    ck_assert_int_eq(bly_wire_take_fd(&l.right), -1);

    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert_int_eq(bly_wire_fill(&l.right), 0);
    get(&l.right, BLY_WIRE_SPAWN, 2);
    ck_assert_int_ge(bly_wire_take_fd(&l.right), 0);
    ck_assert_int_ge(bly_wire_take_fd(&l.right), 0);
    close_line(&l);
}
END_TEST

START_TEST(a_frame_is_unsent_until_its_first_byte_has_left)
{
    line l = open_line();
    put(&l.left, BLY_WIRE_STOP, 1);
    uint64_t first = l.left.last_at;
    put(&l.left, BLY_WIRE_STOP, 2);
    bly_wire_order *order = bly_wire_unsent(&l.left, l.left.last_at);
    ck_assert_ptr_nonnull(order);
    ck_assert_uint_eq(order->id, 2);
    order = bly_wire_unsent(&l.left, first);
    ck_assert_uint_eq(order->id, 1);
    ck_assert_int_eq(bly_wire_flush(&l.left), 0);
    ck_assert_ptr_null(bly_wire_unsent(&l.left, first));
    close_line(&l);
}
END_TEST

START_TEST(frames_can_be_searched_without_being_consumed)
{
    line l = open_line();
    put(&l.left, BLY_WIRE_STOP, 1);
    put(&l.left, BLY_WIRE_KILL, 2);
    ck_assert_int_eq(bly_wire_flush(&l.left), 0);
    ck_assert(!bly_wire_has(&l.right, BLY_WIRE_KILL));
    ck_assert_int_eq(bly_wire_fill(&l.right), 0);
    ck_assert(bly_wire_has(&l.right, BLY_WIRE_KILL));
    ck_assert(!bly_wire_has(&l.right, BLY_WIRE_SPAWN));
    get(&l.right, BLY_WIRE_STOP, 1);
    get(&l.right, BLY_WIRE_KILL, 2);
    ck_assert(!bly_wire_has(&l.right, BLY_WIRE_KILL));
    close_line(&l);
}
END_TEST

START_TEST(an_end_that_is_closed_shows_on_the_other)
{
    line l = open_line();
    put(&l.left, BLY_WIRE_STOP, 1);
    ck_assert_int_eq(bly_wire_flush(&l.left), 0);
    bly_wire_free(&l.left);
    ck_assert_int_eq(bly_wire_fill(&l.right), 0);
    get(&l.right, BLY_WIRE_STOP, 1);
    ck_assert_int_eq(bly_wire_fill(&l.right), BELAY_ECLOSED);
    put(&l.right, BLY_WIRE_ENDED, 1);
    ck_assert_int_eq(bly_wire_flush(&l.right), BELAY_ECLOSED);
    bly_wire_free(&l.right);
}
END_TEST

UNIT_MAIN("proc/wire", a_batch_of_frames_arrives_in_order,
          a_frame_larger_than_the_socket_takes_arrives_whole, descriptors_arrive_with_their_frame,
          sent_descriptors_are_closed_here,
          a_retracted_frame_is_not_sent_and_its_descriptors_are_closed,
          descriptors_past_the_receivers_limit_are_missed_by_their_frame_alone,
          a_frame_is_unsent_until_its_first_byte_has_left,
          frames_can_be_searched_without_being_consumed, an_end_that_is_closed_shows_on_the_other)
